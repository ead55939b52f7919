"""Finds the documents that a text names: by path, by file name, or by the number of a decision."""

from __future__ import annotations

from itertools import pairwise

from sow.domain.task_words import words
from sow.knowledge.document import ADR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.knowledge.document import Document

IN_PATHS = frozenset("/._-+@")
EVERYBODYS = ("readme.md", "index.md")  # names that many documents have


class Named:
    """The paths and decision numbers in one text."""

    __slots__ = ("numbers", "paths")

    def __init__(self, text: str) -> None:
        letters = "".join(letter if letter.isalnum() or letter in IN_PATHS else " " for letter in text)
        self.paths = {word.rstrip(".").removeprefix("./") for word in letters.split()}
        text_words = words(text)
        self.numbers = {
            int(second)
            for first, second in pairwise(text_words)
            if first == "adr" and second.isascii() and second.isdigit()
        }

    def has(self, document: Document) -> bool:
        """True if the text names the document: by its path, the end of its path, or its decision number."""
        parts = document.path.split("/")
        ends = ["/".join(parts[start:]) for start in range(len(parts))]
        if any(end in self.paths and end.lower() not in EVERYBODYS for end in ends):
            return True
        number = parts[-1].partition("-")[0]
        return document.kind == ADR and number.isascii() and number.isdigit() and int(number) in self.numbers
