"""Adds up the totals of a run's report. Values that an agent CLI did not report count as unknown, never as zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sow.reports.run_history import RunHistory, TurnRecord


def seconds_of(turns: Iterable[TurnRecord]) -> float:
    """Return the total duration of some turns."""
    return round(sum(turn.seconds or 0.0 for turn in turns), 3)


def cost_and_tokens(turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Return the known cost and tokens, and the number of turns for which they are unknown."""
    costs = [turn.cost for turn in turns if turn.cost is not None]
    complete = [turn for turn in turns if turn.input_tokens is not None and turn.output_tokens is not None]
    counts = [(int(turn.input_tokens or 0), int(turn.output_tokens or 0)) for turn in turns]
    reported = [turn for turn in turns if turn.input_tokens is not None or turn.output_tokens is not None]
    return {
        "cost_usd": round(sum(costs), 6) if costs else None,
        "cost_unknown_turns": len(turns) - len(costs),
        "input_tokens": sum(count for count, _ in counts) if reported else None,
        "output_tokens": sum(count for _, count in counts) if reported else None,
        "tokens_unknown_turns": len(turns) - len(complete),
    }


def turn_totals(turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Return the number of some turns, with their total work, cost and tokens."""
    return {"turns": len(turns), "work_seconds": seconds_of(turns), **cost_and_tokens(turns)}


def totals(history: RunHistory, rows: Sequence[dict[str, Any]], turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Return the totals of the whole run."""
    wall = history.wall
    waited = {kind: min(seconds, wall) for kind, seconds in history.waited.items()}
    busy = max(wall - sum(waited.values()), 0.0)
    of_turns = turn_totals(turns)
    work = of_turns["work_seconds"]
    return {
        **of_turns,
        "wall_seconds": round(wall, 3),
        "waited_for_people_seconds": round(waited["people"], 3),
        "waited_for_limits_seconds": round(waited["limits"], 3),
        "busy_seconds": round(busy, 3),
        "work_unknown_turns": sum(turn.seconds is None for turn in turns),
        "check_seconds": round(history.check_seconds, 3),
        "speed_up": round(work / busy, 2) if work and busy else None,
        "estimate": _estimate(rows),
        "retries": sum(row["retries"] for row in rows),
        "questions": len(history.questions),
        "limits": len(history.limits),
        "merges": sum(row["merges"] for row in rows),
        "conflicts": sum(row["conflicts"] for row in rows),
        "checks": {
            result: sum(row["checks"][result] for row in rows) + count for result, count in history.final_checks.items()
        },
        "reviews": _verdicts(rows),
    }


def _estimate(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare the completed tasks that had an estimate with their estimates."""
    estimated = [row for row in rows if row["against_estimate"] is not None]
    minutes = sum(row["estimated_minutes"] for row in estimated)
    active = sum(row["active_seconds"] for row in estimated) / 60
    return {
        "tasks": len(estimated),
        "estimated_minutes": round(minutes, 2),
        "active_minutes": round(active, 2),
        "factor": round(active / minutes, 2) if minutes else None,
    }


def _verdicts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        for review in row["reviews"]:
            counts[review["verdict"]] = counts.get(review["verdict"], 0) + 1
    return counts


def turns_by(turns: Iterable[TurnRecord], name_of: Callable[[TurnRecord], str]) -> dict[str, list[TurnRecord]]:
    """Group turns by a name, such as that of their task."""
    groups: dict[str, list[TurnRecord]] = {}
    for turn in turns:
        groups.setdefault(name_of(turn) or "unknown", []).append(turn)
    return groups


def group_totals(turns: Sequence[TurnRecord], name_of: Callable[[TurnRecord], str]) -> list[dict[str, Any]]:
    """Return the same totals for each agent or executor, longest work first."""
    rows = [
        {"name": name, "tasks": len({turn.task for turn in group}), **turn_totals(group)}
        for name, group in turns_by(turns, name_of).items()
    ]
    return sorted(rows, key=lambda row: (-float(str(row["work_seconds"])), str(row["name"])))
