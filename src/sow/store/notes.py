"""Reads, checks and writes completion-drive notes: the assumptions of a worker, in session_current.json."""

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
    """Reads the current session of notes; None before the first note."""
    try:
        return parse(desk, desk.home.read(desk.notes_path))
    except FileNotFoundError:
        return None


def parse(desk: AnyDesk, text: str) -> NoteSession:
    """Parses notes, and checks them against the schema."""
    shown_path = desk.home.relative(desk.notes_path)
    session: NoteSession = json_text.load(text, shown_path)
    state.check(session, shown_path, validate)
    return session


def listed(desk: AnyDesk) -> list[Note]:
    """Returns the notes of a task or agent."""
    session = load(desk) if os.path.lexists(desk.notes_path) else None
    return session["notes"] if session else []


def listed_or_kept(desk: MemberDesk) -> list[Note]:
    """Returns the notes of an agent; if the file is broken or missing, those of the backup."""
    try:
        session = load(desk) or _kept(desk)
    except SowError:
        session = _kept(desk)
    return session["notes"] if session else []


def lawful(before: NoteSession, session: NoteSession, actor: Actor, answers: Mapping[str, str] | None = None) -> bool:
    """Returns True if this actor, or sow with these answers, could have changed the session in this way."""
    current = {entry["note_id"]: entry for entry in session["notes"]}
    if before["task_id"] != session["task_id"] or len(current) < len(session["notes"]):
        return False
    return all(
        note.may_become(entry, current.get(entry["note_id"]), actor)
        or note.is_answered(entry, current.get(entry["note_id"]), (answers or {}).get(entry["note_id"], ""))
        for entry in before["notes"]
    )


def mend(desk: MemberDesk, answers: Mapping[str, str] | None = None) -> str:
    """Checks notes that differ from their backup: legal changes by the agent are kept, and other files are set aside.

    Returns a message about the result; empty if there is none. If sow crashed after a change and before its backup,
    that change is checked here too: the `answers` are already in the history, so they stay. Other changes that an
    agent may not make are undone.
    """
    text, backup = _text(desk), kept.recall(desk.home, desk.owner, kept.of_notes(desk.id))
    if text == backup:
        return ""
    before, shown_path = _kept(desk), desk.home.relative(desk.notes_path)
    problem = f"{shown_path} was taken away" if text is None else f"{shown_path} was edited by hand against the rules"
    try:
        session = load(desk)
        actor = Actor(kind=WORKER, name=desk.id, task=desk.id)
        if session and (before is None or lawful(before, session, actor, answers)):
            save(desk, session, desk.owner)
            by_hand = before is not None and lawful(before, session, actor)
            return f"{shown_path} was written by hand; its notes count" if by_hand else ""
    except SowError as error:
        problem = error.message
    aside_path = desk.set_aside(desk.notes_path)
    if before is not None:
        save(desk, before, desk.owner)
    outcome = "; the last good notes are back" if before is not None else "; it is set aside"
    return f"{problem}{outcome}" + (f", the edited file is {aside_path}" if aside_path else "")


def mend_own(desk: Desk, actor: Actor) -> None:
    """Restores notes that a worker removed or closed by hand against the rules, before it acts on its task."""
    backup = kept.recall(desk.home, desk.owner, kept.of_notes(desk.id)) if actor.is_worker else None
    text = _text(desk) if backup is not None else None
    before = _kept(desk) if text != backup else None
    if before is None:
        return
    try:
        session = load(desk)
        if session and lawful(before, session, actor):
            return
    except SowError:
        pass  # a broken file is replaced by the backup
    if text:
        from sow.store import aside

        aside.keep(desk.home, kept.of_notes(desk.id), text)
    save(desk, before, desk.owner)


def _text(desk: AnyDesk) -> str | None:
    """Returns the text of the notes file; None if it is missing, empty if it cannot be read."""
    try:
        return desk.home.read(desk.notes_path)
    except FileNotFoundError:
        return None
    except SowError:
        return ""


def _kept(desk: AnyDesk) -> NoteSession | None:
    """Returns the notes of the backup; None if it is missing or cannot be read."""
    text = kept.recall(desk.home, desk.owner, kept.of_notes(desk.id))
    try:
        return parse(desk, text) if text else None
    except SowError:
        return None


def unresolved(desk: AnyDesk) -> list[str]:
    """Returns the notes that block `done`. Without a notes file, which is usual, nothing is parsed."""
    return note.unresolved(listed(desk))


def save(desk: AnyDesk, session: NoteSession, owner: str) -> None:
    """Replaces the notes file, and writes a backup."""
    shown_path = desk.home.relative(desk.notes_path)
    make_folders(desk.home.disk, desk.folder, ("completion_drive",))
    state.strike(desk.home, session)
    state.check(session, shown_path, validate)
    text = json_text.dump(session)
    desk.home.replace(desk.notes_path, text)
    kept.keep(desk.home, owner, kept.of_notes(desk.id), text)


def begin(task_id: str, epoch: int) -> NoteSession:
    """Returns a session without notes."""
    return {"task_id": task_id, "session_start": epoch, "notes": []}


def add(
    desk: AnyDesk, session: NoteSession, owner: str, *, description: str, context: str, category: str, epoch: int
) -> Note:
    """Adds an open note to a session."""
    new_note: Note = {
        "note_id": ids.note_id(len(session["notes"])),
        "timestamp": epoch,
        "description": description,
        "context": context,
        "status": "open",
    }
    if category:
        new_note["category"] = category
    save(desk, {**session, "notes": [*session["notes"], new_note]}, owner)
    return new_note


def replace(desk: AnyDesk, changed_notes: list[Note], owner: str) -> None:
    """Replaces notes by their changed versions."""
    session = load(desk)
    if session is None:
        return
    by_id = {entry["note_id"]: entry for entry in changed_notes}
    notes = [by_id.get(entry["note_id"], entry) for entry in session["notes"]]
    save(desk, {**session, "notes": notes}, owner)


def find(desk: AnyDesk, number: str) -> Note:
    """Returns one note by its number: 1, 001 and note_001 are the same."""
    digits = number.removeprefix("note_")
    note_id = f"note_{int(digits):03d}" if digits.isascii() and digits.isdigit() and len(digits) < 7 else number
    for entry in listed(desk):
        if entry["note_id"] == note_id:
            return entry
    note_ids = ", ".join(entry["note_id"] for entry in listed(desk)) or "none yet"
    raise SowError(f"{desk.title} has no note {number!r}", f"the notes are: {note_ids}")
