"""The report of `make bench` marks every value over its limit and then fails."""

from __future__ import annotations

import pytest

from bench.report import Report
from bench.row import Row

TABLES = {"commands": 2, "listening": 2, "deciding": 1, "plans": 4, "runs": 2}
PLACES = [(table, at) for table, rows in TABLES.items() for at in range(rows)]


def report(slow: tuple[str, int] | None = None) -> Report:
    """Returns measurements exactly at their limits, except one that is a little over it."""
    tables = {
        table: [Row(f"{table} {at}", 6.1 if (table, at) == slow else 6.0, 2, 3) for at in range(rows)]
        for table, rows in TABLES.items()
    }
    return Report(**tables)


def marked(capsys: pytest.CaptureFixture[str], shown: Report) -> list[str]:
    """Returns the lines of a report that mark a value over its limit."""
    shown.show()
    return [line for line in capsys.readouterr().out.splitlines() if line.endswith("  over")]


def test_a_value_at_its_limit_is_not_marked(capsys: pytest.CaptureFixture[str]):
    """A report with all values within the limits has no mark, and is no failure."""
    assert marked(capsys, report()) == []
    assert not report().over


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]} {place[1]}")
def test_one_value_over_its_limit_fails(capsys: pytest.CaptureFixture[str], place: tuple[str, int]):
    """A single value over its limit, in any table, marks its own line and no other, and fails the whole."""
    assert len(marked(capsys, report(place))) == 1
    assert report(place).over
