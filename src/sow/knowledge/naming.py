"""What a text names: paths and file names as they stand in it, and decisions by their numbers."""

from __future__ import annotations

from itertools import pairwise

from sow.domain.task_words import words
from sow.knowledge.document import ADR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.knowledge.document import Document

IN_PATHS = frozenset("/._-+@")
EVERYBODYS = ("readme.md", "index.md")  # names that name no one document


class Named:
    """The names in one text, gathered once, however many documents are looked for."""

    __slots__ = ("numbers", "paths")

    def __init__(self, text: str) -> None:
        letters = "".join(letter if letter.isalnum() or letter in IN_PATHS else " " for letter in text)
        self.paths = {word.rstrip(".").removeprefix("./") for word in letters.split()}
        spoken = words(text)
        self.numbers = {int(two) for one, two in pairwise(spoken) if one == "adr" and two.isascii() and two.isdigit()}

    def has(self, document: Document) -> bool:
        """Whether it names a document: by its path or the end of it, or as a decision by its number."""
        parts = document.path.split("/")
        ends = ["/".join(parts[place:]) for place in range(len(parts))]
        if any(end in self.paths and end.lower() not in EVERYBODYS for end in ends):
            return True
        number = parts[-1].partition("-")[0]
        return document.kind == ADR and number.isascii() and number.isdigit() and int(number) in self.numbers
