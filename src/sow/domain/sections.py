"""The sections of a Markdown text: each heading outside of code and quotations, with what stands below it."""

from __future__ import annotations

from sow.domain.review_text import survey
from sow.domain.wording import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 6


class Section:
    """A heading with its level, its line, and all text up to the next heading of its level or above."""

    __slots__ = ("level", "line", "text", "title")

    def __init__(self, title: str, level: int, line: int) -> None:
        self.title = title
        self.level = level
        self.line = line
        self.text = ""


def sections(text: str, first_line: int = 1) -> list[Section]:
    """All sections in their order."""
    lines = survey(text).lines
    found: list[tuple[int, Section]] = []
    for index, line in enumerate(lines):
        level, title = (0, "") if line.inside else _heading(line.text)
        if level:
            found.append((index, Section(title, level, first_line + index)))
    ends: dict[int, int] = {}  # of each level, where the nearest heading behind begins
    for index, section in reversed(found):
        end = min((at for level, at in ends.items() if level <= section.level), default=len(lines))
        section.text = "\n".join(line.text for line in lines[index + 1 : end])
        ends[section.level] = index
    return [section for _, section in found]


def says_something(section: Section) -> bool:
    """Whether there are words below the heading, or below the headings in it."""
    return any(words(line) for line in section.text.split("\n") if not line.lstrip().startswith("#"))


def titled(found: Iterable[Section], starts: tuple[tuple[str, ...], ...]) -> list[Section]:
    """The sections whose heading has, for one of these sets, a word that begins with each of its words."""
    return [section for section in found if any(_has(words(section.title), each) for each in starts)]


def _has(title: list[str], starts: tuple[str, ...]) -> bool:
    return all(any(word.startswith(start) for word in title) for start in starts)


def _heading(line: str) -> tuple[int, str]:
    bare = line.lstrip(" ")
    title = bare.lstrip("#")
    level = len(bare) - len(title)
    if not 0 < level <= DEEPEST or len(line) - len(bare) > 3 or title[:1] not in ("", " ", "\t"):
        return 0, ""
    return level, title.strip(" \t#")
