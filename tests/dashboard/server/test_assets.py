"""The page's own files are safe, complete and small."""

from __future__ import annotations

import re
from pathlib import Path

from support.quick_cases import all_of

from sow.dashboard.server import assets

FOLDER = Path(assets.FOLDER)
SCRIPTS = sorted(FOLDER.glob("*.js"))
STYLES = sorted(FOLDER.glob("*.css"))
LONGEST = 400

# What turns a text into code or markup. DOM is made of elements and texts only, so that nothing an agent says is run.
SINKS = (
    r"innerHTML",
    r"outerHTML",
    r"insertAdjacentHTML",
    r"setHTML",
    r"parseHTML",
    r"srcdoc",
    r"document\.write",
    r"createContextualFragment",
    r"DOMParser",
    r"\beval\s*\(",
    r"\bnew\s+Function\b",
    r"\bFunction\s*\(",
    r"set(?:Timeout|Interval)\s*\(\s*[\"'`]",
    r"javascript:",
    r"createElement\(\s*[\"'`]script",
    r"h\(\s*[\"'`](?:script|iframe|object|embed|style|base|meta|link)[\"'`]",
    r"document\.cookie",
)
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["']\./([\w.]+)["']""")
LINKED = re.compile(r"""(?:href|src)=["']/assets/([\w.]+)["']""")
SHOWN = re.compile(r"""["']/assets/([\w.]+)["']""")


def code_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@all_of("path", SCRIPTS)
def test_no_text_becomes_markup_or_code(path: Path) -> None:
    """No script uses a function of the browser that makes markup or code of a text."""
    sinks = [sink for sink in SINKS if re.search(sink, code_of(path))]
    assert sinks == []


def test_unsafe_functions_are_found() -> None:
    """The search finds each forbidden word."""
    guilty = (
        "a.innerHTML = b; a.outerHTML; a.insertAdjacentHTML(); a.setHTML(); Document.parseHTML(); a.srcdoc; "
        "document.write(b); r.createContextualFragment(b); new DOMParser(); eval (b); new Function(b); Function(b); "
        'setTimeout("b"); "javascript:b"; document.createElement("script"); h("iframe"); document.cookie'
    )
    assert [sink for sink in SINKS if not re.search(sink, guilty)] == []


def test_the_page_has_no_inline_code() -> None:
    """The first document has no handlers, styles or scripts in it, since the policy forbids them."""
    page = code_of(FOLDER / "index.html")
    assert not re.search(r"\son\w+\s*=", page)
    assert not re.search(r"\sstyle\s*=|<style", page)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_every_file_is_reachable() -> None:
    """Links and imports from index.html lead to every file in the folder, and to no other."""
    names = {path.name for path in FOLDER.iterdir() if path.is_file()}
    reached: set[str] = set()
    waiting = ["index.html"]
    while waiting:
        name = waiting.pop()
        assert name in names, f"{name} is not there"
        if name in reached:
            continue
        reached.add(name)
        text = code_of(FOLDER / name)
        waiting += IMPORT.findall(text) if name.endswith(".js") else LINKED.findall(text)
        waiting += SHOWN.findall(text) if name.endswith(".js") else []
    assert reached == names


def test_every_file_is_served() -> None:
    """The server's list of files equals the folder."""
    assert set(assets.load()) == {path.name for path in FOLDER.iterdir() if path.is_file()}


@all_of("path", [*SCRIPTS, *STYLES, FOLDER / "index.html"])
def test_a_file_is_short_and_local(path: Path) -> None:
    """A file has fewer than 400 lines and names no address of another host."""
    text = code_of(path)
    assert len(text.splitlines()) < LONGEST
    hosts = set(re.findall(r"https?://([\w.-]+)", text)) - {"www.w3.org", "127.0.0.1"}
    assert hosts == set()


@all_of("path", STYLES)
def test_colours_are_defined_in_the_theme(path: Path) -> None:
    """Outside the theme no style has a literal colour, so that light and dark stay complete."""
    if path.name != "theme.css":
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?!\s*\{)", code_of(path)) == []


def test_both_themes_are_readable() -> None:
    """Text of every tone has AA contrast on every background of its theme, in light and in dark."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", code_of(FOLDER / "theme.css"))
    tones = {name: (light, dark) for name, light, dark in pairs}
    statuses = ("pending", "in-progress", "needs-review", "paused", "completed", "failed", "abandoned")
    names = [(tone, ground) for tone in ("ink", "ink-soft", "ink-faint", "accent") for ground in ("paper", "surface")]
    names += [(name, ground) for name in statuses for ground in ("paper", "surface", f"{name}-soft")]
    names += [("ink-faint", "sunken"), ("accent", "accent-soft"), ("on-accent", "accent"), ("ink-soft", "hover")]
    names += [(name, f"{name}-soft") for name in ("added", "removed")]
    poor = [
        (text, ground, theme, round(ratio, 2))
        for text, ground in names
        for theme in (0, 1)
        if (ratio := contrast(tones[text][theme], tones[ground][theme])) < 4.5
    ]
    assert poor == []


def contrast(one: str, other: str) -> float:
    """Returns the contrast of two colours by WCAG 2."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
