"""Sessions: the conversations with agent CLIs on one task, with their records and transcripts, on this machine only."""

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
        """Whether its last turn is written down and has not ended: one that a crash left so is ended by recovery."""
        turns = self.session["turns"]
        return bool(turns) and "ended_at" not in turns[-1]

    def file(self, turn: int, ending: str) -> str:
        """A file of one turn: prompt, out, err, md (readable) or txt (the worker's last words)."""
        return f"{self.folder}/{_turn(turn)}.{ending}"

    def keep(self, turn: int, ending: str, text: str) -> None:
        """Write such a file, for its owner only."""
        self._stand()
        replace_file(PrivateDisk(), self.file(turn, ending), text, durable=False)

    def files(self, turn: int) -> list[str]:
        """Every file that this turn may have written in the session's folder, but for the record."""
        found = [f"{folder}/{name}" for folder, _, names in os.walk(self.folder) for name in names]
        mine = f"{self.folder}/{_turn(turn)}."
        others = (f"{self.folder}/turn-", f"{self.folder}/record.yaml")
        return [path for path in found if path.startswith(mine) or not path.startswith(others)]

    def save(self) -> None:
        """Write the record as it is now."""
        self._stand()
        state.write(self.desk.home, f"{self.folder}/record.yaml", self.loaded, validate)  # type: ignore[arg-type]

    def _stand(self) -> None:
        """Let the folder be there: somebody may have cleaned up under us."""
        if not os.path.isdir(self.folder):
            _make_folder(self.desk, self.session["number"])

    def begin_turn(self, kind: str, iteration: int, secrets: list[str]) -> SessionTurn:
        """A new turn, on disk before its process starts, with the names of the secrets that may get into its files."""
        turn = new_turn(len(self.session["turns"]) + 1, kind, iteration, secrets)
        self.session["turns"].append(turn)
        self.save()
        return turn


def new_turn(number: int, kind: str, iteration: int, secrets: list[str]) -> SessionTurn:
    """A turn as it begins."""
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
    """All sessions of a task on this machine, oldest first."""
    try:
        names = sorted((name for name in os.listdir(_folder(desk)) if name.isdigit()), key=int)
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        folder = f"{_folder(desk)}/{name}"
        try:
            loaded: SessionState = state.read(desk.home, f"{folder}/record.yaml", validate)  # type: ignore[assignment]
        except FileNotFoundError:  # a crash between the folder and the record: nothing was started
            continue
        found.append(Record(desk, folder, loaded))
    return found


def current(desk: Desk, session_id: str) -> Record | None:
    """The record of the session that the task's state names."""
    fitting = [each for each in records(desk) if session_id in (each.session["key"], each.session.get("session_id"))]
    return fitting[-1] if fitting else None


def draft(desk: Desk, session: Session) -> Record:
    """The record that a new session would have; nothing is written."""
    numbers = (
        [int(name) for name in os.listdir(_folder(desk)) if name.isdigit()] if os.path.isdir(_folder(desk)) else []
    )
    number = max(numbers, default=0) + 1
    loaded: SessionState = {"schema_version": VERSION, "revision": 0, "session": {**session, "number": number}}
    return Record(desk, f"{_folder(desk)}/{number}", loaded)


def create(desk: Desk, session: Session) -> Record:
    """A new session, with its record on disk."""
    record = draft(desk, session)
    _make_folder(desk, record.session["number"])
    record.save()
    return record


def _make_folder(desk: Desk, number: int) -> None:
    """The folder of a session, for its owner only."""
    folder = desk.home.folder("local", "sessions", desk.id, str(number))
    counted(f"protect {folder}")
    try:
        os.chmod(folder, 0o700)
    except OSError as error:
        raise failure("protect", folder, error) from None


def final_text(desk: Desk, task: Task) -> str:
    """The last words of the worker on a task, as far as they are kept."""
    for record in reversed(records(desk)):
        if record.session["role"] == task["assigned_agent"]:
            said = last_words(record)
            if said:
                return said
    return ""


def last_words(record: Record) -> str:
    """What was said last in a session, as far as it is kept."""
    for turn in reversed(record.session["turns"]):
        try:
            return record.desk.home.read(record.file(turn["number"], "txt"))
        except (FileNotFoundError, InvalidFile):  # not said, or something else was put there
            continue
    return ""
