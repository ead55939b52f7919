"""One entry of a run's journal. A field with an unexpected type counts as missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_NUMBER = 10**15  # upper limit for seconds, tokens and dollars, so that their sums stay numbers


class JournalEntry:
    """A line of the journal, with one method for each type of field."""

    __slots__ = ("at", "data", "event", "t", "task")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.event = self.text("event")
        self.task = self.text("task")
        self.at = self.text("at")
        self.t = self.number("t")

    def text(self, key: str) -> str:
        """Returns a text, or an empty one."""
        value = self.data.get(key)
        return value if isinstance(value, str) else ""

    def name_or_number(self, key: str) -> str:
        """Returns a name or a number as a text."""
        value = self.data.get(key)
        return str(value) if isinstance(value, int) and number(value) is not None else self.text(key)

    def number(self, key: str) -> float | None:
        """Returns a number from zero up, or None."""
        return number(self.data.get(key))

    def count(self, key: str) -> int:
        """Returns a whole number, or 0."""
        value = self.number(key)
        return int(value) if value is not None else 0

    def texts(self, key: str) -> list[str]:
        """Returns the texts in a list."""
        value = self.data.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def entries(self, key: str) -> list[JournalEntry]:
        """Returns the mappings in a list."""
        value = self.data.get(key)
        return [JournalEntry(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def entry(self, key: str) -> JournalEntry:
        """Returns a mapping, or an empty one."""
        value = self.data.get(key)
        return JournalEntry(value if isinstance(value, dict) else {})


def number(value: object) -> float | None:
    """Returns the value if it is a number from zero up to the limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= MAX_NUMBER else None
