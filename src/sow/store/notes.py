"""Completion-drive notes: the assumptions that a worker met, in session_current.json on its desk."""

from __future__ import annotations

import os

from sow.domain import ids, note
from sow.domain.actor import WORKER, Actor
from sow.errors import SowError
from sow.store import json_text, kept, state
from sow.store.disk import make_folders
from sow.store.validators.notes import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from sow.domain.shapes import Note, NoteSession
    from sow.store.desk import Desk
    from sow.store.member_desk import MemberDesk

    AnyDesk: TypeAlias = Desk | MemberDesk


def load(desk: AnyDesk) -> NoteSession | None:
    """The current session of notes; none before the first note."""
    try:
        return parse(desk, desk.home.read(desk.notes_path))
    except FileNotFoundError:
        return None


def parse(desk: AnyDesk, text: str) -> NoteSession:
    """The notes in a text, checked against the schema."""
    shown = desk.home.relative(desk.notes_path)
    session: NoteSession = json_text.load(text, shown)
    state.check(session, shown, validate)
    return session


def listed(desk: AnyDesk) -> list[Note]:
    """The notes on this desk."""
    session = load(desk) if os.path.lexists(desk.notes_path) else None
    return session["notes"] if session else []


def listed_or_kept(desk: MemberDesk) -> list[Note]:
    """The same; where the file is broken or was taken away by hand, those of the last good copy."""
    try:
        session = load(desk) or _kept(desk)
    except SowError:
        session = _kept(desk)
    return session["notes"] if session else []


def lawful(before: NoteSession, session: NoteSession, actor: Actor, answers: Mapping[str, str] | None = None) -> bool:
    """Whether this actor, or we with these answers, could have made of a session what it is now."""
    now = {each["note_id"]: each for each in session["notes"]}
    if before["task_id"] != session["task_id"] or len(now) < len(session["notes"]):
        return False
    return all(
        note.may_become(each, now.get(each["note_id"]), actor)
        or note.is_answered(each, now.get(each["note_id"]), (answers or {}).get(each["note_id"], ""))
        for each in before["notes"]
    )


def mend(desk: MemberDesk, answers: Mapping[str, str] | None = None) -> str:
    """Judge what was written by hand since the last copy: lawful notes of the agent count, anything else is set aside.

    Says what was done, if anything. A change of our own that was cut off before its copy was kept is judged too: the
    `answers` are those that are in the history already, so they stay; what else no agent may do is taken back.
    """
    text, good = _text(desk), kept.recall(desk.home, desk.owner, kept.of_notes(desk.id))
    if text == good:
        return ""
    before, shown = _kept(desk), desk.home.relative(desk.notes_path)
    problem = f"{shown} was taken away" if text is None else f"{shown} was edited by hand against the rules"
    try:
        session = load(desk)
        actor = Actor(kind=WORKER, name=desk.id, task=desk.id)
        if session and (before is None or lawful(before, session, actor, answers)):
            save(desk, session, desk.owner)
            by_hand = before is not None and lawful(before, session, actor)
            return f"{shown} was written by hand; its notes count" if by_hand else ""
    except SowError as error:
        problem = error.message
    aside = desk.set_aside(desk.notes_path)
    if before is not None:
        save(desk, before, desk.owner)
    back = "; the last good notes are back" if before is not None else "; it is set aside"
    return f"{problem}{back}" + (f", the edited file is {aside}" if aside else "")


def mend_own(desk: Desk, actor: Actor) -> None:
    """Before a worker's act on its task: notes that it took away or closed by hand against the rules come back."""
    good = kept.recall(desk.home, desk.owner, kept.of_notes(desk.id)) if actor.is_worker else None
    text = _text(desk) if good is not None else None
    before = _kept(desk) if text != good else None
    if before is None:
        return
    try:
        session = load(desk)
        if session and lawful(before, session, actor):
            return
    except SowError:
        pass  # broken, and so of no use to anybody
    if text:
        from sow.store import aside

        aside.keep(desk.home, kept.of_notes(desk.id), text)
    save(desk, before, desk.owner)


def _text(desk: AnyDesk) -> str | None:
    """What lies there; a file that cannot be read is an empty text."""
    try:
        return desk.home.read(desk.notes_path)
    except FileNotFoundError:
        return None
    except SowError:
        return ""


def _kept(desk: AnyDesk) -> NoteSession | None:
    """The last good notes, if there is a copy that can be read."""
    text = kept.recall(desk.home, desk.owner, kept.of_notes(desk.id))
    try:
        return parse(desk, text) if text else None
    except SowError:
        return None


def unresolved(desk: AnyDesk) -> list[str]:
    """The notes that close the gate; without a file, which is the rule, `json` is never loaded."""
    return note.unresolved(listed(desk))


def save(desk: AnyDesk, session: NoteSession, owner: str) -> None:
    """Replace the file, and keep a copy."""
    shown = desk.home.relative(desk.notes_path)
    make_folders(desk.home.disk, desk.folder, ("completion_drive",))
    state.strike(desk.home, session)
    state.check(session, shown, validate)
    text = json_text.dump(session)
    desk.home.replace(desk.notes_path, text)
    kept.keep(desk.home, owner, kept.of_notes(desk.id), text)


def begin(task_id: str, epoch: int) -> NoteSession:
    """A session without notes."""
    return {"task_id": task_id, "session_start": epoch, "notes": []}


def add(
    desk: AnyDesk, session: NoteSession, owner: str, *, description: str, context: str, category: str, epoch: int
) -> Note:
    """A new open note in a session."""
    new: Note = {
        "note_id": ids.note_id(len(session["notes"])),
        "timestamp": epoch,
        "description": description,
        "context": context,
        "status": "open",
    }
    if category:
        new["category"] = category
    save(desk, {**session, "notes": [*session["notes"], new]}, owner)
    return new


def replace(desk: AnyDesk, changed: list[Note], owner: str) -> None:
    """Put the changed notes in the place of the old ones."""
    session = load(desk)
    if session is None:
        return
    by_id = {each["note_id"]: each for each in changed}
    notes = [by_id.get(each["note_id"], each) for each in session["notes"]]
    save(desk, {**session, "notes": notes}, owner)


def find(desk: AnyDesk, number: str) -> Note:
    """One note by its number: 1, 001 and note_001 are the same."""
    digits = number.removeprefix("note_")
    wanted = f"note_{int(digits):03d}" if digits.isascii() and digits.isdigit() and len(digits) < 7 else number
    for each in listed(desk):
        if each["note_id"] == wanted:
            return each
    known = ", ".join(each["note_id"] for each in listed(desk)) or "none yet"
    raise SowError(f"{desk.title} has no note {number!r}", f"the notes are: {known}")
