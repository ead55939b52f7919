"""After a crash of ours: what an earlier turn left running is ended, and what it left on disk is put in order."""

from __future__ import annotations

import os

from sow.engine import settle
from sow.engine.transcript import refusals_of
from sow.errors import SowError
from sow.executors.registry import adapter as find_adapter
from sow.executors.story import Story
from sow.store import sessions
from sow.store.desk import Desk
from sow.system import clock, redaction, tree
from sow.system.process import Lines
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.shapes import SessionTurn
    from sow.executors.adapter import Adapter
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk
    from sow.store.sessions import Record


def recover(desk: Desk | MemberDesk, environment: Mapping[str, str]) -> list[str]:
    """Put every session of a task in order, for one who has its claim; returns what there is to say about it."""
    records = sessions.records(desk)
    said = [said for record in records for said in _recover(record, environment)]
    if isinstance(desk, Desk):  # a workflow's state is looked at whenever it is opened
        unsettled = [record for record in records if _is_open(record)]
        said += settle.after_crash(desk, at_work=bool(unsettled))
        said += _record_refusals(desk, unsettled)
    return said


def _record_refusals(desk: Desk, unsettled: list[Record]) -> list[str]:
    """Record what was refused in a last turn that nobody settled, unless its output may still hold a secret."""
    found = []
    for record in unsettled:
        turn = record.session["turns"][-1]
        if "unstruck" not in turn:
            story = _story_of(record.file(turn["number"], "out"), find_adapter(record.session["type"]))
            found += refusals_of(record, turn, story, harmless)
    if not found:
        return []
    try:
        with desk.home.lock():
            settle.refused(desk, found, again=True)
    except SowError as error:
        return [f"the commands that were refused could not be recorded: {error.message}"]
    return []


def is_needed(desk: Desk | MemberDesk) -> bool:
    """Whether a turn on a task never ended, or nobody settled it, as far as its records tell."""
    return any(map(_is_open, sessions.records(desk)))


def _is_open(record: Record) -> bool:
    """Whether a turn never ended, or nobody looked at the state after the last one; after a judge's nobody has to."""
    turns = record.session["turns"]
    if any("ended_at" not in turn for turn in turns):
        return True
    return bool(turns) and turns[0]["kind"] != "review" and "status" not in turns[-1]


def put_in_order(home: Home, task: str, environment: Mapping[str, str]) -> list[str]:
    """The same for one who is about to end a task, or the project: nothing of an earlier turn is left behind."""
    desk = Desk(home, "", task)
    if not _has_any(desk, environment):
        return []
    with home.claim(f"task-{task}", purpose=f"puts an earlier turn on task {task} in order"):
        return recover(desk, environment)


def end_turns(desk: Desk | MemberDesk, environment: Mapping[str, str]) -> list[str]:
    """End what is left of the turns on a desk where nobody works; whoever goes on with it looks at its state."""
    if desk.home.holder(desk.id) or not _has_any(desk, environment):
        return []
    with desk.home.claim(f"task-{desk.id}", purpose=f"ends an earlier turn on {desk.title}"):
        return [said for record in sessions.records(desk) for said in _recover(record, environment)]


def _has_any(desk: Desk | MemberDesk, environment: Mapping[str, str]) -> bool:
    """Whether any turn on a desk needs it."""
    return any(_needs_it(turn, environment) for record in sessions.records(desk) for turn in record.session["turns"])


def _needs_it(turn: SessionTurn, environment: Mapping[str, str]) -> bool:
    """Whether a turn never ended, or holds a secret that can be struck out now."""
    return "ended_at" not in turn or not environment.keys().isdisjoint(turn.get("unstruck", ()))


def _recover(record: Record, environment: Mapping[str, str]) -> list[str]:
    turns = record.session["turns"]
    wanting = [turn for turn in turns if _needs_it(turn, environment)]
    if not wanting:
        return []
    unfinished = [turn for turn in wanting if "ended_at" not in turn]
    left = tree.sweep_mark(record.session["mark"]) if unfinished else 0
    for turn in unfinished:
        _end(record, turn)
    for turn in wanting:
        strike(record, turn, environment)
    record.save()
    if not unfinished:
        return []
    swept = f"; processes of it that had to be ended: {left}" if left else ""
    return [f"an earlier turn on {record.desk.title} was cut off{swept}"]


def _end(record: Record, turn: SessionTurn) -> None:
    """A turn whose end nobody saw; the session's id may be in what its CLI said."""
    if "session_id" not in record.session:
        found = _session_in(record.file(turn["number"], "out"), find_adapter(record.session["type"]))
        if found:
            record.session["session_id"] = found
    turn.update({"ended_at": clock.now(), "outcome": "lost", "reason": "sow ended before the turn did"})


def strike(record: Record, turn: SessionTurn, environment: Mapping[str, str], more: Iterable[str] = ()) -> int:
    """Strike secrets out of all that a turn wrote; one whose value is not at hand stays on the list by its name."""
    names = turn.get("unstruck", [])
    values = redaction.secrets(environment, names)
    struck = 0
    if values:
        paths = dict.fromkeys((*record.files(turn["number"]), *more))
        struck = sum(redaction.redact_file(path, values) for path in paths)
    turn["redacted"] += struck
    missing = [name for name in names if name not in environment]
    if missing:
        turn["unstruck"] = missing
    else:
        turn.pop("unstruck", None)
    return struck


def _session_in(path: str, adapter: Adapter) -> str:
    """The session's id that a CLI told in its output, read after the fact."""
    if not os.path.isfile(path):
        return ""
    lines = Lines(path)
    try:
        return next((event.session for line in lines.last() for event in adapter.read(line) if event.session), "")
    finally:
        lines.close()


def _story_of(path: str, adapter: Adapter) -> Story:
    """What a CLI told in its output, read after the fact."""
    story = Story()
    if os.path.isfile(path):
        lines = Lines(path)
        try:
            for line in lines.last():
                for event in adapter.read(line):
                    story.add(event)
        finally:
            lines.close()
    return story
