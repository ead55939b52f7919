"""One entry of a run's journal, as far as it can be understood: a file on disk may hold anything."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST = 10**15  # no second, token or dollar of a run counts further; sums of such numbers stay numbers


class Entry:
    """A line of the journal, read by the type that each of its fields should have."""

    __slots__ = ("data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    @property
    def event(self) -> str:
        return self.text("event")

    @property
    def task(self) -> str:
        return self.text("task")

    @property
    def at(self) -> str:
        return self.text("at")

    @property
    def t(self) -> float | None:
        return self.number("t")

    def text(self, key: str) -> str:
        """A text; an empty one where there is none."""
        value = self.data.get(key)
        return value if isinstance(value, str) else ""

    def word(self, key: str) -> str:
        """A name or a number, as a text."""
        value = self.data.get(key)
        return str(value) if isinstance(value, int) and number(value) is not None else self.text(key)

    def number(self, key: str) -> float | None:
        """A number from zero up; None where it is unknown, or no such number."""
        return number(self.data.get(key))

    def count(self, key: str) -> int:
        """A whole number; 0 where there is none."""
        found = self.number(key)
        return int(found) if found is not None else 0

    def texts(self, key: str) -> list[str]:
        """The texts in a list."""
        value = self.data.get(key)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    def entries(self, key: str) -> list[Entry]:
        """The mappings in a list."""
        value = self.data.get(key)
        return [Entry(each) for each in value if isinstance(each, dict)] if isinstance(value, list) else []

    def entry(self, key: str) -> Entry:
        """A mapping; an empty one where there is none."""
        value = self.data.get(key)
        return Entry(value if isinstance(value, dict) else {})


def number(value: object) -> float | None:
    """A number from zero up that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= MOST else None
