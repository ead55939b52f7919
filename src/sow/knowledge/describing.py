"""What a sink or a repository is about, as far as its own files tell: front matter, headings, the README."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import yaml_text
from sow.store.disk import Disk, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.index_shapes import RepoHint

BY_FILES, BY_USER, BY_AGENT = "files", "user", "agent"
TEXTS = (".md", ".markdown", ".mdx", ".rst", ".txt")
FIRST = ("sink", "index", "readme", "skill")  # names of files that speak for the whole folder, without their ending
PLACES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "CLAUDE.md",
    "docs",
    "doc",
    "api",
    "openapi.yaml",
)
SUMMARY = ("summary", "description", "about")
WHEN = ("when_to_use", "when-to-use", "when", "use_when", "applies_to")
TAGS = ("tags", "keywords", "topics")
BUILT = ("node_modules", "vendor", "target", "dist", "build")  # of a repository, and not its author's words
DEEPEST = 4
MOST_FILES = 60
MOST_READ = 64 << 10
MOST_WORDS = 600
MOST_TAGS = 12
MOST_HEADINGS = 12


class Description:
    """A summary, when to use it, and tags; any of them may be empty."""

    __slots__ = ("summary", "tags", "when_to_use")

    def __init__(self, *, summary: str = "", when_to_use: str = "", tags: tuple[str, ...] = ()) -> None:
        self.summary = summary
        self.when_to_use = when_to_use
        self.tags = tags


class Page:
    """One document: what its author says about it, its title, its headings, and its first paragraph."""

    __slots__ = ("fields", "headings", "opening", "path", "title", "when")

    def __init__(self, path: str, text: str) -> None:
        head, body = split(text)
        self.path = path
        self.fields = _fields(head, path)
        lines = _outside_fences(body)
        self.headings = [
            line.lstrip("#").strip(" #") for line in lines if line.startswith("#") and line.lstrip("#")[:1] == " "
        ]
        self.title = next((line[2:].strip(" #") for line in lines if line.startswith("# ")), "")
        self.opening = _paragraph(lines)
        self.when = _section(lines, "when")

    def field(self, names: tuple[str, ...]) -> Any:
        return next((self.fields[name] for name in names if self.fields.get(name)), "")


def describe(folder: str, name: str) -> Description:
    """What the files of a folder say about the whole of it."""
    pages = _pages(folder)
    main = next((page for page in pages if _speaks(page)), pages[0] if len(pages) == 1 else None)
    own = [main] if main else []
    summary = _first([*(page.field(SUMMARY) for page in own), *(_titled(page) for page in own), _outline(pages)])
    when = _first(
        [*(page.field(WHEN) for page in own), *(page.when for page in own), _whens(pages), _topics(pages, name)]
    )
    tags = [tag for page in (*own, *pages) for tag in _tags(page.field(TAGS))]
    return Description(summary=summary, when_to_use=when, tags=tuple(dict.fromkeys(tags))[:MOST_TAGS])


def hints(folder: str) -> list[RepoHint]:
    """Where to look in a repository: the usual places that it has, with their titles."""
    found: list[RepoHint] = []
    for name in PLACES:
        path = f"{folder}/{name}"
        if os.path.islink(path) or not os.path.lexists(path):
            continue
        page = _read(path, name) if name.endswith(".md") else None
        about = _first([page.title, page.opening])[:200] if page else ""
        found.append({"path": name, "about": about or ("documents" if os.path.isdir(path) else "")})
    return found


def split(text: str) -> tuple[str, str]:
    """The front matter and the body of a document; most have no front matter."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        return "", text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    return ("\n".join(lines[1:end]), "\n".join(lines[end + 1 :])) if end else ("", text)


def texts(folder: str) -> list[str]:
    """The documents of a folder, those that speak for the whole first, then by their paths; links are left alone."""
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        deep = place.count("/") - folder.count("/") >= DEEPEST
        folders[:] = [] if deep else sorted(each for each in folders if not each.startswith(".") and each not in BUILT)
        found += [f"{place}/{name}" for name in names if name.lower().endswith(TEXTS)]
    good = [path for path in found if not os.path.islink(path)]
    return sorted(good, key=lambda path: (path.count("/"), _rank(path), path))[:MOST_FILES]


