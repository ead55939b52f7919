"""Joins the turns of a run from its journal and from the session records, which have the cost."""

from __future__ import annotations

from contextlib import suppress

from sow.domain.entry import Entry, number
from sow.engine.call import epoch
from sow.engine.history import History, Turn
from sow.errors import SowError
from sow.store import runs, sessions
from sow.store.desk import Desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import Run, Session, SessionTurn
    from sow.store.home import Home
    from sow.store.sessions import Record

    Window = tuple[float, float]

SLACK = 2  # seconds between a journal entry and the record of the same moment


def turns(home: Home, run: Run, history: History, tasks: Iterable[str]) -> tuple[list[Turn], list[str]]:
    """Return all turns of the run, oldest first, and remarks about what could not be read."""
    journal_turns = _by_task(history.turns)
    windows = _windows(run, history)
    result: list[Turn] = []
    unmatched: list[Turn] = []
    remarks = []
    for task in tasks:
        try:
            recorded = _recorded(home, task, windows)
        except SowError as error:
            remarks.append(f"the sessions of task {task} cannot be read: {error.message}")
            recorded = []
        joined, remaining = _joined(journal_turns.get(task, []), recorded)
        result += joined
        unmatched += remaining
    result += _without(unmatched, _of_neighbours(home, run, windows)) if unmatched else []
    return sorted(result, key=lambda turn: turn.at), remarks


def _by_task(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    by_task: dict[str, list[Turn]] = {}
    for turn in turns:
        by_task.setdefault(turn.task, []).append(turn)
    return by_task


def _of_neighbours(home: Home, run: Run, windows: list[Window]) -> list[Turn]:
    """Return the turns in the journals of other runs that were alive during or right beside these windows."""
    first, last = min(window[0] for window in windows), max(window[1] for window in windows)
    result = []
    for folder in runs.listed(home):
        began, ended = epoch(folder.run["started_at"]) or 0, _end(folder.run)
        if folder.id != run["id"] and began <= last and first <= ended + SLACK:
            with suppress(SowError):  # a journal that cannot be read is skipped
                result += History(folder.journal("turn_started", "turn_ended")).turns
    return result


def _windows(run: Run, history: History) -> list[Window]:
    """Return the times in which processes of the run were alive. A turn outside them does not belong to the run."""
    if not history.calls:
        return [(epoch(run["started_at"]) or 0, _end(run))]
    windows: list[Window] = [
        ((epoch(call.first_at) or 0) - SLACK, (epoch(call.last_at) or 0) + SLACK) for call in history.calls
    ]
    if not history.calls[-1].ended:
        windows[-1] = (windows[-1][0], max(windows[-1][1], _end(run)))
    return windows


def _end(run: Run) -> float:
    return epoch(run["ended_at"]) or 0 if "ended_at" in run else float("inf")


def _recorded(home: Home, task: str, windows: list[Window]) -> list[Turn]:
    """Return a task's recorded turns that started while the run was alive."""
    recorded = []
    for record in sessions.records(Desk(home, "", task)):
        for turn in of_record(record):
            started = epoch(turn.at) or 0
            if any(first <= started <= last for first, last in windows):
                recorded.append(turn)
    return recorded


def of_record(record: Record) -> list[Turn]:
    """Return the turns of one session."""
    return [_turn(record.session, turn) for turn in record.session["turns"]]


def _turn(session: Session, turn: SessionTurn) -> Turn:
    fields = {"task": session["task"], "role": session["role"], "executor": session["executor"], "kind": turn["kind"]}
    result = Turn(Entry({**fields, "at": turn["started_at"]}), None)
    result.ended = "ended_at" in turn
    result.outcome = turn.get("outcome", "")
    result.seconds = number(turn.get("seconds"))
    result.cost = number(turn.get("cost_usd"))
    result.input_tokens = number(turn.get("input_tokens"))
    result.output_tokens = number(turn.get("output_tokens"))
    return result


def _joined(journal_turns: list[Turn], recorded: list[Turn]) -> tuple[list[Turn], list[Turn]]:
    """Return each turn once, by its record if there is one, and the records without a turn in the journal."""
    # One turn in the journal may be several records: a limit and its replacement, or a turn and its reminder.
    remaining = list(recorded)
    matched = []
    for turn in journal_turns:
        near = _nearest(remaining, turn)
        if near is not None:
            remaining.remove(near)
        matched.append(turn if near is None else _with(near, turn))
    return matched, remaining


def _without(unmatched: list[Turn], other_turns: list[Turn]) -> list[Turn]:
    """Return the records that no other run has either, because two runs can be alive within one second."""
    by_task, remaining = _by_task(other_turns), []
    for task, records in _by_task(unmatched).items():
        for turn in by_task.get(task, ()):
            near = _nearest(records, turn)
            if near is not None and _apart(near, turn) <= SLACK:
                records.remove(near)
        remaining += records
    return remaining


def _nearest(records: list[Turn], turn: Turn) -> Turn | None:
    """Return the record that most likely belongs to a turn."""
    return min(
        (record for record in records if _alike(record, turn)), key=lambda record: _apart(record, turn), default=None
    )


def _with(record: Turn, turn: Turn) -> Turn:
    """Return a record, completed with what only the journal has."""
    if not record.ended and turn.ended:
        return turn
    record.iteration = turn.iteration
    record.seconds = turn.seconds if record.seconds is None else record.seconds
    return record


def _alike(first: Turn, second: Turn) -> bool:
    return (first.role, first.executor) == (second.role, second.executor)


def _apart(first: Turn, second: Turn) -> float:
    return abs((epoch(first.at) or 0) - (epoch(second.at) or 0))
