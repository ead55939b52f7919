"""Archives finished sessions of notes: gives each its own file name and an entry in the index and the log."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import json_text, kept, notes, state
from sow.store.disk import failure, list_folder
from sow.store.member_desk import FOLDER, MemberDesk
from sow.store.validators.archive_index import validate as validate_index
from sow.store.validators.cleanup_log import validate as validate_log
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.view_shapes import Archive, ArchiveIndex, Cleanup, CleanupLog
    from sow.store.state import Validate

ARCHIVIST = "archival_agent"
INDEX, LOG = "archive_index.json", "cleanup_log.json"


def archive(desk: MemberDesk, *, reason: str) -> list[str]:
    """Archives the current session, if there is one; the caller holds the lock. Returns messages.

    A repeated call finishes an archival that a crash interrupted, and overwrites nothing. If it fails, the error is
    logged and returned, and the session stays as it is.
    """
    try:
        messages = [_entered(desk, path) for path in _unlisted(desk)]
        session = notes.load(desk)
        if session is not None:
            kept.forget(desk.home, desk.owner, kept.of_notes(desk.id))
            target = free_name(f"{_folder(desk)}/session_{clock.stamp()}_{session['task_id']}", ".json")
            _move(desk, target)
            messages.append(_entered(desk, target))
        _log_all(desk, reason)
        return messages
    except SowError as error:
        _log(desk, {**_cleanup(desk, "failed", reason), "error": error.message[:2000]})
        return [f"agent {desk.id}: its session was not archived: {error.message}"]


def free_name(stem: str, ending: str = "") -> str:
    """Returns a path that does not exist: the stem as it is, or with -2, -3, … appended."""
    path, number = f"{stem}{ending}", 1
    while os.path.lexists(path):
        number += 1
        path = f"{stem}-{number}{ending}"
    return path


def _folder(desk: MemberDesk) -> str:
    return os.path.dirname(desk.notes_path)


def _move(desk: MemberDesk, target: str) -> None:
    try:
        desk.home.move(desk.notes_path, target)
    except OSError as error:
        raise failure("archive", desk.notes_path, error) from None


def _unlisted(desk: MemberDesk) -> list[str]:
    """Returns the archived sessions that are not in the index because of a crash."""
    indexed_files = {entry["file"] for entry in index(desk)["archives"]}
    names = [name for name in list_folder(_folder(desk)) if name.startswith("session_") and name.endswith(".json")]
    paths = [f"{_folder(desk)}/{name}" for name in names if name != os.path.basename(desk.notes_path)]
    return [path for path in paths if _shown(desk, path) not in indexed_files]


def _entered(desk: MemberDesk, path: str) -> str:
    """Adds an archived session to the index, and returns a message."""
    import hashlib

    text = desk.home.read(path)
    session = notes.parse(desk, text)
    entry: Archive = {
        "agent": desk.id,
        "task_id": session["task_id"],
        "file": _shown(desk, path),
        "session_start": session["session_start"],
        "archived_at": clock.now(),
        "notes": len(session["notes"]),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
    }
    current_index = index(desk)
    _write(desk, INDEX, {"archives": [*current_index["archives"], entry]}, validate_index)
    return f"agent {desk.id}: its session is archived as {desk.home.relative(path)}"


def _shown(desk: MemberDesk, path: str) -> str:
    """Returns a path relative to orchestration/, as the index has it."""
    return desk.home.relative(path).removeprefix(f"{FOLDER}/")


def index(desk: MemberDesk) -> ArchiveIndex:
    """Returns the index of all sessions ever archived in this workflow."""
    archive_index: ArchiveIndex = _read(desk, INDEX, validate_index) or {"archives": []}  # type: ignore[assignment]
    return archive_index


def _log_all(desk: MemberDesk, reason: str) -> None:
    """Adds to the log the archived sessions of this agent that it does not have, even those of before a crash."""
    logged = {entry.get("file") for entry in _logged(desk)["entries"]}
    for entry in index(desk)["archives"]:
        if entry["agent"] == desk.id and entry["file"] not in logged:
            _log(desk, {**_cleanup(desk, "archived", reason), "file": entry["file"]})


def _logged(desk: MemberDesk) -> CleanupLog:
    cleanup_log: CleanupLog = _read(desk, LOG, validate_log) or {"entries": []}  # type: ignore[assignment]
    return cleanup_log


def _log(desk: MemberDesk, entry: Cleanup) -> None:
    _write(desk, LOG, {"entries": [*_logged(desk)["entries"], entry]}, validate_log)


def _cleanup(desk: MemberDesk, action: str, reason: str) -> Cleanup:
    source = _shown(desk, desk.notes_path)
    return {"at": clock.now(), "agent": desk.id, "action": action, "reason": reason, "source": source}


def _archivist(desk: MemberDesk) -> MemberDesk:
    return MemberDesk(desk.home, desk.owner, ARCHIVIST)


def _read(desk: MemberDesk, name: str, validate: Validate) -> dict[str, Any] | None:
    """Reads one of the archivist's files. A broken file is set aside, and None is returned."""
    archivist = _archivist(desk)
    path = f"{archivist.folder}/{name}"
    shown_path = desk.home.relative(path)
    try:
        data: dict[str, Any] = json_text.load(desk.home.read(path), shown_path)
        state.check(data, shown_path, validate)
    except FileNotFoundError:
        return None
    except SowError:
        archivist.set_aside(path)
        return None
    return data


def _write(desk: MemberDesk, name: str, data: dict[str, Any], validate: Validate) -> None:
    archivist = _archivist(desk)
    archivist.make_folder()
    state.check(data, name, validate)
    desk.home.replace(f"{archivist.folder}/{name}", json_text.dump(data))
