"""The sums of a run's report. What an agent CLI did not tell is counted as untold, and never as zero."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from sow.engine.history import History, Turn


def seconds_of(turns: Iterable[Turn]) -> float:
    """How long agents worked, one turn after the other."""
    return round(sum(turn.seconds or 0.0 for turn in turns), 3)


def money_of(turns: Sequence[Turn]) -> dict[str, Any]:
    """Cost and tokens as far as they are known, and of how many turns they are not."""
    costs = [turn.cost for turn in turns if turn.cost is not None]
    fully = [turn for turn in turns if turn.input_tokens is not None and turn.output_tokens is not None]
    counts = [(int(turn.input_tokens or 0), int(turn.output_tokens or 0)) for turn in turns]
    told = [turn for turn in turns if turn.input_tokens is not None or turn.output_tokens is not None]
    return {
        "cost_usd": round(sum(costs), 6) if costs else None,
        "cost_unknown_turns": len(turns) - len(costs),
        "input_tokens": sum(each for each, _ in counts) if told else None,
        "output_tokens": sum(each for _, each in counts) if told else None,
        "tokens_unknown_turns": len(turns) - len(fully),
    }


def totals(history: History, rows: Sequence[dict[str, Any]], turns: Sequence[Turn]) -> dict[str, Any]:
    """The run as a whole."""
    wall = history.wall
    waited = {kind: min(each, wall) for kind, each in history.waited.items()}
    busy = max(wall - sum(waited.values()), 0.0)
    work = seconds_of(turns)
    return {
        "wall_seconds": round(wall, 3),
        "waited_for_people_seconds": round(waited["people"], 3),
        "waited_for_limits_seconds": round(waited["limits"], 3),
        "busy_seconds": round(busy, 3),
        "work_seconds": work,
        "work_unknown_turns": sum(turn.seconds is None for turn in turns),
        "check_seconds": round(history.check_seconds, 3),
        "speed_up": round(work / busy, 2) if work and busy else None,
        "estimate": _estimate(rows),
        "turns": len(turns),
        "retries": sum(row["retries"] for row in rows),
        "questions": len(history.questions),
        "limits": len(history.limits),
        "merges": sum(row["merges"] for row in rows),
        "conflicts": sum(row["conflicts"] for row in rows),
        "checks": {
            word: sum(row["checks"][word] for row in rows) + count for word, count in history.final_checks.items()
        },
        "reviews": _verdicts(rows),
        **money_of(turns),
    }


def _estimate(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How long the tasks took that were completed and had an estimate, against that."""
    judged = [row for row in rows if row["against_estimate"] is not None]
    minutes = sum(row["estimated_minutes"] for row in judged)
    active = sum(row["active_seconds"] for row in judged) / 60
    return {
        "tasks": len(judged),
        "estimated_minutes": round(minutes, 2),
        "active_minutes": round(active, 2),
        "factor": round(active / minutes, 2) if minutes else None,
    }


def _verdicts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        for each in row["reviews"]:
            found[each["verdict"]] = found.get(each["verdict"], 0) + 1
    return found


def groups(turns: Sequence[Turn], name_of: Callable[[Turn], str]) -> list[dict[str, Any]]:
    """The same sums for each agent or executor, the one that worked longest first."""
    found: dict[str, list[Turn]] = {}
    for turn in turns:
        found.setdefault(name_of(turn) or "unknown", []).append(turn)
    rows = [
        {
            "name": name,
            "tasks": len({turn.task for turn in own}),
            "turns": len(own),
            "work_seconds": seconds_of(own),
            **money_of(own),
        }
        for name, own in found.items()
    ]
    return sorted(rows, key=lambda row: (-float(str(row["work_seconds"])), str(row["name"])))