def _rank(path: str) -> int:
    stem = os.path.basename(path).rpartition(".")[0].lower()
    return FIRST.index(stem) if stem in FIRST else len(FIRST)


def _speaks(page: Page) -> bool:
    return "/" not in page.path and _rank(page.path) < len(FIRST)


def _pages(folder: str) -> list[Page]:
    pages = (_read(path, path.removeprefix(f"{folder}/")) for path in texts(folder))
    return [page for page in pages if page is not None]


def _read(path: str, shown: str) -> Page | None:
    """The beginning of a document; one that is no text says nothing."""
    try:
        with open(path, "rb") as file:
            return Page(shown, file.read(MOST_READ).decode("utf-8", "replace"))
    except OSError:
        return None


def _fields(head: str, path: str) -> dict[Any, Any]:
    """The front matter's fields; one that cannot be read says nothing, since it is its author's and not ours."""
    if not head.strip():
        return {}
    try:
        fields = yaml_text.load(f"{head}\n", path)
    except SowError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _outside_fences(body: str) -> list[str]:
    """The lines of a document without its code."""
    kept: list[str] = []
    fence = ""
    for line in body.replace("\r\n", "\n").split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence:
            kept.append(line.rstrip())
    return kept


def _paragraph(lines: list[str]) -> str:
    """The first lines of prose."""
    found: list[str] = []
    for line in lines:
        prose = line.strip()
        if prose and not prose.startswith(("#", "<", "[!", "![", "|", "---", "===")):
            found.append(prose.lstrip("> "))
        elif found:
            break
    return _short(" ".join(found))


def _section(lines: list[str], word: str) -> str:
    """The prose below the first heading that begins with a word."""
    for number, line in enumerate(lines):
        if line.startswith("#") and line.lstrip("# ").lower().startswith(word):
            return _paragraph(lines[number + 1 :])
    return ""


def _titled(page: Page) -> str:
    return _short(f"{page.title}: {page.opening}" if page.title and page.opening else page.title or page.opening)


def _outline(pages: list[Page]) -> str:
    """The titles of several documents, where none speaks for all of them."""
    return _short("; ".join(page.title or page.path for page in pages))


def _whens(pages: list[Page]) -> str:
    said = [_first([page.field(WHEN), page.when]) for page in pages]
    return _short(" ".join(each for each in said if each))


def _topics(pages: list[Page], name: str) -> str:
    headings = dict.fromkeys(each for page in pages for each in page.headings)
    listed = ", ".join(list(headings)[:MOST_HEADINGS])
    return _short(f"For work on {name.replace('-', ' ')}: {listed}") if listed else ""


def _first(values: list[Any]) -> str:
    """The first that says something, on one line."""
    return next((_short(str(each)) for each in values if isinstance(each, str) and each.strip()), "")


def _tags(value: Any) -> list[str]:
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    lines = [" ".join(str(each).split()).lower() for each in words]
    return [each for each in lines if each and len(each) <= 60 and each.isprintable()]


def _short(text: str) -> str:
    """On one line, in plain characters, and cut at a word."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= MOST_WORDS else f"{line[:MOST_WORDS].rpartition(' ')[0]} …"


def excerpts(folder: str, most: int) -> str:
    """The documents of a folder for a reader who is to describe them: each from its beginning, up to a size."""
    parts: list[str] = []
    left = most
    for path in texts(folder):
        if left <= 0:
            parts.append("(more files, not shown)")
            break
        try:
            text = read_text(Disk(), path)
        except (SowError, FileNotFoundError):  # too large, or no text: the others are shown
            continue
        shown = text[: min(left, most // 4)]
        left -= len(shown)
        parts.append(f"=== {path.removeprefix(f'{folder}/')}\n{shown}")
    return "\n\n".join(parts)
