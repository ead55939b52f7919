"""Builds HTML in which every text is escaped and no tag or attribute comes from a text."""

from __future__ import annotations

from html import escape

from sow.system.terminal import escape_control

TAGS = frozenset(
    {
        "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "span", "p",
        "h1", "h2", "ol", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "code", "strong",
        "small", "figure", "figcaption", "svg", "g", "rect", "line", "path", "text", "defs", "pattern",
    }
)  # fmt: skip
# Attributes that could run or fetch something are left out.
ATTRIBUTES = frozenset(
    {
        "lang", "charset", "name", "content", "http-equiv", "class", "scope", "role", "aria-label", "aria-hidden",
        "viewBox", "preserveAspectRatio", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "rx", "d", "id",
        "patternUnits", "patternTransform", "text-anchor", "data-label", "colspan",
    }
)  # fmt: skip
VOID = frozenset({"meta"})


class Html(str):
    """Finished HTML. Every other text is escaped."""

    __slots__ = ()


def h(tag: str, /, *children: object, **attributes: object) -> Html:
    """Returns an element. `class_` becomes class, `aria_label` becomes aria-label, and None leaves an attribute out."""
    if tag not in TAGS:
        raise ValueError(f"{tag} is not a known tag")
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    text = "".join(f' {key}="{_value(key, value)}"' for key, value in pairs if value is not None)
    return Html(f"<{tag}{text}>" if tag in VOID else f"<{tag}{text}>{joined(children)}</{tag}>")


def joined(children: object) -> Html:
    """Joins elements and texts. None and empty texts are left out."""
    if isinstance(children, Html):
        return children
    if isinstance(children, (list, tuple)):
        return Html("".join(joined(child) for child in children))
    return Html("" if children is None else escape(escape_control(str(children))))


def _value(key: str, value: object) -> str:
    if key not in ATTRIBUTES:
        raise ValueError(f"{key} is not a known attribute")
    return escape(escape_control(f"{value:g}" if isinstance(value, float) else str(value)))
