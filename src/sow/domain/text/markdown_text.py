"""Parses Markdown: which lines are its own text, which are quoted, code or hidden, and which sections it has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sow.domain.text.markdown_lines import heading
from sow.domain.text.similar_text import words

# After one of these tags, a reader may not see a line, or not as text of the answer.
HIDING_TAGS = (
    "<!--", "<pre", "<code", "<blockquote", "<details", "<script", "<style", "<template", "<textarea", "<xmp",
)  # fmt: skip
BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(slots=True)
class MarkdownLine:
    """A line without trailing spaces, its offset, and its container: a fence, a quote or nothing."""

    text: str
    start: int
    container: str


@dataclass(slots=True)
class Fence:
    """A fenced block: its marks, its info word, and the bounds of its content."""

    mark: str
    word: str
    start: int
    end: int = -1


@dataclass(frozen=True)
class MarkdownText:
    """A parsed text."""

    text: str
    lines: list[MarkdownLine]
    fences: list[Fence]

    def block(self, position: int) -> tuple[int, int]:
        """Returns the bounds of the JSON block around a position: a json fence, or lines from `{` to its `}`."""
        for fence in self.fences:
            if fence.start <= position < fence.end:
                return (fence.start, fence.end) if fence.word.lower() == "json" else (0, 0)
        starts = [
            line.start for line in self.lines if line.start <= position and not line.container and line.text[:1] == "{"
        ]
        return (starts[-1], self._closing(starts[-1])) if starts else (0, 0)

    def _closing(self, start: int) -> int:
        """Returns the end of the object at `start`, or `start` if it is invalid or text follows on its line."""
        try:
            _, end = json.JSONDecoder().raw_decode(self.text, start)
        except (ValueError, RecursionError):
            return start
        return start if self.text[end:].partition("\n")[0].strip() else end

    def has_hidden_text_before(self, position: int) -> bool:
        """Returns whether a tag before this position can hide text, or a control character changes how it is shown."""
        before = self.text[:position].casefold()
        if any(tag in before for tag in HIDING_TAGS):
            return True
        return any((letter < " " and letter not in "\n\t\r") or "\x7f" <= letter <= "\x9f" for letter in self.text) or (
            not BIDI_CONTROLS.isdisjoint(self.text)
        )

    def neighbours(self, index: int) -> tuple[str, str]:
        """Returns the lines before and after one that could belong to its sentence. A heading before it does not."""
        before = self.lines[index - 1].text if index else ""
        before = "" if before.startswith("#") else before
        after = self.lines[index + 1].text if index + 1 < len(self.lines) else ""
        return before, after


def parse_markdown(text: str) -> MarkdownText:
    """Splits a text into lines that are its own, fenced or quoted. A quote ends at a blank line, as in Markdown."""
    lines: list[MarkdownLine] = []
    fences: list[Fence] = []
    fence: Fence | None = None
    quoted = False
    offset = 0
    for raw in text.split("\n"):
        line = raw.rstrip(" \t\r")
        mark, word = _mark(line)
        if fence is not None:
            inside = "fence"
            if not word and mark.startswith(fence.mark):
                fence.end = offset
                fence = None
        elif mark:
            inside = "fence"
            fence = Fence(mark, word.partition(" ")[0], offset + len(raw) + 1)
            fences.append(fence)
        else:
            quoted = bool(line) and (quoted or line.lstrip(" ")[0] == ">")
            inside = "quote" if quoted else ""
        lines.append(MarkdownLine(line, offset, inside))
        offset += len(raw) + 1
    if fence is not None:
        fence.end = len(text)
    return MarkdownText(text, lines, fences)


def _mark(line: str) -> tuple[str, str]:
    """Returns the marks of a fence and the text after them, if the line opens or closes one."""
    bare = line.lstrip(" ")
    letter = bare[:1]
    if letter not in ("`", "~") or len(line) - len(bare) > 3:
        return "", ""
    word = bare.lstrip(letter)
    mark = bare[: len(bare) - len(word)]
    return (mark, word.strip()) if len(mark) >= 3 and not (letter == "`" and "`" in word) else ("", "")


@dataclass(slots=True)
class Section:
    """A heading with its level, its line, and all text up to the next heading of the same or a higher level."""

    title: str
    level: int
    line: int
    text: str = ""


def sections(text: str, first_line: int = 1) -> list[Section]:
    """Returns all sections in order."""
    lines = parse_markdown(text).lines
    indexed: list[tuple[int, Section]] = []
    for index, line in enumerate(lines):
        level, title = (0, "") if line.container else heading(line.text)
        if level:
            indexed.append((index, Section(title, level, first_line + index)))
    ends: dict[int, int] = {}  # for each level the index of the nearest heading below
    for index, section in reversed(indexed):
        end = min((start for level, start in ends.items() if level <= section.level), default=len(lines))
        section.text = "\n".join(line.text for line in lines[index + 1 : end])
        ends[section.level] = index
    return [section for _, section in indexed]


def has_text(section: Section) -> bool:
    """Returns whether there is text below the heading, other than headings."""
    return any(words(line) for line in section.text.split("\n") if not line.lstrip().startswith("#"))


def with_title_words(candidates: Iterable[Section], starts: tuple[tuple[str, ...], ...]) -> list[Section]:
    """Returns the sections whose title has, for one of these sets, a word that starts with each prefix."""
    return [section for section in candidates if any(_has(words(section.title), prefixes) for prefixes in starts)]


def _has(title: list[str], starts: tuple[str, ...]) -> bool:
    return all(any(word.startswith(start) for word in title) for start in starts)
