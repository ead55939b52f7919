"""Builds the task rows of a run's report: outcome, result, time and cost of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sow.domain.documents.state import Run
from sow.domain.inbox import accept_command, with_finding
from sow.domain.task import current_concerns, shown_result
from sow.reports.run_history import RunHistory
from sow.reports.run_records import TaskRecord, TurnRecord
from sow.reports.turn_records import turn_totals, turns_by

Rows = dict[str, dict[str, Any]]
State = dict[str, Any]

OUTCOMES = ("completed", "failed", "waiting", "blocked", "running", "pending", "abandoned")
# Report outcomes by the status of a task or of a run's job.
OUTCOME_BY_STATUS = {
    "completed": "completed",
    "failed": "failed",
    "abandoned": "abandoned",
    "paused": "waiting",
    "asking": "waiting",
}
BLOCKING_OUTCOMES = ("failed", "waiting", "abandoned", "blocked")  # block the tasks that depend on them
NOT_WORK = ("review", "reminder")  # kinds of turns that judge, or belong to the turn before them
NO_WORK = ("limited", "overloaded")  # ends of turns that a limit of the model's server stopped
MAX_REASON_CHARS = 500
# The fields of a task's state that a report reads.
STATE_FIELDS = (
    "source", "name", "assigned_agent", "status", "result", "iteration", "retry_count", "reviews", "evidence",
    "depends_on", "after", "question", "questions", "review_feedback", "estimated_minutes",
    "refusals", "concerns", "waivers", "approval", "checks", "work",
    "failed_reason",
)  # fmt: skip


def rows(
    run: Run, history: RunHistory, states: Mapping[str, State], turns: Sequence[TurnRecord], *, live: bool
) -> list[dict[str, Any]]:
    """Returns one row per task, in the order of the run."""
    turns_by_task = turns_by(turns, lambda turn: turn.task)
    rows_by_id: Rows = {}
    for ident in dict.fromkeys((*run["tasks"], *history.tasks)):
        running = live and ident in history.unfinished
        rows_by_id[ident] = _row(
            ident, run, history, states.get(ident, {}), turns_by_task.get(ident, []), running=running
        )
    _find_blocked(rows_by_id, states)
    return list(rows_by_id.values())


def _row(
    ident: str, run: Run, history: RunHistory, task: State, turns: Sequence[TurnRecord], *, running: bool
) -> dict[str, Any]:
    """Returns the row of one task. Its state is empty if it is not known any more."""
    record = history.tasks.get(ident) or TaskRecord()
    seconds = round(record.active, 3)
    estimated = task.get("estimated_minutes", record.start_entry.number("estimated_minutes"))
    outcome = task_outcome(run, record, task, running=running)
    retries = _retries(record, task)
    iterations = max(record.iteration, task.get("iteration", 0) if task.get("status") != "pending" else 0)
    return {
        "id": ident,
        "plan_id": task.get("source", {}).get("id") or record.number or None,
        "name": task.get("name", record.name),
        "agent": task.get("assigned_agent", record.start_entry.text("agent")),
        "executor": _executor(turns),
        "outcome": outcome,
        "status": task.get("status"),
        "result": record.result or shown_result(task) or None,
        "iterations": iterations,  # an answered question starts an iteration too
        "tries": _tries(turns) if record.start_entry.data else retries + bool(iterations),
        "retries": retries,
        "reviews": list(record.reviews) or _reviews(run, task),
        "checks": _checks(run, record, task),
        "comments": [],
        "concerns": [{"kind": item["kind"], "text": item["text"]} for item in current_concerns(task)],  # type: ignore[arg-type]
        "refusals": [refusal for refusal in task.get("refusals", ()) if refusal["at"] >= run["started_at"]],
        "needs": list(
            dict.fromkeys((*task.get("depends_on", ()), *task.get("after", ()), *record.start_entry.texts("needs")))
        ),
        "waits_for": [],
        "question": _question(ident, history, task) if outcome == "waiting" or "question" in task else None,
        "accept": accept_command({**task, "id": ident}) if "status" in task else "",  # type: ignore[typeddict-item]
        "why": _why(record, task, outcome)[:MAX_REASON_CHARS] or None,
        "started_at": record.started_at or None,
        "ended_at": record.ended_at or None,
        "active_seconds": seconds,
        "estimated_minutes": estimated,
        "against_estimate": round(seconds / 60 / estimated, 2) if estimated and outcome == "completed" else None,
        "merges": record.merges,
        "conflicts": record.conflicts,
        **turn_totals(turns),
    }


def _why(record: TaskRecord, task: State, outcome: str) -> str:
    """Returns the reason why a task is not completed."""
    if outcome == "completed":
        return ""
    if outcome == "failed":
        return with_finding(record.reason or task.get("failed_reason", ""), task)
    return record.reason or task.get("review_feedback", "")


def task_outcome(run: Run, record: TaskRecord, task: State, *, running: bool) -> str:
    """Returns the outcome in this run. If the run has ended, the journal decides, unless a task was abandoned later."""
    if running:
        return "running"
    current = str(task.get("status", ""))
    if current == "abandoned" and record.status != "completed":
        return current
    status = record.status if record.status and (run["status"] == "ended" or not current) else current
    return OUTCOME_BY_STATUS.get(status, "pending") if status else "unknown"


def _executor(turns: Sequence[TurnRecord]) -> str | None:
    """Returns the executor that last did the work. Reviews do not count."""
    judges = {turn.role for turn in turns if turn.kind == "review"}
    names = [turn.shown_executor for turn in turns if turn.role not in judges and turn.executor]
    return names[-1] if names else None


def _tries(turns: Sequence[TurnRecord]) -> int:
    """Counts the turns of work; turns of judges have no iteration in the journal."""
    return sum(turn.iteration > 0 and turn.kind not in NOT_WORK and turn.outcome not in NO_WORK for turn in turns)


def _retries(record: TaskRecord, task: State) -> int:
    """Returns the number of retries in this run, from the task's state if there is no journal."""
    default = 0 if record.start_entry.data else task.get("retry_count", 0)
    return max(record.retries if record.retries is not None else default, record.sent_back)


