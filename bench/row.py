"""Defines a measurement with its limit."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A measurement, the value it is compared with, and how many times that value it may be."""

    name: str
    measured: float
    reference: float
    limit: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.measured / self.reference

    @property
    def over(self) -> bool:
        return self.measured > self.reference * self.limit


def mark(*rows: Row) -> str:
    """Returns the mark at the end of a line: a word if one of its rows is over its limit."""
    return "  over" if any(row.over for row in rows) else ""
