"""Builds the task rows of a run's report: the outcome, result, time and cost of each task and of its turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sow.domain.documents.state import Run, Session, SessionTurn
from sow.domain.inbox import accept_command, with_finding
from sow.domain.task import current_concerns, shown_result
from sow.errors import SowError
from sow.reports.run_history import RunHistory, read_history
from sow.reports.run_records import TaskRecord, TurnRecord
from sow.store.files.checkout_home import Home
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import JournalEntry
from sow.store.runs.sessions import SessionRecord
from sow.system.clock import epoch_of

Window = tuple[float, float]

SLACK = 2  # seconds between a journal entry and the record of the same moment


def turns(home: Home, run: Run, history: RunHistory, tasks: Iterable[str]) -> tuple[list[TurnRecord], list[str]]:
    """Returns all turns of the run, oldest first, and remarks about what could not be read."""
    journal_turns = turns_by(history.turns, lambda turn: turn.task)
    windows = _windows(run, history)
    result: list[TurnRecord] = []
    unmatched: list[TurnRecord] = []
    remarks = []
    for task in tasks:
        try:
            recorded = _recorded(home, task, windows)
        except SowError as error:
            remarks.append(f"the sessions of task {task} cannot be read: {error.message}")
            recorded = []
        joined, remaining = _match_turns(journal_turns.get(task, []), recorded)
        result += joined
        unmatched += remaining
    result += _drop_foreign(unmatched, _turns_of_other_runs(home, run, windows)) if unmatched else []
    return sorted(result, key=lambda turn: turn.at), remarks


def _turns_of_other_runs(home: Home, run: Run, windows: list[Window]) -> list[TurnRecord]:
    """Returns the turns in the journals of other runs that were alive during or right beside these windows."""
    first, last = min(window[0] for window in windows), max(window[1] for window in windows)
    result = []
    for folder in run_folder.all_folders(home):
        began, ended = epoch_of(folder.run["started_at"]) or 0, _end(folder.run)
        if folder.id != run["id"] and began <= last and first <= ended + SLACK:
            with suppress(SowError):  # a journal that cannot be read is skipped
                result += read_history(folder, "turn_started", "turn_ended").turns
    return result


def _windows(run: Run, history: RunHistory) -> list[Window]:
    """Returns the times in which turns of the run can have started. Its processes were alive then."""
    if not history.processes:
        return [(epoch_of(run["started_at"]) or 0, _end(run))]
    windows: list[Window] = [
        (epoch_of(process.first_at) or 0, (epoch_of(process.last_at) or 0) + SLACK) for process in history.processes
    ]
    if not history.processes[-1].ended:
        windows[-1] = (windows[-1][0], max(windows[-1][1], _end(run)))
    return windows


def _end(run: Run) -> float:
    return epoch_of(run["ended_at"]) or 0 if "ended_at" in run else float("inf")


def _recorded(home: Home, task: str, windows: list[Window]) -> list[TurnRecord]:
    """Returns a task's recorded turns that started while the run was alive."""
    return [
        _turn(record.session, turn)
        for record in sessions.records(TaskFolder(home, "", task))
        for turn in record.session["turns"]
        if any(_is_in(turn, window) for window in windows)
    ]


def _is_in(turn: SessionTurn, window: Window) -> bool:
    """Tells whether a turn started in a window. One that a person started ended before the run began its first."""
    started, ended = (epoch_of(turn[key]) or 0 if key in turn else float("inf") for key in ("started_at", "ended_at"))
    by_hand = turn["kind"] in ("spawn", "resume") and ended <= window[0]
    return window[0] <= started <= window[1] and not by_hand


def session_turns(record: SessionRecord) -> list[TurnRecord]:
    """Returns the turns of one session."""
    return [_turn(record.session, turn) for turn in record.session["turns"]]


def _turn(session: Session, turn: SessionTurn) -> TurnRecord:
    fields = {"task": session["task"], "role": session["role"], "executor": session["executor"], "kind": turn["kind"]}
    result = TurnRecord(JournalEntry({**fields, "at": turn["started_at"]}), None)
    result.end(JournalEntry(turn), 0.0)
    result.ended = "ended_at" in turn
    result.host = session.get("host", "")
    return result


def _match_turns(
    journal_turns: list[TurnRecord], recorded: list[TurnRecord]
) -> tuple[list[TurnRecord], list[TurnRecord]]:
    """Returns each turn once, by its record if there is one, and the records without a turn in the journal."""
    # One turn in the journal may be several records: a limit and its replacement, or a turn and its reminder.
    remaining = list(recorded)
    matched = []
    for turn in journal_turns:
        near = _nearest(remaining, turn)
        if near is not None:
            remaining.remove(near)
        matched.append(turn if near is None else _completed_record(near, turn))
    return matched, remaining


def _drop_foreign(unmatched: list[TurnRecord], other_turns: list[TurnRecord]) -> list[TurnRecord]:
    """Returns the records that no other run has either, because two runs can be alive within one second."""
    by_task, remaining = turns_by(other_turns, lambda turn: turn.task), []
    for task, records in turns_by(unmatched, lambda turn: turn.task).items():
        for turn in by_task.get(task, ()):
            near = _nearest(records, turn)
            if near is not None and _seconds_between(near, turn) <= SLACK:
                records.remove(near)
        remaining += records
    return remaining


def _nearest(records: list[TurnRecord], turn: TurnRecord) -> TurnRecord | None:
    of_agent = [record for record in records if (record.role, record.executor) == (turn.role, turn.executor)]
    return min(of_agent, key=lambda record: _seconds_between(record, turn), default=None)


def _completed_record(record: TurnRecord, turn: TurnRecord) -> TurnRecord:
    """Returns a record, completed with what only the journal has."""
    if not record.ended and turn.ended:
        return turn
    record.iteration = turn.iteration
    record.seconds = turn.seconds if record.seconds is None else record.seconds
    return record


def _seconds_between(first: TurnRecord, second: TurnRecord) -> float:
    return abs((epoch_of(first.at) or 0) - (epoch_of(second.at) or 0))


def seconds_of(turns: Iterable[TurnRecord]) -> float:
    """Returns the total duration of some turns."""
    return round(sum(turn.seconds or 0.0 for turn in turns), 3)


def cost_and_tokens(turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Returns the known cost and tokens, and the number of turns for which they are unknown."""
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
    """Returns the number of some turns, with their total work, cost and tokens."""
    return {"turns": len(turns), "work_seconds": seconds_of(turns), **cost_and_tokens(turns)}


def totals(history: RunHistory, rows: Sequence[dict[str, Any]], turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Returns the totals of the whole run."""
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
    """Compares the completed tasks that had an estimate with their estimates."""
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
    return dict(Counter(review["verdict"] for row in rows for review in row["reviews"]))


def turns_by(turns: Iterable[TurnRecord], name_of: Callable[[TurnRecord], str]) -> dict[str, list[TurnRecord]]:
    """Groups turns by a name, such as that of their task."""
    groups: dict[str, list[TurnRecord]] = {}
    for turn in turns:
        groups.setdefault(name_of(turn) or "unknown", []).append(turn)
    return groups


def group_totals(turns: Sequence[TurnRecord], name_of: Callable[[TurnRecord], str]) -> list[dict[str, Any]]:
    """Returns the same totals for each agent or executor, longest work first."""
    rows = [
        {"name": name, "tasks": len({turn.task for turn in group}), **turn_totals(group)}
        for name, group in turns_by(turns, name_of).items()
    ]
    return sorted(rows, key=lambda row: (-float(str(row["work_seconds"])), str(row["name"])))


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