def _reviews(run: Run, task: State) -> list[dict[str, Any]]:
    """Returns the reviews of this run from the task's state, used if the journal has none."""
    reviews = [review for review in task.get("reviews", ()) if review["at"] >= run["started_at"]]
    feedback = task.get("review_feedback", "")
    return [
        {key: review[key] for key in ("iteration", "verdict", "by")}
        | {"findings": len(review["findings"]), "feedback": feedback if review is reviews[-1] else ""}
        for review in reviews
    ]


def _checks(run: Run, record: TaskRecord, task: State) -> dict[str, int]:
    if record.passed_checks or record.failed_checks:
        return {"passed": record.passed_checks, "failed": record.failed_checks}
    results = [
        result
        for result in task.get("evidence", ())
        if result["at"] >= run["started_at"] and result["kind"] != "final"  # the totals count final checks
    ]
    passed = sum(result["passed"] for result in results)
    return {"passed": passed, "failed": len(results) - passed}


def _question(ident: str, history: RunHistory, task: State) -> dict[str, Any] | None:
    """Returns the open question from the task's state, or else from the journal."""
    if "question" in task:
        return {"number": task["question"]["number"], "text": task["question"]["text"]}
    questions = [item for item in history.questions if item["task"] == ident and item["answered_at"] is None]
    return {"number": questions[-1]["number"], "text": questions[-1]["text"]} if questions else None


def _find_blocked(rows_by_id: Rows, states: Mapping[str, State]) -> None:
    """Sets what each unfinished task waits for, and marks the tasks that cannot continue by themselves."""
    dependents: dict[str, list[str]] = {}
    for row in rows_by_id.values():
        for need in _needs(row, rows_by_id, states):
            dependents.setdefault(need, []).append(row["id"])
    # A task outside of this run is not worked on here. It blocks its dependents until somebody completes it.
    blocking = [
        ident
        for ident in dependents
        if (outcome := _outcome_of(ident, rows_by_id, states)) in BLOCKING_OUTCOMES
        or (outcome != "completed" and ident not in rows_by_id)
    ]
    while blocking:
        for ident in dependents.get(blocking.pop(), ()):
            if rows_by_id[ident]["outcome"] == "pending":
                rows_by_id[ident]["outcome"] = "blocked"
                blocking.append(ident)
    for row in rows_by_id.values():
        if row["outcome"] in ("blocked", "pending"):
            row["waits_for"] = _waits_for(row, rows_by_id, states)


def _waits_for(row: dict[str, Any], rows_by_id: Rows, states: Mapping[str, State]) -> list[dict[str, Any]]:
    needs = [(need, _outcome_of(need, rows_by_id, states)) for need in _needs(row, rows_by_id, states)]
    return [
        {"id": need, "plan_id": rows_by_id[need]["plan_id"] if need in rows_by_id else None, "outcome": outcome}
        for need, outcome in needs
        if outcome != "completed"
    ]


def _needs(row: dict[str, Any], rows_by_id: Rows, states: Mapping[str, State]) -> list[str]:
    """Returns what a task waits for, without abandoned tasks that only came first by the order of the plan."""
    ordered = states.get(row["id"], {}).get("after", ())
    return [
        need for need in row["needs"] if need not in ordered or _outcome_of(need, rows_by_id, states) != "abandoned"
    ]


def _outcome_of(ident: str, rows_by_id: Rows, states: Mapping[str, State]) -> str:
    if ident in rows_by_id:
        return str(rows_by_id[ident]["outcome"])
    return OUTCOME_BY_STATUS.get(states[ident]["status"], "pending") if ident in states else "failed"
