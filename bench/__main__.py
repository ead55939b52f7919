"""`make bench`: print a table of ratios; it reports and never fails on a number."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench import command_line, plans, spawning
from bench.timing import best_times

ROUNDS = 30


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        cases = command_line.cases(Path(folder))
        times = best_times(cases, rounds)
        first, bare_start = spawning.first_instruction(Path(folder), rounds)
        share, megabytes = spawning.listening(Path(folder))
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
    print_plans(readings)
    return 0


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
