"""Estimates how long a plan takes with different numbers of workers (`sow plan simulate`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.plans import load
from sow.domain.plans import graph
from sow.domain.text.units import cut_to, format_minutes
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.errors import SowError
from sow.system.terminal import columns, escape_line, out

Slots = list[tuple[float, str, float]]

MOST = 1000
USUAL = 3
MOST_ROWS = 40


def _parse_concurrency(text: str) -> int:
    """Returns the value of --max-concurrency."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST):
        raise SowError(
            f"--max-concurrency: {text!r:.40} is not a number from 1 to {MOST}", "write: --max-concurrency 4"
        )
    return int(text)


def simulate(
    context: Context, *, plan: list[str], max_concurrency: str, schedule: str, json: bool, **options: object
) -> int:
    count = _parse_concurrency(max_concurrency) if max_concurrency else 0
    reading = load.load_valid(context, plan, **options)
    return _simulate(reading, count, schedule, json=json) if reading else load.BAD_PLAN


def _simulate(reading: LoadedPlan, concurrency: int, schedule: str, *, json: bool) -> int:
    """Prints the duration for each number of workers, and the timeline for the chosen one."""
    plan = reading.plan
    needs = plan.needs()
    expected = reading.expected()
    minutes = {task: estimate.minutes for task, estimate in expected.items()}
    play = graph.schedule if schedule == "ready" else graph.schedule_in_waves
    chosen = concurrency or plan.max_concurrency or USUAL
    slots = play(needs, minutes, workers=chosen)
    lengths = {
        workers: _length(play(needs, minutes, workers=workers))
        for workers in _counts(chosen, max((len(wave) for wave in graph.waves(needs)), default=1))
    }
    if json:
        return emit(
            {
                "name": plan.name,
                "schedule": schedule,
                "max_concurrency": chosen,
                "minutes": round(_length(slots), 2),
                "lower_bound": round(graph.lower_bound(needs, minutes, chosen), 2),
                "by_concurrency": [
                    {"max_concurrency": workers, "minutes": round(length, 2)} for workers, length in lengths.items()
                ],
                "tasks": [
                    {"id": task, "start": round(start, 2), "end": round(end, 2), "from": expected[task].origin}
                    for start, task, end in slots
                ],
            }
        )
    origins = sorted({estimate.origin for estimate in expected.values() if estimate.minutes})
    work = format_minutes(sum(minutes.values()))
    out(escape_line(f"{plan.name}: {len(plan.tasks)} tasks, {work} of work, from: {', '.join(origins) or 'nothing'}"))
    out("")
    _bars(lengths)
    out("")
    out(f"with {chosen} at once:")
    _timeline(slots, {task.id: task.name for task in plan.tasks})
    return 0


def _counts(chosen: int, widest: int) -> Sequence[int]:
    """Returns the numbers of workers to show: 1 to 8, then doubled, up to the widest wave."""
    counts = [number for number in (*range(1, 9), 16, 32, 64, 128, 256, 512, MOST) if number <= widest] or [1]
    return sorted({*counts, chosen})


def _length(slots: Slots) -> float:
    return max((end for _, _, end in slots), default=0.0)


def _letter() -> str:
    return "█" if sys.stdout.encoding.lower() == "utf-8" else "#"


def _bars(lengths: Mapping[int, float]) -> None:
    """Prints one bar for each number of workers."""
    longest = max(lengths.values()) or 1.0
    room = max(columns() - 32, 10)
    serial = lengths.get(1, longest)
    out("AT ONCE  TIME      FASTER")
    for workers, length in lengths.items():
        faster = f"{serial / length:.1f}×" if length else "-"
        bar = _letter() * max(round(length / longest * room), 1 if length else 0)
        out(f"{workers:<7}  {format_minutes(length):<8}  {faster:<6}  {bar}".rstrip())


def _timeline(slots: Slots, names: Mapping[str, str]) -> None:
    """Prints when each task runs."""
    length = _length(slots) or 1.0
    shown = sorted(slots)[:MOST_ROWS]
    width = min(max((len(task) for _, task, _ in shown), default=1), 20)
    room = max(columns() - width - 36, 10)
    for start, task, end in shown:
        begin = round(start / length * room)
        bar = " " * begin + _letter() * max(round(end / length * room) - begin, 1)
        name = cut_to(30, escape_line(names[task]))
        out(f"  {escape_line(task):<{width}}  {name:<30}  {bar}")
    if len(slots) > len(shown):
        out(f"  … and {len(slots) - len(shown)} more")
