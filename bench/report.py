"""All that `make bench` measured: its tables, and whether anything in them is over its limit."""

from __future__ import annotations

from typing import NamedTuple

from bench import deciding, plans, spawning
from bench.row import Row, mark


class Report(NamedTuple):
    """All that was measured, table by table."""

    commands: list[Row]
    listening: list[Row]
    deciding: list[Row]
    plans: list[Row]
    runs: list[Row]

    @property
    def over(self) -> bool:
        return any(row.over for table in self for row in table)

    def show(self) -> None:
        """Print it; a line with something that is over its limit says so."""
        _show_commands(self.commands)
        _show_lines(self.listening, self.deciding)
        _show_plans(self.plans)
        _show_runs(self.runs)


def _show_commands(rows: list[Row]) -> None:
    """One line for each command, in milliseconds."""
    print(f"{'command':<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6}")
    for row in rows:
        times = f"{row.mine * 1000:7.1f} {row.bare * 1000:7.1f} {row.ratio:6.2f} {row.limit:6.1f}"
        print(f"{row.name:<34} {times}{mark(row)}")


def _show_lines(listening: list[Row], decisions: list[Row]) -> None:
    """What has a line instead of a table."""
    share, memory = listening
    found = f"{share.mine:.0%} of a core, {memory.mine:.0f} MB"
    limits = f"limits: {share.bare:.0%}, {memory.bare:.0f} MB"
    print(f"\nListening to {spawning.CHILDREN} workers: {found} ({limits}){mark(*listening)}")
    (slowest,) = decisions
    most = f"{slowest.mine * 1000:.2f} ms at most (limit: {slowest.bare * 1000:.0f} ms)"
    print(f"Deciding what starts next, {deciding.TASKS} tasks: {most}{mark(slowest)}")


def _show_plans(rows: list[Row]) -> None:
    """One line for each form of a plan: how long the large one takes, and how much longer than the small one."""
    head = f"a plan of {plans.LARGE:,} tasks"
    print(f"\n{head:<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6} {'growth':>7} {'limit':>6}")
    for taken, growth in zip(rows[::2], rows[1::2], strict=True):
        times = f"{taken.mine * 1000:7.0f} {taken.bare * 1000:7.1f} {taken.ratio:6.0f} {plans.LIMIT:4.0f} s"
        print(f"{taken.name:<34} {times} {growth.ratio:7.1f} {growth.limit:6.0f}{mark(taken, growth)}")


def _show_runs(rows: list[Row]) -> None:
    """One line for each."""
    print(f"\n{'a run':<38} {'':>9} {'against':>9} {'ratio':>6} {'limit':>6}")
    for row in rows:
        measures = f"{row.mine:6.2f} {row.unit:<2} {row.bare:6.2f} {row.unit:<2} {row.ratio:6.2f} {row.limit:6.2f}"
        print(f"{row.name:<38} {measures}{mark(row)}")
