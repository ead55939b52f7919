"""Prints the tables of `make bench`, and says whether anything is over its limit."""

from __future__ import annotations

from typing import NamedTuple

from bench import deciding, plans, spawning
from bench.row import Row, mark


class Report(NamedTuple):
    """All measurements, table by table."""

    commands: list[Row]
    listening: list[Row]
    deciding: list[Row]
    plans: list[Row]
    runs: list[Row]

    @property
    def over(self) -> bool:
        return any(row.over for table in self for row in table)

    def show(self) -> None:
        """Prints all tables; marks a line that is over its limit."""
        _show_commands(self.commands)
        _show_lines(self.listening, self.deciding)
        _show_plans(self.plans)
        _show_runs(self.runs)


def _show_commands(rows: list[Row]) -> None:
    """Prints one line for each command, in milliseconds."""
    print(f"{'command':<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6}")
    for row in rows:
        times = f"{row.measured * 1000:7.1f} {row.reference * 1000:7.1f} {row.ratio:6.2f} {row.limit:6.1f}"
        print(f"{row.name:<34} {times}{mark(row)}")


def _show_lines(listening: list[Row], decisions: list[Row]) -> None:
    """Prints the measurements that have a line instead of a table."""
    share, memory = listening
    measured = f"{share.measured:.0%} of a core, {memory.measured:.0f} MB"
    limits = f"limits: {share.reference:.0%}, {memory.reference:.0f} MB"
    print(f"\nListening to {spawning.CHILDREN} workers: {measured} ({limits}){mark(*listening)}")
    (slowest,) = decisions
    longest = f"{slowest.measured * 1000:.2f} ms at most (limit: {slowest.reference * 1000:.0f} ms)"
    print(f"Deciding what starts next, {deciding.TASKS} tasks: {longest}{mark(slowest)}")


def _show_plans(rows: list[Row]) -> None:
    """Prints one line for each form of a plan: the time of the large one, and its growth over the small one."""
    heading = f"a plan of {plans.LARGE:,} tasks"
    print(f"\n{heading:<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6} {'growth':>7} {'limit':>6}")
    for seconds, growth in zip(rows[::2], rows[1::2], strict=True):
        times = (
            f"{seconds.measured * 1000:7.0f} {seconds.reference * 1000:7.1f} {seconds.ratio:6.0f} {plans.LIMIT:4.0f} s"
        )
        print(f"{seconds.name:<34} {times} {growth.ratio:7.1f} {growth.limit:6.0f}{mark(seconds, growth)}")


def _show_runs(rows: list[Row]) -> None:
    """Prints one line for each row."""
    print(f"\n{'a run':<38} {'':>9} {'against':>9} {'ratio':>6} {'limit':>6}")
    for row in rows:
        measures = (
            f"{row.measured:6.2f} {row.unit:<2} {row.reference:6.2f} {row.unit:<2} {row.ratio:6.2f} {row.limit:6.2f}"
        )
        print(f"{row.name:<38} {measures}{mark(row)}")
