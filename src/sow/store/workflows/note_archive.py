"""Archives finished sessions of notes: gives each its own file name and an entry in the index and the log."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from sow.domain.documents.state import Archive, ArchiveIndex, Cleanup, CleanupLog
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.disk import free_path, list_folder, report_failure
from sow.store.formats import json_text
from sow.store.projects import notes
from sow.store.validators.archive_index import validate as validate_index
from sow.store.validators.cleanup_log import validate as validate_log
from sow.store.workflows.folder import FOLDER, AgentFolder
from sow.system import clock

ARCHIVIST = "archival_agent"
INDEX, LOG = "archive_index.json", "cleanup_log.json"


def archive(folder: AgentFolder, *, reason: str) -> list[str]:
    """Archives the current session, if there is one; the caller holds the lock. Returns messages.

    A repeated call finishes an archival that a crash interrupted, and overwrites nothing. If it fails, the error is
    logged and returned, and the session stays as it is.
    """
    try:
        messages = [_add_to_index(folder, path) for path in _not_in_index(folder)]
        session = notes.load(folder)
        if session is not None:
            state_file.delete_backups(folder.home, folder.owner, state_file.notes_key(folder.id))
            target = free_path(f"{_folder(folder)}/session_{clock.stamp()}_{session['task_id']}", ".json")
            with report_failure("archive", folder.notes_path):
                folder.home.move(folder.notes_path, target)
            messages.append(_add_to_index(folder, target))
        _log_all(folder, reason)
        return messages
    except SowError as error:
        _log(folder, {**_cleanup(folder, "failed", reason), "error": error.message[:2000]})
        return [f"agent {folder.id}: its session was not archived: {error.message}"]


def _folder(folder: AgentFolder) -> str:
    return os.path.dirname(folder.notes_path)


def _not_in_index(folder: AgentFolder) -> list[str]:
    """Returns the archived sessions that are not in the index because of a crash."""
    indexed_files = {entry["file"] for entry in index(folder)["archives"]}
    names = [name for name in list_folder(_folder(folder)) if name.startswith("session_") and name.endswith(".json")]
    paths = [f"{_folder(folder)}/{name}" for name in names if name != os.path.basename(folder.notes_path)]
    return [path for path in paths if _index_path(folder, path) not in indexed_files]


def _add_to_index(folder: AgentFolder, path: str) -> str:
    """Adds an archived session to the index, and returns a message."""
    text = folder.home.read(path)
    session = notes.parse(folder, text)
    entry: Archive = {
        "agent": folder.id,
        "task_id": session["task_id"],
        "file": _index_path(folder, path),
        "session_start": session["session_start"],
        "archived_at": clock.now(),
        "notes": len(session["notes"]),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
    }
    _write(folder, INDEX, {"archives": [*index(folder)["archives"], entry]}, validate_index)
    return f"agent {folder.id}: its session is archived as {folder.home.relative(path)}"


def _index_path(folder: AgentFolder, path: str) -> str:
    return folder.home.relative(path).removeprefix(f"{FOLDER}/")


def index(folder: AgentFolder) -> ArchiveIndex:
    """Returns the index of all sessions ever archived in this workflow."""
    archive_index: ArchiveIndex = _read(folder, INDEX, validate_index) or {"archives": []}  # type: ignore[assignment]
    return archive_index


def _log_all(folder: AgentFolder, reason: str) -> None:
    """Adds to the log the archived sessions of this agent that it does not have, even those of before a crash."""
    logged = {entry.get("file") for entry in _read_log(folder)["entries"]}
    for entry in index(folder)["archives"]:
        if entry["agent"] == folder.id and entry["file"] not in logged:
            _log(folder, {**_cleanup(folder, "archived", reason), "file": entry["file"]})


def _read_log(folder: AgentFolder) -> CleanupLog:
    cleanup_log: CleanupLog = _read(folder, LOG, validate_log) or {"entries": []}  # type: ignore[assignment]
    return cleanup_log


def _log(folder: AgentFolder, entry: Cleanup) -> None:
    _write(folder, LOG, {"entries": [*_read_log(folder)["entries"], entry]}, validate_log)


def _cleanup(folder: AgentFolder, action: str, reason: str) -> Cleanup:
    source = _index_path(folder, folder.notes_path)
    return {"at": clock.now(), "agent": folder.id, "action": action, "reason": reason, "source": source}


def _archivist(folder: AgentFolder) -> AgentFolder:
    return AgentFolder(folder.home, folder.owner, ARCHIVIST)


def _read(folder: AgentFolder, name: str, validate: Callable[[Any], None]) -> dict[str, Any] | None:
    """Reads one of the archivist's files. A broken file is set aside, and None is returned."""
    archivist = _archivist(folder)
    path = f"{archivist.folder}/{name}"
    shown_path = folder.home.relative(path)
    try:
        data: dict[str, Any] = json_text.load(folder.home.read(path), shown_path)
        state_file.check(data, shown_path, validate)
    except FileNotFoundError:
        return None
    except SowError:
        archivist.set_aside(path)
        return None
    return data


def _write(folder: AgentFolder, name: str, data: dict[str, Any], validate: Callable[[Any], None]) -> None:
    archivist = _archivist(folder)
    archivist.make_folder()
    state_file.check(data, name, validate)
    folder.home.replace(f"{archivist.folder}/{name}", json_text.dump(data))
