"""`make bench`: print tables of ratios, each with its limit; exit 1 where a run is over one."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench import command_line, context, deciding, plans, running, sinks, spawning, ui, worktrees
from bench.timing import best_times

ROUNDS = 30


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        # Each part has a folder of its own, so that no two can want the same name. Those that make many files come
        # last: an ext4 without a journal looks at every file that was deleted nearby in the last minutes for a new one.
        parts = (Path(tempfile.mkdtemp(dir=folder)) for _ in range(5))
        spawned, runs, commands, library, dashboard = parts
        first, bare_start = spawning.first_instruction(spawned, rounds)
        rows = run_rows(runs)
        share, megabytes = spawning.listening(spawned)
        cases = command_line.cases(commands)
        times = best_times(cases, rounds)
        rows += [*library_rows(library), *dashboard_rows(dashboard, rounds)]
    readings = plans.reading(min(rounds, 3))
    print(f"Best of {rounds}, interleaved; the ratio is to bare Python with the same synced writes.\n")
    print(f"{'command':<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6}")
    for case, (mine, bare) in zip(cases, times, strict=True):
        ratio = mine / bare
        mark = "" if ratio <= case.limit else "  over"
        print(f"{case.name:<34} {mine * 1000:7.1f} {bare * 1000:7.1f} {ratio:6.2f} {case.limit:6.1f}{mark}")
    row = "sow agent spawn, first instruction"
    print(f"{row:<34} {first * 1000:7.1f} {bare_start * 1000:7.1f} {first / bare_start:6.2f} {4:6.1f}")
    print(f"\nListening to 100 workers: {share:.0%} of a core, {megabytes:.0f} MB (limits: 100 %, 100 MB)")
    slowest = deciding.slowest_decision(rounds)
    print(f"Deciding what starts next, {deciding.TASKS} tasks: {slowest * 1000:.2f} ms at most (limit: 1 ms)")
    print_plans(readings)
    return print_runs(rows)


class Row(NamedTuple):
    """What was measured of a run, what it is measured against, and how many times that it may be at most."""

    name: str
    mine: float
    bare: float
    limit: float
    unit: str = "s"


def run_rows(scratch: Path) -> list[Row]:
    """Everything about whole runs."""
    taken, bare, writes = running.many(scratch)
    asleep = running.sleeping(scratch)
    bound, barrier = running.crossed().bound(), running.crossed().in_waves()
    mine, plain = worktrees.per_task(scratch)
    return [
        Row(f"{running.TASKS:,} tasks, {writes:,} durable writes", taken, bare, running.OVERHEAD),
        Row("sleeping tasks, lower bound", asleep["mixed"], running.mixed().bound(), running.LATE),
        Row("ready, as a part of waves", asleep["ready"] / asleep["waves"], bound / barrier, running.LATE, ""),
        Row(f"a task in a worktree, {worktrees.FILES:,} files", mine, plain, worktrees.LIMIT),
        Row(f"{running.WRITERS} writers at once", running.memory(scratch), running.MEGABYTES, 1, "MB"),
    ]


def library_rows(scratch: Path) -> list[Row]:
    """The choice of references from a large library, in seconds and against a plain read of the same files."""
    first, after, read = context.timed(scratch)
    name = f"sow context, {context.DOCUMENTS} documents"
    return [
        Row(f"{name}, first, at most", first, context.FIRST, 1),
        Row(f"{name}, again, at most", after, context.NEXT, 1),
        Row(f"{name}, first, plain read", first, read, context.FIRST_READS),
        Row(f"{name}, again, plain read", after, read, context.NEXT_READS),
        Row(f"check {sinks.SINKS} slow sinks, one remote", *sinks.checked(scratch), sinks.LIMIT),
    ]


def dashboard_rows(scratch: Path, rounds: int) -> list[Row]:
    """What people look at; what needs a browser is left out where there is none, and said."""
    rows = [
        Row("sow ui, first request", *ui.ready(scratch, min(rounds, 10)), ui.READY),
        Row(f"{ui.PAGES} pages, {ui.TASKS:,} tasks", ui.memory(scratch), ui.MEGABYTES, 1, "MB"),
    ]
    missing = ui.without_browser()
    if missing:
        print(f"No rows of journal to screen and first paint: {missing}.\n")
        return rows
    return [
        *rows,
        Row("from the journal to the screen", ui.to_screen(scratch), ui.TO_SCREEN, 1),
        Row(f"first paint, {ui.PROJECT:,} tasks, one task", *ui.first_paint(scratch), ui.PAINT),
    ]


def print_runs(rows: list[Row]) -> int:
    """One row for each, and 1 where one is over its limit."""
    print(f"\n{'a run':<38} {'':>9} {'against':>9} {'ratio':>6} {'limit':>6}")
    for name, mine, bare, limit, unit in rows:
        mark = "" if mine <= bare * limit else "  over"
        print(f"{name:<38} {mine:6.2f} {unit:<2} {bare:6.2f} {unit:<2} {mine / bare:6.2f} {limit:6.2f}{mark}")
    return int(any(row.mine > row.bare * row.limit for row in rows))


def print_plans(readings: list[plans.Reading]) -> None:
    """One row for each form of a plan: how long the large one takes, and how much longer than the small one."""
    head = f"a plan of {plans.LARGE:,} tasks"
    print(f"\n{head:<34} {'ms':>7} {'bare':>7} {'ratio':>6} {'limit':>6} {'growth':>7} {'limit':>6}")
    for each in readings:
        mark = "  over" if each.large > plans.LIMIT or each.growth > plans.GROWTH else ""
        times = f"{each.large * 1000:7.0f} {each.bare * 1000:7.1f} {each.large / each.bare:6.0f} {plans.LIMIT:4.0f} s"
        print(f"{f'read {each.name}, check, waves':<34} {times} {each.growth:7.1f} {plans.GROWTH:6.0f}{mark}")


if __name__ == "__main__":
    sys.exit(main())
