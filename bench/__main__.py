"""Runs all benchmarks (`make bench`), prints ratios with their limits, and exits with 1 if one is over its limit."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench import (
    channel,
    cluster,
    command_line,
    context,
    deciding,
    hosts,
    planning,
    plans,
    running,
    sinks,
    slots,
    spawning,
    ui,
    worktrees,
)
from bench.report import Report
from bench.row import Row
from bench.timing import best_times

ROUNDS = 30


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    report = measured(rounds)
    print(f"Best of {rounds}, interleaved; the ratio is to bare Python with the same synced writes.\n")
    report.show()
    return int(report.over)


def measured(rounds: int) -> Report:
    """Measures everything once."""
    with tempfile.TemporaryDirectory() as folder:
        # Each part has its own folder, so that names cannot collide. Parts that make many files come last: to create a
        # file, ext4 without a journal checks every file that was deleted nearby in the last minutes.
        parts = (Path(tempfile.mkdtemp(dir=folder)) for _ in range(5))
        spawned, runs, commands, library, dashboard = parts
        started, boxed, bare = spawning.first_instruction(spawned, rounds)
        first = Row("sow agent spawn, first instruction", started, bare, spawning.LIMIT)
        later = Row("the same in the sandbox, later by at most", boxed - started, spawning.SANDBOX, 1)
        verb = Row("a verb through the channel, without it", *channel.sent(spawned, rounds), channel.LIMIT)
        rows = run_rows(runs)
        share, megabytes = spawning.listening(spawned)
        cases = command_line.cases(commands)
        times = best_times(cases, rounds)
        rows += [*library_rows(library), *dashboard_rows(dashboard, rounds)]
    return Report(
        commands=[
            *(Row(case.name, *seconds, case.limit) for case, seconds in zip(cases, times, strict=True)),
            first,
            later,
            verb,
        ],
        listening=[Row("share", share, spawning.SHARE, 1), Row("memory", megabytes, spawning.MEGABYTES, 1, "MB")],
        deciding=[Row("slowest", deciding.slowest_decision(rounds), deciding.LIMIT, 1)],
        plans=[row for result in plans.reading(min(rounds, 3)) for row in plan_rows(result)],
        runs=rows,
    )


def run_rows(scratch: Path) -> list[Row]:
    """Measures whole runs."""
    seconds, bare, writes = running.idle_tasks(scratch)
    slept = running.sleeping(scratch)
    bound, barrier = running.crossed().bound(), running.crossed().in_waves()
    mine, plain = worktrees.per_task(scratch)
    first, reuse, checkout = slots.checkouts(scratch)
    far, near = hosts.idle_turns(scratch)
    return [
        Row(f"{running.TASKS:,} tasks, {writes:,} durable writes", seconds, bare, running.OVERHEAD),
        Row(f"{running.BOXED:,} tasks in the sandbox, without it", *running.in_sandbox(scratch), running.MAX_SANDBOX),
        Row("sleeping tasks, lower bound", slept["mixed"], running.mixed().bound(), running.MAX_OVER_BOUND),
        Row(
            "ready, as a part of waves",
            slept["ready"] / slept["waves"],
            bound / barrier,
            running.MAX_OVER_BOUND,
            "",
        ),
        Row(f"a task in a worktree, {worktrees.FILES:,} files", mine, plain, worktrees.LIMIT),
        Row(f"a clean slot, first use, {worktrees.FILES:,} files", first, checkout, slots.FIRST),
        Row("a clean slot, reuse", reuse, checkout, slots.REUSE),
        Row("sow plan new, beside its planner, at most", planning.added(scratch), planning.ADDED, 1),
        Row(f"{hosts.TASKS} turns over ssh, a local run", far, near, hosts.LOCAL),
        *cluster_rows(scratch, near),
        *share_rows("ssh", hosts.share(scratch)),
        *(
            Row(
                f"{hosts.ROUNDS * count} turns of {hosts.SLEEP} s on {count} hosts, ideal",
                *hosts.scaling(scratch, count),
                limit,
            )
            for count, limit in hosts.LINEAR.items()
        ),
        Row(f"{running.WRITERS} writers at once", running.memory(scratch), running.MEGABYTES, 1, "MB"),
    ]


def share_rows(way: str, share: hosts.Share) -> list[Row]:
    """Returns what home spends for sending and taking over a turn, in milliseconds."""
    pairs = zip(share, (hosts.PROCESS_MS, hosts.GIT_MS, hosts.CLOCK_MS), strict=True)
    names = ("home's process", "with its git", "on the clock")
    return [
        Row(f"a turn over {way}, {name}", seconds * 1000, limit, 1, "ms")
        for name, (seconds, limit) in zip(names, pairs, strict=True)
    ]


def cluster_rows(scratch: Path, near: float) -> list[Row]:
    """Measures turns over two hosts through Temporal; without it there are no rows."""
    lacks = cluster.missing()
    if lacks:
        print(f"No rows of Temporal: {lacks}.\n")
        return []
    turns, activities, share, megabytes = cluster.measured(scratch)
    return [
        Row(f"{hosts.TASKS} turns over Temporal, a local run", turns, near, hosts.LOCAL),
        Row(f"{hosts.TASKS} turns over Temporal, activities", turns, activities, cluster.ACTIVITIES),
        *share_rows("Temporal", share)[:2],
        Row("memory of a Temporal host, at most", megabytes, cluster.MEGABYTES, 1, "MB"),
    ]


def library_rows(scratch: Path) -> list[Row]:
    """Measures the choice of references from a large library, in seconds and against a plain read of its files."""
    first, again, read = context.timed(scratch)
    name = f"sow context, {context.DOCUMENTS} documents"
    return [
        Row(f"{name}, first, at most", first, context.FIRST, 1),
        Row(f"{name}, again, at most", again, context.NEXT, 1),
        Row(f"{name}, first, plain read", first, read, context.FIRST_READS),
        Row(f"{name}, again, plain read", again, read, context.NEXT_READS),
        Row(f"check {sinks.SINKS} slow sinks, one remote", *sinks.checked(scratch), sinks.LIMIT),
    ]


def dashboard_rows(scratch: Path, rounds: int) -> list[Row]:
    """Measures the dashboard; without a browser it leaves out some rows and says so."""
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


def plan_rows(reading: plans.Reading) -> list[Row]:
    """Returns the time to read a large plan, against bare Python and against a small plan."""
    name = f"read {reading.name}, check, waves"
    return [
        Row(name, reading.large, reading.bare, plans.LIMIT / reading.bare),
        Row(f"{name}, growth", reading.large, reading.small, plans.GROWTH),
    ]


if __name__ == "__main__":
    sys.exit(main())
