"""HTML by construction: a text is always a text, and no tag or attribute comes from one."""

from __future__ import annotations

from html import escape

from sow.system.terminal import harmless

TAGS = frozenset(
    {
        "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "span", "p",
        "h1", "h2", "ol", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "code", "strong",
        "small", "figure", "figcaption", "svg", "g", "rect", "line", "path", "text", "defs", "pattern",
    }
)  # fmt: skip
# What could run something or fetch something is not among them.
ATTRIBUTES = frozenset(
    {
        "lang", "charset", "name", "content", "http-equiv", "class", "scope", "role", "aria-label", "aria-hidden",
        "viewBox", "preserveAspectRatio", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "rx", "d", "id",
        "patternUnits", "patternTransform", "text-anchor", "data-label", "colspan",
    }
)  # fmt: skip
VOID = frozenset({"meta"})


class Html(str):
    """Finished HTML; every other text is escaped."""

    __slots__ = ()


def h(tag: str, /, *children: object, **attributes: object) -> Html:
    """An element; `class_` is written class, and `aria_label` aria-label; an attribute that is None is left out."""
    if tag not in TAGS:
        raise ValueError(f"{tag} is no tag of ours")
    given = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    words = "".join(f' {key}="{_value(key, value)}"' for key, value in given if value is not None)
    return Html(f"<{tag}{words}>" if tag in VOID else f"<{tag}{words}>{joined(children)}</{tag}>")


def joined(children: object) -> Html:
    """Elements and texts one after the other; None and empty texts are left out."""
    if isinstance(children, Html):
        return children
    if isinstance(children, (list, tuple)):
        return Html("".join(joined(each) for each in children))
    return Html("" if children is None else escape(harmless(str(children))))


def _value(key: str, value: object) -> str:
    if key not in ATTRIBUTES:
        raise ValueError(f"{key} is no attribute of ours")
    return escape(harmless(f"{value:g}" if isinstance(value, float) else str(value)))
