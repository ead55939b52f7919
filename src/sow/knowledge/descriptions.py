"""Describes a sink or a repository from its own files: front matter, headings, README."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sow.domain.documents.state import Hint
from sow.domain.inputs import printable_line
from sow.domain.reviews import verdict
from sow.domain.text.markdown_lines import PLAIN, MarkdownPage, frontmatter, heading
from sow.errors import SowError
from sow.store.files.disk import Disk, read_text
from sow.store.formats import yaml_text

BY_FILES, BY_USER, BY_AGENT = "files", "user", "agent"
TEXTS = (".md", ".markdown", ".mdx", ".rst", ".txt")
MAIN_STEMS = ("sink", "index", "readme", "skill")  # stems of files that describe the whole folder
ENTRY_POINTS = (
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "CLAUDE.md", "docs", "doc", "api",
    "openapi.yaml",
)  # fmt: skip
SUMMARY = ("summary", "description", "about")
WHEN = ("when_to_use", "when-to-use", "when", "use_when", "applies_to")
TAGS = ("tags", "keywords", "topics")
# Folders of a repository with generated or foreign files.
GENERATED_FOLDERS = ("node_modules", "vendor", "target", "dist", "build")
DEEPEST = 4
MOST_FILES = 60
MOST_READ = 64 << 10
MOST_WORDS = 600
MOST_TAGS = 12
MOST_HEADINGS = 12
LONGEST_ANSWER, LONGEST_HINT = 2000, 1000  # characters of one field of an agent's answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """A summary, when to use it, tags, and hints about single documents; each may be empty."""

    summary: str = ""
    when_to_use: str = ""
    tags: tuple[str, ...] = ()
    hints: Sequence[Hint] = ()


class DescribedPage:
    """One document: its front matter, title, headings and first paragraph."""

    def __init__(self, path: str, text: str) -> None:
        head, body, _ = frontmatter(text.replace("\r\n", "\n"))
        self.path = path
        self.fields = _fields(head, path)
        page = MarkdownPage(body, 1)
        lines = [line.rstrip() for line, kind in zip(page.texts, page.kinds, strict=True) if kind == PLAIN]
        self.headings = [name for _, name in map(heading, lines) if name]
        self.title = next((line[2:].strip(" #") for line in lines if line.startswith("# ")), "")
        self.opening = _paragraph(lines)
        self.when = _section(lines, "when")

    def field(self, names: tuple[str, ...]) -> Any:
        return next((self.fields[name] for name in names if self.fields.get(name)), "")


def describe(folder: str, name: str) -> Description:
    """Describes a folder from its documents."""
    read = (_read(path, path.removeprefix(f"{folder}/")) for path in document_paths(folder))
    pages = [page for page in read if page is not None]
    main = next((page for page in pages if _describes_folder(page)), pages[0] if len(pages) == 1 else None)
    main_pages = [main] if main else []
    summary = _first(
        [*(page.field(SUMMARY) for page in main_pages), *(_titled(page) for page in main_pages), _outline(pages)]
    )
    main_hints = [*(page.field(WHEN) for page in main_pages), *(page.when for page in main_pages)]
    when = _first([*main_hints, _usage_hints(pages), _topics(pages, name)])
    tags = [tag for page in (*main_pages, *pages) for tag in _tags(page.field(TAGS))]
    return Description(summary=summary, when_to_use=when, tags=tuple(dict.fromkeys(tags))[:MOST_TAGS])


def hints(folder: str) -> list[Hint]:
    """Lists the usual entry points that a repository has, with their titles."""
    repo_hints: list[Hint] = []
    for name in ENTRY_POINTS:
        path = f"{folder}/{name}"
        if os.path.islink(path) or not os.path.lexists(path):
            continue
        page = _read(path, name) if name.endswith(".md") else None
        about = _first([page.title, page.opening])[:200] if page else ""
        repo_hints.append({"path": name, "about": about or ("documents" if os.path.isdir(path) else "")})
    return repo_hints


def document_paths(folder: str) -> list[str]:
    """Lists the documents of a folder: first by depth, then those that describe the folder, then by path; no links."""
    paths: list[str] = []
    for current, subfolders, names in os.walk(folder):
        deep = current.count("/") - folder.count("/") >= DEEPEST
        shown = sorted(name for name in subfolders if not name.startswith(".") and name not in GENERATED_FOLDERS)
        subfolders[:] = [] if deep else shown
        paths += [f"{current}/{name}" for name in names if name.lower().endswith(TEXTS)]
    regular = [path for path in paths if not os.path.islink(path)]
    return sorted(regular, key=lambda path: (path.count("/"), _rank(path), path))[:MOST_FILES]


def _rank(path: str) -> int:
    stem = os.path.basename(path).rpartition(".")[0].lower()
    return MAIN_STEMS.index(stem) if stem in MAIN_STEMS else len(MAIN_STEMS)


def _describes_folder(page: DescribedPage) -> bool:
    return "/" not in page.path and _rank(page.path) < len(MAIN_STEMS)


def _read(path: str, shown: str) -> DescribedPage | None:
    """Reads the beginning of a document; None if it cannot be opened."""
    try:
        with open(path, "rb") as file:
            return DescribedPage(shown, file.read(MOST_READ).decode("utf-8", "replace"))
    except OSError:
        return None


def _fields(head: str, path: str) -> dict[Any, Any]:
    """Parses the front matter; invalid front matter counts as empty, because the file is not ours to fix."""
    if not head.strip():
        return {}
    try:
        fields = yaml_text.load(f"{head}\n", path)
    except SowError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _paragraph(lines: list[str]) -> str:
    prose_lines: list[str] = []
    for line in lines:
        prose = line.strip()
        if prose and not prose.startswith(("#", "<", "[!", "![", "|", "---", "===")):
            prose_lines.append(prose.lstrip("> "))
        elif prose_lines:
            break
    return _short(" ".join(prose_lines))


def _section(lines: list[str], word: str) -> str:
    """Returns the prose below the first heading that begins with a word."""
    for number, line in enumerate(lines):
        if line.startswith("#") and line.lstrip("# ").lower().startswith(word):
            return _paragraph(lines[number + 1 :])
    return ""


def _titled(page: DescribedPage) -> str:
    return _short(f"{page.title}: {page.opening}" if page.title and page.opening else page.title or page.opening)


def _outline(pages: list[DescribedPage]) -> str:
    """Joins the summaries or titles of several documents, for folders in which no document describes the whole."""
    return _short("; ".join(_first([page.field(SUMMARY), page.title, page.path]) for page in pages))


def _usage_hints(pages: list[DescribedPage]) -> str:
    hints = [_first([page.field(WHEN), page.when]) for page in pages]
    return _short(" ".join(hint for hint in hints if hint))


def _topics(pages: list[DescribedPage], name: str) -> str:
    headings = dict.fromkeys(heading for page in pages for heading in page.headings)
    listed = ", ".join(list(headings)[:MOST_HEADINGS])
    return _short(f"For work on {name.replace('-', ' ')}: {listed}") if listed else ""


def _first(values: list[Any]) -> str:
    """Returns the first value that is a non-empty text, on one line."""
    return next((_short(str(value)) for value in values if isinstance(value, str) and value.strip()), "")


def _tags(value: Any) -> list[str]:
    values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    tags = [" ".join(str(value).split()).lower() for value in values]
    return [tag for tag in tags if tag and len(tag) <= 60 and tag.isprintable()]


def _short(text: str) -> str:
    """Returns a text on one line, printable, and cut at a word."""
    line = printable_line(text)
    return line if len(line) <= MOST_WORDS else f"{line[:MOST_WORDS].rpartition(' ')[0]} …"


def read_answer(final_text: str, nonce: str) -> tuple[Description, str]:
    """Returns the description in an agent's final text, and the reason if it cannot be used."""
    block, why = verdict.read_block(final_text, nonce)
    summary, when = (_line(block.get(key)) for key in ("summary", "when_to_use"))
    if why or not summary or not when:
        return Description(), why or "summary or when_to_use is missing"
    tags, documents = block.get("tags"), block.get("documents")
    words = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    about = {path: _line(text) for path, text in documents.items()} if isinstance(documents, dict) else {}
    return Description(
        summary=summary,
        when_to_use=when,
        tags=tuple(dict.fromkeys(_tags(words)))[:MOST_TAGS],
        hints=[{"path": path, "about": text[:LONGEST_HINT]} for path, text in about.items() if text],
    ), ""


def _line(value: object) -> str:
    return printable_line(value)[:LONGEST_ANSWER] if isinstance(value, str) else ""


def excerpts(paths_by_name: Mapping[str, str], max_size: int) -> str:
    """Returns the beginnings of documents, up to a size, for an agent that describes them."""
    parts: list[str] = []
    left = max_size
    for name, path in paths_by_name.items():
        if left <= 0:
            parts.append("(more files, not shown)")
            break
        try:
            text = read_text(Disk(), path)
        except (SowError, FileNotFoundError):  # too large, or not text: the other documents are shown
            continue
        shown = text[: min(left, max_size // 4)]
        left -= len(shown)
        parts.append(f"=== {name}\n{shown}")
    return "\n\n".join(parts)


def with_hint(text: str, hint: str) -> str:
    """Returns a Markdown document with `when_to_use` in its front matter."""
    line = f"when_to_use: {json.dumps(hint, ensure_ascii=False)}"
    newline = "\r\n" if "\r\n" in text else "\n"
    if not frontmatter(text)[0]:
        return newline.join(("---", line, "---", text))
    first, _, rest = text.partition(newline)
    return newline.join((first, line, rest))
