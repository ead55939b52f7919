"""Reads, checks and writes completion-drive notes: the assumptions of a worker, in session_current.json."""

from __future__ import annotations

import os

from sow.domain import inputs, task
from sow.domain.task import WORKER, Actor
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.disk import make_folders
from sow.store.formats import json_text
from sow.store.validators.notes import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from sow.domain.documents.state import Note, NoteSession
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.workflows.folder import AgentFolder

    AnyFolder: TypeAlias = TaskFolder | AgentFolder


def load(folder: AnyFolder) -> NoteSession | None:
    """Reads the current session of notes; None before the first note."""
    try:
        return parse(folder, folder.home.read(folder.notes_path))
    except FileNotFoundError:
        return None


def parse(folder: AnyFolder, text: str) -> NoteSession:
    """Parses notes, and checks them against the schema."""
    shown_path = folder.home.relative(folder.notes_path)
    session: NoteSession = json_text.load(text, shown_path)
    state_file.check(session, shown_path, validate)
    return session


def load_notes(folder: AnyFolder) -> list[Note]:
    """Returns the notes of a task or agent."""
    session = load(folder) if os.path.lexists(folder.notes_path) else None
    return session["notes"] if session else []


def load_notes_or_backup(folder: AgentFolder) -> list[Note]:
    """Returns the notes of an agent; if the file is broken or missing, those of the backup."""
    try:
        session = load(folder) or _load_backup(folder)
    except SowError:
        session = _load_backup(folder)
    return session["notes"] if session else []


def is_legal_change(
    before: NoteSession, session: NoteSession, actor: Actor, answers: Mapping[str, str] | None = None
) -> bool:
    """Returns True if this actor, or sow with these answers, could have changed the session in this way."""
    current = {entry["note_id"]: entry for entry in session["notes"]}
    if before["task_id"] != session["task_id"] or len(current) < len(session["notes"]):
        return False
    return all(
        task.is_allowed_note_change(entry, current.get(entry["note_id"]), actor)
        or task.is_answered_note(entry, current.get(entry["note_id"]), (answers or {}).get(entry["note_id"], ""))
        for entry in before["notes"]
    )


def reconcile_member_notes(folder: AgentFolder, answers: Mapping[str, str] | None = None) -> str:
    """Checks notes that differ from their backup: legal changes by the agent are kept, and other files are set aside.

    Returns a message about the result; empty if there is none. If sow crashed after a change and before its backup,
    that change is checked here too: the `answers` are already in the history, so they stay. Other changes that an
    agent may not make are undone.
    """
    text = folder.home.read_or("", folder.notes_path)
    backup = state_file.load_backup(folder.home, folder.owner, state_file.notes_key(folder.id))
    if text == backup:
        return ""
    before, shown_path = _load_backup(folder), folder.home.relative(folder.notes_path)
    problem = f"{shown_path} was taken away" if text is None else f"{shown_path} was edited by hand against the rules"
    try:
        session = load(folder)
        actor = Actor(kind=WORKER, name=folder.id, task=folder.id)
        if session and (before is None or is_legal_change(before, session, actor, answers)):
            save(folder, session)
            by_hand = before is not None and is_legal_change(before, session, actor)
            return f"{shown_path} was written by hand; its notes count" if by_hand else ""
    except SowError as error:
        problem = error.message
    aside_path = folder.set_aside(folder.notes_path)
    if before is not None:
        save(folder, before)
    outcome = "; the last good notes are back" if before is not None else "; it is set aside"
    return f"{problem}{outcome}" + (f", the edited file is {aside_path}" if aside_path else "")


def reconcile_task_notes(folder: TaskFolder, actor: Actor) -> None:
    """Restores notes that a worker removed or closed by hand against the rules, before it acts on its task."""
    backup = (
        state_file.load_backup(folder.home, folder.owner, state_file.notes_key(folder.id)) if actor.is_worker else None
    )
    text = folder.home.read_or("", folder.notes_path) if backup is not None else None
    before = _load_backup(folder) if text != backup else None
    if before is None:
        return
    try:
        session = load(folder)
        if session and is_legal_change(before, session, actor):
            return
    except SowError:
        pass  # a broken file is replaced by the backup
    if text:
        from sow.store.files import set_aside

        set_aside.save_copy(folder.home, state_file.notes_key(folder.id), text)
    save(folder, before)


def _load_backup(folder: AnyFolder) -> NoteSession | None:
    text = state_file.load_backup(folder.home, folder.owner, state_file.notes_key(folder.id))
    try:
        return parse(folder, text) if text else None
    except SowError:
        return None


def unresolved(folder: AnyFolder) -> list[str]:
    """Returns the notes that block `done`. Without a notes file, which is usual, nothing is parsed."""
    return task.unresolved_notes(load_notes(folder))


def save(folder: AnyFolder, session: NoteSession) -> None:
    """Replaces the notes file, and writes a backup."""
    shown_path = folder.home.relative(folder.notes_path)
    make_folders(folder.home.disk, folder.folder, ("completion_drive",))
    state_file.redact(folder.home, session)
    state_file.check(session, shown_path, validate)
    text = json_text.dump(session)
    folder.home.replace(folder.notes_path, text)
    state_file.save_backup(folder.home, folder.owner, state_file.notes_key(folder.id), text)


def new_session(task_id: str, epoch: int) -> NoteSession:
    """Returns a session without notes."""
    return {"task_id": task_id, "session_start": epoch, "notes": []}


def add(folder: AnyFolder, session: NoteSession, *, description: str, context: str, category: str, epoch: int) -> Note:
    """Adds an open note to a session."""
    new_note: Note = {
        "note_id": inputs.note_id(len(session["notes"])),
        "timestamp": epoch,
        "description": description,
        "context": context,
        "status": "open",
    }
    if category:
        new_note["category"] = category
    save(folder, {**session, "notes": [*session["notes"], new_note]})
    return new_note


def replace(folder: AnyFolder, changed_notes: list[Note]) -> None:
    """Replaces notes by their changed versions."""
    session = load(folder)
    if session is None:
        return
    by_id = {entry["note_id"]: entry for entry in changed_notes}
    notes = [by_id.get(entry["note_id"], entry) for entry in session["notes"]]
    save(folder, {**session, "notes": notes})


def find(folder: AnyFolder, number: str) -> Note:
    """Returns one note by its number: 1, 001 and note_001 are the same."""
    digits = number.removeprefix("note_")
    note_id = f"note_{int(digits):03d}" if digits.isascii() and digits.isdigit() and len(digits) < 7 else number
    for entry in load_notes(folder):
        if entry["note_id"] == note_id:
            return entry
    note_ids = ", ".join(entry["note_id"] for entry in load_notes(folder)) or "none yet"
    raise SowError(f"{folder.label} has no note {number!r}", f"the notes are: {note_ids}")
