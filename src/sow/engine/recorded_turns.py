"""The turns of a run from both their sources: its journal, and the session records, which know what they cost."""

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

SLACK = 2  # seconds between an entry of the journal and the record of the same moment


def turns(home: Home, run: Run, history: History, tasks: Iterable[str]) -> tuple[list[Turn], list[str]]:
    """All turns of the run, oldest first, and what could not be read."""
    told = _by_task(history.turns)
    windows = _windows(run, history)
    found: list[Turn] = []
    untold: list[Turn] = []
    remarks = []
    for task in tasks:
        try:
            recorded = _recorded(home, task, windows)
        except SowError as error:
            remarks.append(f"the sessions of task {task} cannot be read: {error.message}")
            recorded = []
        joined, left = _joined(told.get(task, []), recorded)
        found += joined
        untold += left
    found += _without(untold, _of_neighbours(home, run, windows)) if untold else []
    return sorted(found, key=lambda turn: turn.at), remarks


def _by_task(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {}
    for turn in turns:
        found.setdefault(turn.task, []).append(turn)
    return found


def _of_neighbours(home: Home, run: Run, windows: list[Window]) -> list[Turn]:
    """The turns that the journals of other runs tell of, of runs that were alive in or right beside these windows."""
    first, last = min(window[0] for window in windows), max(window[1] for window in windows)
    found = []
    for other in runs.listed(home):
        began, ended = epoch(other.run["started_at"]) or 0, _end(other.run)
        if other.id != run["id"] and began <= last and first <= ended + SLACK:
            with suppress(SowError):  # a journal that cannot be read claims nothing
                found += History(other.journal("turn_started", "turn_ended")).turns
    return found


def _windows(run: Run, history: History) -> list[Window]:
    """When the calls of the run were alive: a turn outside of these was taken by somebody else."""
    if not history.calls:
        return [(epoch(run["started_at"]) or 0, _end(run))]
    found: list[Window] = [
        ((epoch(call.first_at) or 0) - SLACK, (epoch(call.last_at) or 0) + SLACK) for call in history.calls
    ]
    if not history.calls[-1].ended:
        found[-1] = (found[-1][0], max(found[-1][1], _end(run)))
    return found


def _end(run: Run) -> float:
    return epoch(run["ended_at"]) or 0 if "ended_at" in run else float("inf")


def _recorded(home: Home, task: str, windows: list[Window]) -> list[Turn]:
    """The turns of a task that were taken while the run was alive."""
    found = []
    for record in sessions.records(Desk(home, "", task)):
        for turn in of_record(record):
            started = epoch(turn.at) or 0
            if any(first <= started <= last for first, last in windows):
                found.append(turn)
    return found


def of_record(record: Record) -> list[Turn]:
    """The turns of one session."""
    return [_turn(record.session, each) for each in record.session["turns"]]


def _turn(session: Session, turn: SessionTurn) -> Turn:
    facts = {"task": session["task"], "role": session["role"], "executor": session["executor"], "kind": turn["kind"]}
    made = Turn(Entry({**facts, "at": turn["started_at"]}), None)
    made.ended = "ended_at" in turn
    made.outcome = turn.get("outcome", "")
    made.seconds = number(turn.get("seconds"))
    made.cost = number(turn.get("cost_usd"))
    made.input_tokens = number(turn.get("input_tokens"))
    made.output_tokens = number(turn.get("output_tokens"))
    return made


def _joined(told: list[Turn], recorded: list[Turn]) -> tuple[list[Turn], list[Turn]]:
    """Each turn once, by its record where there is one; and the records of which the journal does not tell."""
    # What the journal has as one may have been several: a limit and who took over, a turn and its reminder.
    left = list(recorded)
    found = []
    for turn in told:
        near = _nearest(left, turn)
        if near is not None:
            left.remove(near)
        found.append(turn if near is None else _with(near, turn))
    return found, left


def _without(untold: list[Turn], others: list[Turn]) -> list[Turn]:
    """The records of which no other run tells either: two runs can be alive within one second."""
    theirs, left = _by_task(others), []
    for task, records in _by_task(untold).items():
        for turn in theirs.get(task, ()):
            near = _nearest(records, turn)
            if near is not None and _apart(near, turn) <= SLACK:
                records.remove(near)
        left += records
    return left


def _nearest(records: list[Turn], turn: Turn) -> Turn | None:
    """The record that is most likely the one of a turn."""
    return min((each for each in records if _alike(each, turn)), key=lambda each: _apart(each, turn), default=None)


def _with(record: Turn, turn: Turn) -> Turn:
    """A record, with what only the journal knows of its turn."""
    if not record.ended and turn.ended:
        return turn
    record.iteration = turn.iteration
    record.seconds = turn.seconds if record.seconds is None else record.seconds
    return record


def _alike(one: Turn, other: Turn) -> bool:
    return (one.role, one.executor) == (other.role, other.executor)


def _apart(one: Turn, other: Turn) -> float:
    return abs((epoch(one.at) or 0) - (epoch(other.at) or 0))
