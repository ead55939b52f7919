"""The archivist, which is code: sessions of notes that are over get a name of their own and an entry in the index."""

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
    """Give the current session its last name, and write it into the index and the log; under the lock.

    Nothing to do where there is none. It can be repeated: what a crash left half done is finished by the next call,
    and nothing is ever written over. A failure is said and logged, and the session stays as it is.
    """
    try:
        said = [_entered(desk, path) for path in _unlisted(desk)]
        session = notes.load(desk)
        if session is not None:
            kept.forget(desk.home, desk.owner, kept.of_notes(desk.id))
            target = free_name(f"{_folder(desk)}/session_{clock.stamp()}_{session['task_id']}", ".json")
            _move(desk, target)
            said.append(_entered(desk, target))
        _log_all(desk, reason)
        return said
    except SowError as error:
        _log(desk, {**_cleanup(desk, "failed", reason), "error": error.message[:2000]})
        return [f"agent {desk.id}: its session was not archived: {error.message}"]


def free_name(stem: str, ending: str = "") -> str:
    """A path that is not taken yet: the stem as it is, or with -2, -3, … behind it."""
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
    """Archived sessions of a desk that a crash kept out of the index."""
    listed = {each["file"] for each in index(desk)["archives"]}
    names = [name for name in list_folder(_folder(desk)) if name.startswith("session_") and name.endswith(".json")]
    paths = [f"{_folder(desk)}/{name}" for name in names if name != os.path.basename(desk.notes_path)]
    return [path for path in paths if _shown(desk, path) not in listed]


def _entered(desk: MemberDesk, path: str) -> str:
    """Put an archived session into the index, and say so."""
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
    known = index(desk)
    _write(desk, INDEX, {"archives": [*known["archives"], entry]}, validate_index)
    return f"agent {desk.id}: its session is archived as {desk.home.relative(path)}"


def _shown(desk: MemberDesk, path: str) -> str:
    """A path as the index has it: from orchestration/ on."""
    return desk.home.relative(path).removeprefix(f"{FOLDER}/")


def index(desk: MemberDesk) -> ArchiveIndex:
    """What was ever archived in this workflow."""
    found: ArchiveIndex = _read(desk, INDEX, validate_index) or {"archives": []}  # type: ignore[assignment]
    return found


def _log_all(desk: MemberDesk, reason: str) -> None:
    """Write into the log what is in the index: a session of now, or one that a crash kept out of it."""
    logged = {each.get("file") for each in _logged(desk)["entries"]}
    for each in index(desk)["archives"]:
        if each["agent"] == desk.id and each["file"] not in logged:
            _log(desk, {**_cleanup(desk, "archived", reason), "file": each["file"]})


def _logged(desk: MemberDesk) -> CleanupLog:
    found: CleanupLog = _read(desk, LOG, validate_log) or {"entries": []}  # type: ignore[assignment]
    return found


def _log(desk: MemberDesk, entry: Cleanup) -> None:
    _write(desk, LOG, {"entries": [*_logged(desk)["entries"], entry]}, validate_log)


def _cleanup(desk: MemberDesk, action: str, reason: str) -> Cleanup:
    source = _shown(desk, desk.notes_path)
    return {"at": clock.now(), "agent": desk.id, "action": action, "reason": reason, "source": source}


def _archivist(desk: MemberDesk) -> MemberDesk:
    return MemberDesk(desk.home, desk.owner, ARCHIVIST)


def _read(desk: MemberDesk, name: str, validate: Validate) -> dict[str, Any] | None:
    """One of the archivist's files; one that is broken is set aside, and begun anew."""
    place = _archivist(desk)
    path = f"{place.folder}/{name}"
    shown = desk.home.relative(path)
    try:
        data: dict[str, Any] = json_text.load(desk.home.read(path), shown)
        state.check(data, shown, validate)
    except FileNotFoundError:
        return None
    except SowError:
        place.set_aside(path)
        return None
    return data


def _write(desk: MemberDesk, name: str, data: dict[str, Any], validate: Validate) -> None:
    place = _archivist(desk)
    place.make_folder()
    state.check(data, name, validate)
    desk.home.replace(f"{place.folder}/{name}", json_text.dump(data))
