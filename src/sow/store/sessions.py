"""Stores sessions with agent CLIs: their records and transcripts, on this machine only."""

from __future__ import annotations

import os

from sow.errors import InvalidFile
from sow.store import state
from sow.store.disk import PrivateDisk, counted, failure, replace_file
from sow.store.schema import VERSION
from sow.store.validators.session import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Session, SessionState, SessionTurn, Task
    from sow.store.desk import Desk as TaskDesk
    from sow.store.member_desk import MemberDesk

    Desk = TaskDesk | MemberDesk


class Record:
    """One session's folder: record.yaml, and for each turn its prompt, its output and a readable transcript."""

    __slots__ = ("desk", "folder", "loaded")

    def __init__(self, desk: Desk, folder: str, loaded: SessionState) -> None:
        self.desk = desk
        self.folder = folder
        self.loaded = loaded

    @property
    def session(self) -> Session:
        return self.loaded["session"]

    @property
    def has_begun(self) -> bool:
        """Returns whether its last turn has not ended; recovery ends a turn that a crash left open."""
        turns = self.session["turns"]
        return bool(turns) and "ended_at" not in turns[-1]

    def file(self, turn: int, ending: str) -> str:
        """Returns the path of a turn's file: prompt, out, err, md (readable) or txt (the worker's final text)."""
        return f"{self.folder}/{_turn(turn)}.{ending}"

    def keep(self, turn: int, ending: str, text: str) -> None:
        """Writes a turn's file, readable by its owner only."""
        self._stand()
        replace_file(PrivateDisk(), self.file(turn, ending), text, durable=False)

    def files(self, turn: int) -> list[str]:
        """Returns every file that this turn may have written in the session's folder, except the record."""
        paths = [f"{folder}/{name}" for folder, _, names in os.walk(self.folder) for name in names]
        prefix = f"{self.folder}/{_turn(turn)}."
        other_prefixes = (f"{self.folder}/turn-", f"{self.folder}/record.yaml")
        return [path for path in paths if path.startswith(prefix) or not path.startswith(other_prefixes)]

    def save(self) -> None:
        """Writes the record."""
        self._stand()
        state.write(self.desk.home, f"{self.folder}/record.yaml", self.loaded, validate)  # type: ignore[arg-type]

    def _stand(self) -> None:
        """Makes the folder again if a clean-up removed it."""
        if not os.path.isdir(self.folder):
            _make_folder(self.desk, self.session["number"])

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


def _folder(desk: Desk) -> str:
    return f"{desk.home.sow}/local/sessions/{desk.id}"


def records(desk: Desk) -> list[Record]:
    """Returns all sessions of a task on this machine, oldest first."""
    try:
        names = sorted((name for name in os.listdir(_folder(desk)) if name.isdigit()), key=int)
    except FileNotFoundError:
        return []
    sessions = []
    for name in names:
        folder = f"{_folder(desk)}/{name}"
        try:
            loaded: SessionState = state.read(desk.home, f"{folder}/record.yaml", validate)  # type: ignore[assignment]
        except FileNotFoundError:  # a crash between the folder and the record: nothing was started
            continue
        sessions.append(Record(desk, folder, loaded))
    return sessions


def current(desk: Desk, session_id: str) -> Record | None:
    """Returns the record of the session that the task's state names."""
    matches = [
        record for record in records(desk) if session_id in (record.session["key"], record.session.get("session_id"))
    ]
    return matches[-1] if matches else None


def draft(desk: Desk, session: Session) -> Record:
    """Returns the record that a new session would have; writes nothing."""
    numbers = (
        [int(name) for name in os.listdir(_folder(desk)) if name.isdigit()] if os.path.isdir(_folder(desk)) else []
    )
    number = max(numbers, default=0) + 1
    loaded: SessionState = {"schema_version": VERSION, "revision": 0, "session": {**session, "number": number}}
    return Record(desk, f"{_folder(desk)}/{number}", loaded)


def create(desk: Desk, session: Session) -> Record:
    """Creates a session and writes its record."""
    record = draft(desk, session)
    _make_folder(desk, record.session["number"])
    record.save()
    return record


def _make_folder(desk: Desk, number: int) -> None:
    """Makes the folder of a session, readable by its owner only."""
    folder = desk.home.folder("local", "sessions", desk.id, str(number))
    counted(f"protect {folder}")
    try:
        os.chmod(folder, 0o700)
    except OSError as error:
        raise failure("protect", folder, error) from None


def final_text(desk: Desk, task: Task) -> str:
    """Returns the worker's last final text on a task, if it is stored."""
    for record in reversed(records(desk)):
        if record.session["role"] == task["assigned_agent"]:
            text = last_words(record)
            if text:
                return text
    return ""


def last_words(record: Record) -> str:
    """Returns the last final text of a session, if it is stored."""
    for turn in reversed(record.session["turns"]):
        try:
            return record.desk.home.read(record.file(turn["number"], "txt"))
        except (FileNotFoundError, InvalidFile):  # no final text, or something else in its place
            continue
    return ""
