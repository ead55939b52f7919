"""The tasks of a run's report: how each ended, with what result, after how long and at what price."""

from __future__ import annotations

from sow.domain.task import concerns
from sow.engine.history import TaskHistory
from sow.engine.report_totals import money_of, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sow.domain.shapes import Run
    from sow.engine.history import History, Turn

    Rows = dict[str, dict[str, Any]]
    State = dict[str, Any]

OUTCOMES = ("completed", "failed", "blocked", "waiting", "running", "pending", "abandoned")
# Words of the task's own lifecycle, and of the run's board, as a report has them.
SETTLED = {
    "completed": "completed",
    "failed": "failed",
    "abandoned": "abandoned",
    "paused": "waiting",
    "asking": "waiting",
}
HOLDING = ("failed", "waiting", "abandoned", "blocked")  # what needs such a task goes on only when somebody acts
MOST_WORDS = 500
# What is read here of a task's state.
OF_STATE = (
    "source", "name", "assigned_agent", "status", "result", "iteration", "retry_count", "reviews", "evidence",
    "depends_on", "after", "question", "questions", "review_feedback", "estimated_minutes",
    "refusals", "concerns", "waivers",
)  # fmt: skip


def rows(
    run: Run, history: History, states: Mapping[str, State], turns: Sequence[Turn], *, live: bool
) -> list[dict[str, Any]]:
    """One document for each task, in the order of the run."""
    own: dict[str, list[Turn]] = {}
    for turn in turns:
        own.setdefault(turn.task, []).append(turn)
    found: Rows = {}
    for ident in dict.fromkeys((*run["tasks"], *history.tasks)):
        running = live and ident in history.unfinished
        found[ident] = _row(ident, run, history, states.get(ident, {}), own.get(ident, []), running=running)
    _find_blocked(found, states)
    return list(found.values())


def _row(
    ident: str, run: Run, history: History, task: State, turns: Sequence[Turn], *, running: bool
) -> dict[str, Any]:
    """One task; its state is empty where it is not known any more."""
    told = history.tasks.get(ident) or TaskHistory()
    seconds = round(told.active, 3)
    estimated = task.get("estimated_minutes", told.plan.number("estimated_minutes"))
    outcome = _outcome(run, told, task, running=running)
    retries = _retries(told, task)
    iterations = max(told.iteration, task.get("iteration", 0) if task.get("status") != "pending" else 0)
    return {
        "id": ident,
        "plan_id": task.get("source", {}).get("id") or told.plan.word("number") or None,
        "name": task.get("name", told.plan.text("name")),
        "agent": task.get("assigned_agent", told.plan.text("agent")),
        "executor": _executor(turns),
        "outcome": outcome,
        "status": task.get("status"),
        "result": told.result or task.get("result"),
        "iterations": iterations,  # an answered question begins one, too
        "tries": retries + 1 if iterations else 0,
        "retries": retries,
        "reviews": told.reviews or _reviews(run, task),
        "checks": _checks(run, told, task),
        "concerns": [{"kind": each["kind"], "text": each["text"]} for each in concerns(task)],  # type: ignore[arg-type]
        "refusals": [each for each in task.get("refusals", ()) if each["at"] >= run["started_at"]],
        "needs": list(dict.fromkeys((*task.get("depends_on", ()), *task.get("after", ()), *told.plan.texts("needs")))),
        "waits_for": [],
        "question": _question(ident, history, task) if outcome == "waiting" else None,
        "why": (told.why or task.get("review_feedback", ""))[:MOST_WORDS] or None,
        "started_at": told.started_at or None,
        "ended_at": told.ended_at or None,
        "active_seconds": seconds,
        "estimated_minutes": estimated,
        "against_estimate": round(seconds / 60 / estimated, 2) if estimated and outcome == "completed" else None,
        "merges": told.merges,
        "conflicts": told.conflicts,
        "turns": len(turns),
        "work_seconds": seconds_of(turns),
        **money_of(turns),
    }


def _outcome(run: Run, told: TaskHistory, task: State, *, running: bool) -> str:
    """What became of it in this run; of a run that has ended the journal knows, whatever was done since."""
    if running:
        return "running"
    now = str(task.get("status", ""))
    status = told.status if told.status and (run["status"] == "ended" or not now) else now
    return SETTLED.get(status, "pending") if status else "unknown"


def _executor(turns: Sequence[Turn]) -> str | None:
    """Who did the work last; a review is somebody else's."""
    judges = {turn.role for turn in turns if turn.kind == "review"}
    names = [turn.executor for turn in turns if turn.role not in judges and turn.executor]
    return names[-1] if names else None


def _retries(told: TaskHistory, task: State) -> int:
    """How often it was tried again in this run; of a run without a journal only the task's own state knows."""
    otherwise = 0 if told.plan.data else task.get("retry_count", 0)
    return max(told.retries if told.retries is not None else otherwise, told.sent_back)


def _reviews(run: Run, task: State) -> list[dict[str, Any]]:
    """What the task's own state has of reviews in this run, where the journal has none."""
    return [
        {
            "iteration": each["iteration"],
            "verdict": each["verdict"],
            "by": each["by"],
            "findings": len(each["findings"]),
        }
        for each in task.get("reviews", ())
        if each["at"] >= run["started_at"]
    ]


def _checks(run: Run, told: TaskHistory, task: State) -> dict[str, int]:
    if any(told.checks.values()):
        return dict(told.checks)
    kept = [
        each
        for each in task.get("evidence", ())
        if each["at"] >= run["started_at"] and each["kind"] != "final"  # the totals count final checks
    ]
    passed = sum(each["passed"] for each in kept)
    return {"passed": passed, "failed": len(kept) - passed}


def _question(ident: str, history: History, task: State) -> dict[str, Any] | None:
    """What it asks: the task's own state knows, else the last word of the journal that nobody answered."""
    if "question" in task:
        return {"number": task["question"]["number"], "text": task["question"]["text"]}
    asked = [each for each in history.questions if each["task"] == ident and each["answered_at"] is None]
    return {"number": asked[-1]["number"], "text": asked[-1]["text"]} if asked else None


def _find_blocked(found: Rows, states: Mapping[str, State]) -> None:
    """Say of every task that has not ended what it waits for, and whether that can still come by itself."""
    after: dict[str, list[str]] = {}
    for row in found.values():
        for each in row["needs"]:
            after.setdefault(each, []).append(row["id"])
    holding = [ident for ident in after if _standing(ident, found, states) in HOLDING]
    while holding:
        for ident in after.get(holding.pop(), ()):
            if found[ident]["outcome"] == "pending":
                found[ident]["outcome"] = "blocked"
                holding.append(ident)
    for row in found.values():
        if row["outcome"] in ("blocked", "pending"):
            row["waits_for"] = _waits_for(row, found, states)


def _waits_for(row: dict[str, Any], found: Rows, states: Mapping[str, State]) -> list[dict[str, Any]]:
    named = [(each, _standing(each, found, states)) for each in row["needs"]]
    return [
        {"id": each, "plan_id": found[each]["plan_id"] if each in found else None, "outcome": standing}
        for each, standing in named
        if standing != "completed"
    ]


def _standing(ident: str, found: Rows, states: Mapping[str, State]) -> str:
    if ident in found:
        return str(found[ident]["outcome"])
    # A task outside of this run is not worked on here: what needs it is held up until somebody completes it.
    status = states[ident]["status"] if ident in states else "failed"
    return SETTLED.get(status, "failed")
