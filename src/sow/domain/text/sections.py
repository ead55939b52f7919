"""Splits a Markdown text into sections: each heading outside of code and quotations, with the text below it."""

from __future__ import annotations

from sow.domain.text.markdown_text import parse_markdown
from sow.domain.text.similar_text import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 6


class Section:
    """A heading with its level, its line, and all text up to the next heading of the same or a higher level."""

    __slots__ = ("level", "line", "text", "title")

    def __init__(self, title: str, level: int, line: int) -> None:
        self.title = title
        self.level = level
        self.line = line
        self.text = ""


def sections(text: str, first_line: int = 1) -> list[Section]:
    """Return all sections in order."""
    lines = parse_markdown(text).lines
    indexed: list[tuple[int, Section]] = []
    for index, line in enumerate(lines):
        level, title = (0, "") if line.container else _heading(line.text)
        if level:
            indexed.append((index, Section(title, level, first_line + index)))
    ends: dict[int, int] = {}  # for each level the index of the nearest heading below
    for index, section in reversed(indexed):
        end = min((start for level, start in ends.items() if level <= section.level), default=len(lines))
        section.text = "\n".join(line.text for line in lines[index + 1 : end])
        ends[section.level] = index
    return [section for _, section in indexed]


def has_text(section: Section) -> bool:
    """Return whether there is text below the heading, other than headings."""
    return any(words(line) for line in section.text.split("\n") if not line.lstrip().startswith("#"))


def with_title_words(candidates: Iterable[Section], starts: tuple[tuple[str, ...], ...]) -> list[Section]:
    """Return the sections whose title has, for one of these sets, a word that starts with each prefix."""
    return [section for section in candidates if any(_has(words(section.title), prefixes) for prefixes in starts)]


def _has(title: list[str], starts: tuple[str, ...]) -> bool:
    return all(any(word.startswith(start) for word in title) for start in starts)


def _heading(line: str) -> tuple[int, str]:
    bare = line.lstrip(" ")
    title = bare.lstrip("#")
    level = len(bare) - len(title)
    if not 0 < level <= DEEPEST or len(line) - len(bare) > 3 or title[:1] not in ("", " ", "\t"):
        return 0, ""
    return level, title.strip(" \t#")
