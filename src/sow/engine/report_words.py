"""The words of a run's report, the same on a page and on a terminal."""

from __future__ import annotations

from sow.domain.duration import duration, span
from sow.domain.money import dollars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Facts = dict[str, Any]


SHORT = 5  # seconds


def plural(count: int, noun: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def money(facts: Facts) -> str:
    """A cost as far as it is known."""
    untold = facts["cost_unknown_turns"]
    if facts["cost_usd"] is None:
        return "unknown" if untold else "-"
    return dollars(facts["cost_usd"]) + (f" and {plural(untold, 'turn')} of unknown cost" if untold else "")


def tokens(facts: Facts) -> str:
    """Tokens as far as they are known."""
    untold = facts["tokens_unknown_turns"]
    if facts["input_tokens"] is None:
        return "unknown" if untold else "-"
    more = f" and {plural(untold, 'turn')} untold" if untold else ""
    return f"{facts['input_tokens']:,} in, {facts['output_tokens']:,} out{more}"


def called(row: Facts) -> str:
    """A task by both of its numbers."""
    return f"{row['plan_id']} ({row['id']})" if row["plan_id"] else str(row["id"])


def waits_for(row: Facts) -> str:
    """`2 (020), failed; 3 (030), waiting`."""
    return "; ".join(f"{called(each)}, {each['outcome']}" for each in row["waits_for"])


def time_of(row: Facts) -> str:
    """How long a task was worked on, against its estimate."""
    estimated = f" of {duration(row['estimated_minutes'])}" if row["estimated_minutes"] else ""
    return f"{span(row['active_seconds'])}{estimated}" if row["started_at"] or row["active_seconds"] else "-"


def noted(row: Facts) -> list[str]:
    """The concerns about a task's result, one line for each."""
    return [each["text"] for each in row["concerns"]]


def outcomes(counts: Facts) -> str:
    """`6 completed, 1 failed`."""
    words = [f"{count} {word}" for word, count in counts.items() if count and word != "total"]
    return ", ".join(words) or "no tasks"


def figures(document: Facts) -> list[tuple[str, str]]:
    """The sums of a run, each with its name."""
    total = document["totals"]
    rows = [
        ("tasks", outcomes(document["counts"])),
        ("time", _wall(total)),
        ("work", _work(total)),
        ("estimates", _estimate(total["estimate"])),
        ("cost", money(total)),
        ("tokens", tokens(total)),
        ("turns", _turns(total)),
        ("checks", _checks(total["checks"])),
        ("reviews", ", ".join(f"{count} {verdict}" for verdict, count in sorted(total["reviews"].items()))),
        ("calls", f"{document['run']['calls']}, each going on from where the last one was"),
    ]
    return [row for row in rows if row[1] and (row[0] != "calls" or document["run"]["calls"] > 1)]


def _wall(total: Facts) -> str:
    waits = [
        f"{span(total[key])} {words}"
        for key, words in (
            ("waited_for_people_seconds", "waiting for people"),
            ("waited_for_limits_seconds", "waiting for limits"),
        )
        if total[key]
    ]
    return span(total["wall_seconds"]) + (f", of that {' and '.join(waits)}" if waits else "")


def _work(total: Facts) -> str:
    pace = f": {speed(total)}" if speed(total) else ""
    untold = f", {plural(total['work_unknown_turns'], 'turn')} untold" if total["work_unknown_turns"] else ""
    return f"{span(total['work_seconds'])} of agents{untold}{pace}"


def speed(total: Facts) -> str:
    """How the run compares with its turns one after the other; of a few seconds nothing can be said."""
    factor = total["speed_up"]
    if not factor or total["busy_seconds"] < SHORT:
        return ""
    if round(factor, 1) >= 1:
        return f"{factor:.1f} times as fast as one after the other"
    return "slower than one after the other, with checks, merges and pauses between them"


def _estimate(estimate: Facts) -> str:
    if not estimate["tasks"]:
        return ""
    took, thought = duration(estimate["active_minutes"]), duration(estimate["estimated_minutes"])
    factor = f"× {estimate['factor']}" if estimate["factor"] else "less than × 0.01"
    return f"{plural(estimate['tasks'], 'task')} took {took}, thought to take {thought} ({factor})"


def _turns(total: Facts) -> str:
    words = [plural(total["turns"], "turn")]
    retries = plural(total["retries"], "retry").replace("retrys", "retries")
    words += [retries] if total["retries"] else []
    words += [
        plural(total[key], noun)
        for key, noun in (
            ("questions", "question"),
            ("limits", "limit"),
            ("merges", "merge"),
            ("conflicts", "conflict"),
        )
        if total[key]
    ]
    return ", ".join(words)


def _checks(checks: Facts) -> str:
    return f"{checks['passed']} passed, {checks['failed']} failed" if any(checks.values()) else ""
