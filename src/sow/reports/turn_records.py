"""Joins the turns of a run from its journal and from the session records, which have the cost, and adds them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from sow.domain.documents.state import Run, Session, SessionTurn
from sow.errors import SowError
from sow.reports.run_history import RunHistory, read_history
from sow.reports.run_records import TurnRecord
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
    """Returns the times in which processes of the run were alive. A turn outside them does not belong to the run."""
    if not history.processes:
        return [(epoch_of(run["started_at"]) or 0, _end(run))]
    windows: list[Window] = [
        ((epoch_of(process.first_at) or 0) - SLACK, (epoch_of(process.last_at) or 0) + SLACK)
        for process in history.processes
    ]
    if not history.processes[-1].ended:
        windows[-1] = (windows[-1][0], max(windows[-1][1], _end(run)))
    return windows


def _end(run: Run) -> float:
    return epoch_of(run["ended_at"]) or 0 if "ended_at" in run else float("inf")


def _recorded(home: Home, task: str, windows: list[Window]) -> list[TurnRecord]:
    """Returns a task's recorded turns that started while the run was alive."""
    recorded = []
    for record in sessions.records(TaskFolder(home, "", task)):
        for turn in session_turns(record):
            started = epoch_of(turn.at) or 0
            if any(first <= started <= last for first, last in windows):
                recorded.append(turn)
    return recorded


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
