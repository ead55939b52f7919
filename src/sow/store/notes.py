"""Completion-drive notes: the assumptions that a worker met, in session_current.json on its desk."""

from __future__ import annotations

import os

from sow.domain import ids, note
from sow.errors import SowError
from sow.store import json_text, kept, state
from sow.store.disk import make_folders
from sow.store.validators.notes import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Note, NoteSession, Task
    from sow.store.desk import Desk


def load(desk: Desk) -> NoteSession | None:
    """The current session of notes; none before the first note."""
    try:
        return parse(desk, desk.home.read(desk.notes_path))
    except FileNotFoundError:
        return None


def parse(desk: Desk, text: str) -> NoteSession:
    """The notes in a text, checked against the schema."""
    shown = desk.home.relative(desk.notes_path)
    session: NoteSession = json_text.load(text, shown)
    state.check(session, shown, validate)
    return session


def listed(desk: Desk) -> list[Note]:
    """The notes on this desk."""
    session = load(desk) if os.path.lexists(desk.notes_path) else None
    return session["notes"] if session else []


def unresolved(desk: Desk) -> list[str]:
    """The notes that close the gate; without a file, which is the rule, `json` is never loaded."""
    return note.unresolved(listed(desk))


def save(desk: Desk, session: NoteSession, project_id: str) -> None:
    """Replace the file, and keep a copy."""
    shown = desk.home.relative(desk.notes_path)
    make_folders(desk.home.disk, desk.folder, ("completion_drive",))
    state.check(session, shown, validate)
    text = json_text.dump(session)
    desk.home.replace(desk.notes_path, text)
    kept.keep(desk.home, project_id, kept.of_notes(desk.id), text)


def add(desk: Desk, task: Task, project_id: str, *, description: str, context: str, category: str, epoch: int) -> Note:
    """A new open note."""
    session = load(desk) or {"task_id": ids.slug(task["name"], epoch), "session_start": epoch, "notes": []}
    new: Note = {
        "note_id": ids.note_id(len(session["notes"])),
        "timestamp": epoch,
        "description": description,
        "context": context,
        "status": "open",
    }
    if category:
        new["category"] = category
    save(desk, {**session, "notes": [*session["notes"], new]}, project_id)
    return new


def replace(desk: Desk, changed: list[Note], project_id: str) -> None:
    """Put the changed notes in the place of the old ones."""
    session = load(desk)
    if session is None:
        return
    by_id = {each["note_id"]: each for each in changed}
    notes = [by_id.get(each["note_id"], each) for each in session["notes"]]
    save(desk, {**session, "notes": notes}, project_id)


def find(desk: Desk, number: str) -> Note:
    """One note by its number: 1, 001 and note_001 are the same."""
    digits = number.removeprefix("note_")
    wanted = f"note_{int(digits):03d}" if digits.isascii() and digits.isdigit() and len(digits) < 7 else number
    for each in listed(desk):
        if each["note_id"] == wanted:
            return each
    known = ", ".join(each["note_id"] for each in listed(desk)) or "none yet"
    raise SowError(f"task {desk.id} has no note {number!r}", f"the notes are: {known}")
