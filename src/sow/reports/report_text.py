"""Formats the parts of a run's report that the page and the terminal share."""

from __future__ import annotations

from typing import Any

from sow.domain.checks import refusals
from sow.domain.text.units import dollars, format_minutes, format_seconds

Facts = dict[str, Any]

SHORT = 5  # seconds


def plural(count: int, noun: str) -> str:
    """Formats a count with its noun: `1 turn`, `3 turns`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def money(facts: Facts) -> str:
    """Formats a cost, as far as it is known."""
    unknown = facts["cost_unknown_turns"]
    if facts["cost_usd"] is None:
        return "unknown" if unknown else "-"
    return dollars(facts["cost_usd"]) + (f" and {plural(unknown, 'turn')} of unknown cost" if unknown else "")


def tokens(facts: Facts) -> str:
    """Formats token counts, as far as they are known."""
    unknown = facts["tokens_unknown_turns"]
    if facts["input_tokens"] is None:
        return "unknown" if unknown else "-"
    suffix = f" and {plural(unknown, 'turn')} without usage" if unknown else ""
    return f"{facts['input_tokens']:,} in, {facts['output_tokens']:,} out{suffix}"


def task_label(row: Facts) -> str:
    """Returns a task's plan number and id."""
    return f"{row['plan_id']} ({row['id']})" if row["plan_id"] else str(row["id"])


def outcome(name: str) -> str:
    """Returns the word for a task's outcome, which is that of its status where it has one."""
    return {"waiting": "paused", "running": "in_progress", "blocked": "pending"}.get(name, name)


def result(row: Facts) -> str:
    """Returns the verdict on a task. RED without a review comes from a failed check."""
    return "check failed" if row["result"] == "RED" and not row["reviews"] else row["result"] or "-"


def run_state(run: Facts) -> str:
    """Returns the word for the state of a run."""
    return "running" if run["live"] else "paused" if run["status"] == "waiting" else str(run["status"])


def waits_for(row: Facts) -> str:
    """Formats a task's open dependencies: `2 (020), failed; 3 (030), paused`."""
    return "; ".join(f"{task_label(need)}, {outcome(need['outcome'])}" for need in row["waits_for"])


def asks(question: Facts) -> str:
    """Returns `asks question 3`; of some questions only the text is known."""
    return f"asks question {question['number']}" if question["number"] else "asks"


def time_of(row: Facts) -> str:
    """Formats how long a task was worked on, with its estimate."""
    estimated = f" (estimated {format_minutes(row['estimated_minutes'])})" if row["estimated_minutes"] else ""
    return f"{format_seconds(row['active_seconds'])}{estimated}" if row["started_at"] or row["active_seconds"] else "-"


def task_notes(row: Facts) -> list[str]:
    """Lists what a person should know about a task's result in this run.

    That is the reviewer's notes, people's comments on lines, concerns and refusals.
    """
    review = row["reviews"][-1] if row["reviews"] and row["outcome"] == "completed" else {}
    notes = [f"{review['verdict']} by {review['by']}: {review['feedback']}"] if review.get("feedback") else []
    notes = notes if review.get("verdict") != "GREEN" else []
    notes += [
        f"{comment['by']} on {comment['file']}:{comment['line']}: {comment['text']}" for comment in row["comments"]
    ]
    notes += [concern["text"] for concern in row["concerns"] if concern["kind"] != refusals.KIND]
    return [*notes, *filter(None, [refusals.summary(row["refusals"])])]


def outcomes(counts: Facts) -> str:
    """Formats counts of outcomes: `6 completed, 1 failed`."""
    by_word: dict[str, int] = {}
    for name, count in counts.items():
        if name != "total":
            by_word[outcome(name)] = by_word.get(outcome(name), 0) + count
    parts = [f"{count} {word}" for word, count in by_word.items() if count]
    return ", ".join(parts) or "no tasks"


def total_rows(document: Facts) -> list[tuple[str, str]]:
    """Returns the totals of a run, each with its name."""
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
        ("continued", continued(document["run"]["calls"])),
    ]
    return [row for row in rows if row[1]]


def continued(calls: int) -> str:
    """Returns how often a run was continued after its first call, or ""."""
    return {0: "", 1: "", 2: "once"}.get(calls, f"{calls - 1} times")


def short_totals(document: Facts) -> str:
    """Returns the outcome, time and cost of a run in one line, with the command that shows more."""
    total, run = document["totals"], document["run"]
    cost = f", cost {money(total)}" if money(total) != "-" else ""
    calls = f" in {run['calls']} calls" if run["calls"] > 1 else ""
    return f"{outcomes(document['counts'])} in {_wall(total)}{calls}{cost} (more: sow runs show {run['id']})"


def _wall(total: Facts) -> str:
    causes = {"waited_for_people_seconds": "people", "waited_for_limits_seconds": "limits"}
    waits = [f"{format_seconds(total[key])} waiting for {cause}" for key, cause in causes.items() if total[key]]
    return format_seconds(total["wall_seconds"]) + (f", of that {' and '.join(waits)}" if waits else "")


def _work(total: Facts) -> str:
    pace = f"; the run was {speed(total)}" if speed(total) else ""
    unknown = f", {plural(total['work_unknown_turns'], 'turn')} without usage" if total["work_unknown_turns"] else ""
    return f"{format_seconds(total['work_seconds'])} in all turns{unknown}{pace}"


def speed(total: Facts) -> str:
    """Compares the run with its turns one after the other. Returns "" if it took only a few seconds."""
    factor = total["speed_up"]
    if not factor or total["busy_seconds"] < SHORT:
        return ""
    if round(factor, 1) > 1:
        return f"{factor:.1f} times as fast as one agent at a time"
    return "not faster than one agent at a time"


def _estimate(estimate: Facts) -> str:
    if not estimate["tasks"]:
        return ""
    actual, expected = format_minutes(estimate["active_minutes"]), format_minutes(estimate["estimated_minutes"])
    return f"{plural(estimate['tasks'], 'task')} took {actual}; estimated {expected}"


def _turns(total: Facts) -> str:
    parts = [plural(total["turns"], "turn")]
    retries = plural(total["retries"], "retry").replace("retrys", "retries")
    parts += [retries] if total["retries"] else []
    nouns = {"questions": "question", "limits": "limit", "merges": "merge", "conflicts": "conflict"}
    parts += [plural(total[key], noun) for key, noun in nouns.items() if total[key]]
    return ", ".join(parts)


def _checks(checks: Facts) -> str:
    return f"{checks['passed']} passed, {checks['failed']} failed" if any(checks.values()) else ""
