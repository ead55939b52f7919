"""Finds the part of a large document that a task needs: whole sections that share words with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sow.domain.text.keywords import words

STEP = 40  # lines of a part, in a text without headings


@dataclass(frozen=True, slots=True)
class Passage:
    """A range of lines, counted from one, and its size in bytes."""

    first: int
    last: int
    size: int

    @property
    def lines(self) -> str:
        return f"{self.first}-{self.last}"


def best_passage(text: str, task_words: Collection[str], max_size: int) -> Passage | None:
    """Returns the section with the most of these words, and the sections after it that have some and fit."""
    lines = text.split("\n")
    sections = _sections(lines, max_size)
    counts = [_count(lines[first:last], task_words) for first, last in sections]
    fitting = [index for index, (first, last) in enumerate(sections) if _size(lines[first:last]) <= max_size]
    if not fitting or not any(counts[index] for index in fitting):
        return None
    start = max(fitting, key=lambda index: (counts[index], -index))
    end = start + 1
    first = sections[start][0]
    while end < len(sections) and counts[end] and _size(lines[first : sections[end][1]]) <= max_size:
        end += 1
    last = sections[end - 1][1]
    return Passage(first + 1, last, _size(lines[first:last]))


def _sections(lines: list[str], max_size: int) -> list[tuple[int, int]]:
    """Splits the lines at headings; a section that is too large is cut into steps."""
    starts = [0, *(number for number, line in enumerate(lines) if number and line.startswith("#"))]
    sections = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        cut = end - start if _size(lines[start:end]) <= max_size else STEP
        sections += [(first, min(first + cut, end)) for first in range(start, end, max(cut, 1))]
    return sections


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _count(lines: list[str], task_words: Collection[str]) -> int:
    """Counts the words that occur, each once."""
    return len({word for line in lines for word in words(line)} & set(task_words))
