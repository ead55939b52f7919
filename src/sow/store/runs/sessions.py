"""Stores sessions with agent CLIs: their records and transcripts, on this machine only."""

from __future__ import annotations

import os

from sow.errors import InvalidFile
from sow.store.files import state_file
from sow.store.files.disk import PrivateDisk, crash_counted, replace_file, report_failure
from sow.store.formats import VERSION
from sow.store.validators.session import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Session, SessionState, SessionTurn, Task
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.workflows.folder import AgentFolder

    AnyFolder = TaskFolder | AgentFolder


class SessionRecord:
    """One session's folder: record.yaml, and for each turn its prompt, its output and a readable transcript."""

    __slots__ = ("folder", "loaded", "owner_folder")

    def __init__(self, task_folder: AnyFolder, folder: str, loaded: SessionState) -> None:
        self.owner_folder = task_folder
        self.folder = folder
        self.loaded = loaded

    @property
    def session(self) -> Session:
        return self.loaded["session"]

    @property
    def has_open_turn(self) -> bool:
        """Returns whether its last turn has not ended; recovery ends a turn that a crash left open."""
        turns = self.session["turns"]
        return bool(turns) and "ended_at" not in turns[-1]

    @property
    def is_out(self) -> bool:
        """Returns whether its last turn runs on another machine, or its result was not taken over yet."""
        turn = self.session["turns"][-1] if self.has_open_turn else None
        return turn is not None and "remote" in turn and turn["kind"] != "review"

    def file(self, turn: int, ending: str) -> str:
        """Returns the path of a turn's file: prompt, out, err, md (readable) or txt (the worker's final text)."""
        return f"{self.folder}/{_turn(turn)}.{ending}"

    def write_file(self, turn: int, ending: str, text: str) -> None:
        """Writes a turn's file, readable by its owner only."""
        self._ensure_folder()
        replace_file(PrivateDisk(), self.file(turn, ending), text, durable=False)

    def files(self, turn: int) -> list[str]:
        """Returns every file that this turn may have written in the session's folder, except the record."""
        paths = [f"{folder}/{name}" for folder, _, names in os.walk(self.folder) for name in names]
        prefix = f"{self.folder}/{_turn(turn)}."
        other_prefixes = (f"{self.folder}/turn-", f"{self.folder}/record.yaml")
        return [path for path in paths if path.startswith(prefix) or not path.startswith(other_prefixes)]

    def save(self) -> None:
        """Writes the record."""
        self._ensure_folder()
        state_file.write(self.owner_folder.home, f"{self.folder}/record.yaml", self.loaded, validate)  # type: ignore[arg-type]

    def _ensure_folder(self) -> None:
        """Makes the folder again if a clean-up removed it."""
        if not os.path.isdir(self.folder):
            _make_folder(self.owner_folder, self.session["number"])

    def begin_turn(self, kind: str, iteration: int, secrets: list[str]) -> SessionTurn:
        """Starts a turn, on disk before its process starts, with the names of secrets that may get into its files."""
        turn = new_turn(len(self.session["turns"]) + 1, kind, iteration, secrets)
        self.session["turns"].append(turn)
        self.save()
        return turn


def new_turn(number: int, kind: str, iteration: int, secrets: list[str]) -> SessionTurn:
    """Returns a turn as it begins."""
    turn: SessionTurn = {
        "number": number,
        "kind": kind,
        "iteration": iteration,
        "started_at": clock.now(),
        "reason": "",
        "inferred": False,
        "redacted": 0,
    }
    if secrets:
        turn["unstruck"] = secrets
    return turn


def _turn(number: int) -> str:
    return f"turn-{number:03d}"


def _folder(folder: AnyFolder) -> str:
    return f"{folder.home.sow}/local/sessions/{folder.id}"


def records(task_folder: AnyFolder) -> list[SessionRecord]:
    """Returns all sessions of a task on this machine, oldest first."""
    try:
        names = sorted((name for name in os.listdir(_folder(task_folder)) if name.isdigit()), key=int)
    except FileNotFoundError:
        return []
    sessions = []
    for name in names:
        folder = f"{_folder(task_folder)}/{name}"
        try:
            loaded: SessionState = state_file.read(task_folder.home, f"{folder}/record.yaml", validate)  # type: ignore[assignment]
        except FileNotFoundError:  # a crash between the folder and the record: nothing was started
            continue
        sessions.append(SessionRecord(task_folder, folder, loaded))
    return sessions


def current(folder: AnyFolder, session_id: str) -> SessionRecord | None:
    """Returns the record of the session that the task's state names."""
    matches = [
        record for record in records(folder) if session_id in (record.session["key"], record.session.get("session_id"))
    ]
    return matches[-1] if matches else None


def draft(folder: AnyFolder, session: Session) -> SessionRecord:
    """Returns the record that a new session would have; writes nothing."""
    numbers = (
        [int(name) for name in os.listdir(_folder(folder)) if name.isdigit()] if os.path.isdir(_folder(folder)) else []
    )
    number = max(numbers, default=0) + 1
    loaded: SessionState = {"schema_version": VERSION, "revision": 0, "session": {**session, "number": number}}
    return SessionRecord(folder, f"{_folder(folder)}/{number}", loaded)


def create(folder: AnyFolder, session: Session) -> SessionRecord:
    """Creates a session and writes its record."""
    record = draft(folder, session)
    _make_folder(folder, record.session["number"])
    record.save()
    return record


def _make_folder(task_folder: AnyFolder, number: int) -> None:
    folder = task_folder.home.folder("local", "sessions", task_folder.id, str(number))
    crash_counted(f"protect {folder}")
    with report_failure("protect", folder):
        os.chmod(folder, 0o700)


def final_text(folder: AnyFolder, task: Task) -> str:
    """Returns the worker's last final text on a task, if it is stored."""
    for record in reversed(records(folder)):
        if record.session["role"] == task["assigned_agent"]:
            text = final_text_of(record)
            if text:
                return text
    return ""


def final_text_of(record: SessionRecord) -> str:
    """Returns the last final text of a session, if it is stored."""
    for turn in reversed(record.session["turns"]):
        try:
            return record.owner_folder.home.read(record.file(turn["number"], "txt"))
        except (FileNotFoundError, InvalidFile):  # no final text, or something else in its place
            continue
    return ""
