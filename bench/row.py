"""One measured thing and its limit: the one way to tell that something is over it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What was measured, what it is measured against, and how many times that it may be at most."""

    name: str
    mine: float
    bare: float
    limit: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.mine / self.bare

    @property
    def over(self) -> bool:
        return self.mine > self.bare * self.limit


def mark(*rows: Row) -> str:
    """What the line of these rows ends with: a word where one of them is over its limit."""
    return "  over" if any(each.over for each in rows) else ""
