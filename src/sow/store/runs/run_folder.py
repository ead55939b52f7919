"""Stores runs: each has a folder with its state and its journal; nothing is decided from the journal."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sow.domain.documents.state import Run, RunState, Task
from sow.errors import InvalidFile, SowError, Waiting
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import IRREGULAR, system_error
from sow.store.formats import VERSION
from sow.store.validators.run import validate
from sow.system import clock

MAX_NUMBER = 10**15  # upper limit for seconds, tokens and dollars, so that their sums stay numbers


class JournalEntry:
    """A line of the journal, with one method for each type of field."""

    __slots__ = ("at", "data", "event", "t", "task")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.event = self.text("event")
        self.task = self.text("task")
        self.at = self.text("at")
        self.t = self.number("t")

    def text(self, key: str) -> str:
        """Returns a text, or an empty one."""
        value = self.data.get(key)
        return value if isinstance(value, str) else ""

    def name_or_number(self, key: str) -> str:
        """Returns a name or a number as a text."""
        value = self.data.get(key)
        return str(value) if isinstance(value, int) and number(value) is not None else self.text(key)

    def number(self, key: str) -> float | None:
        """Returns a number from zero up, or None."""
        return number(self.data.get(key))

    def count(self, key: str) -> int:
        """Returns a whole number, or 0."""
        value = self.number(key)
        return int(value) if value is not None else 0

    def texts(self, key: str) -> list[str]:
        """Returns the texts in a list."""
        value = self.data.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def entries(self, key: str) -> list[JournalEntry]:
        """Returns the mappings in a list."""
        value = self.data.get(key)
        return [JournalEntry(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def entry(self, key: str) -> JournalEntry:
        """Returns a mapping, or an empty one."""
        value = self.data.get(key)
        return JournalEntry(value if isinstance(value, dict) else {})


def number(value: object) -> float | None:
    """Returns the value if it is a number from zero up to the limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= MAX_NUMBER else None


END_EVENT = "run_ended"
EMPTY_RUN = {"run_started", END_EVENT}  # the events of a run that found nothing to do
SYNC_EVERY = 1.0  # seconds
COPY = "run"  # the name of the copy of a project's last run


class RunFolder:
    """One run: state.yaml is what it resumes from, journal.jsonl is its history."""

    def __init__(self, home: Home, folder: str, loaded: RunState) -> None:
        self.home = home
        self.folder = folder
        self.loaded = loaded
        self.synced = 0.0  # when the journal was last synced to disk

    @property
    def run(self) -> Run:
        return self.loaded["run"]

    @property
    def id(self) -> str:
        return self.run["id"]

    @property
    def journal_path(self) -> str:
        return f"{self.folder}/journal.jsonl"

    def save(self) -> None:
        """Writes the state, and keeps a backup copy that no clean-up removes."""
        self.home.folder("local", "runs", self.id)
        text = state_file.write(self.home, f"{self.folder}/state.yaml", self.loaded, validate)  # type: ignore[arg-type]
        state_file.save_backup(self.home, self.run["project_id"], COPY, text)

    def append_event(self, event: str, **facts: Any) -> dict[str, Any]:
        """Appends a line to the journal and returns its entry.

        Nothing is decided from the journal, so lines are synced together, once a second and at the end.
        """
        import json
        import time

        if not os.path.isdir(self.folder):  # a clean-up removed the folder during the run
            self.save()
        entry = {"at": clock.now(), "event": event, **facts}
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        # A file name may not be UTF-8: its odd bytes are written as JSON escapes.
        durable = event == END_EVENT or time.monotonic() > self.synced + SYNC_EVERY
        self.home.append(self.journal_path, line.encode("utf-8", "backslashreplace").decode(), durable=durable)
        self.synced = time.monotonic() if durable else self.synced
        return entry

    def journal(self, *events: str) -> Iterator[dict[str, Any]]:
        """Yields all entries, or those of some events, oldest first; skips lines that a crash tore."""

        self.home.refuse_linked(self.folder)
        if os.path.exists(self.journal_path) and not os.path.isfile(self.journal_path):
            raise InvalidFile(f"{self.journal_path} is not a regular file", IRREGULAR)
        return JournalTail(self.journal_path, events=events).read_to_end()


def _folder(home: Home) -> str:
    return f"{home.sow}/local/runs"


def folder_of(home: Home, name: str) -> str:
    """Returns the folder of a run."""
    return f"{_folder(home)}/{name}"


def names(home: Home) -> list[str]:
    """Returns the ids of all runs, oldest first, readable or not."""
    try:
        return sorted(os.listdir(_folder(home)))
    except FileNotFoundError:
        return []


def new_id() -> str:
    """Returns an id that sorts by time, also within a second."""
    import time

    moment = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment))
    return f"{stamp}-{int(moment % 1 * 0x10000):04x}"


def create(home: Home, run: Run) -> RunFolder:
    """Creates a run and writes its state."""
    folder = folder_of(home, run["id"])
    run_folder = RunFolder(home, folder, {"schema_version": VERSION, "revision": 0, "run": run})
    run_folder.save()
    return run_folder


def all_folders(home: Home) -> list[RunFolder]:
    """Returns all readable runs, oldest first."""
    run_folders = []
    for name in names(home):
        try:
            run_folders.append(load(home, name))
        except (FileNotFoundError, SowError):  # incomplete after a crash, or broken by hand: list the others
            continue
    return run_folders


def load(home: Home, name: str) -> RunFolder:
    """Loads a run by its full id."""
    folder = folder_of(home, name)
    loaded: RunState = state_file.read(home, f"{folder}/state.yaml", validate)  # type: ignore[assignment]
    return RunFolder(home, folder, loaded)


def find(home: Home, name: str) -> RunFolder:
    """The run that a person meant: its id, the beginning of it, or `last`, which is the last one that did something."""
    folders = all_folders(home)
    if not folders:
        raise SowError("there is no run here", "start one: sow run PLAN")
    if name in ("", "last"):
        return next((folder for folder in reversed(folders) if not is_empty(folder)), folders[-1])
    fitting = [folder for folder in folders if folder.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    ids = ", ".join(folder.id for folder in (fitting or folders)[-8:])
    if fitting:
        raise SowError(f"the run {name!r:.60} is ambiguous", f"it could be: {ids}")
    raise SowError(f"there is no run {name!r:.60}", f"the last runs are: {ids}")


def is_workflow_run(run: Run) -> bool:
    """Returns whether a run belongs to a workflow, by its plan."""
    return any(plan["path"].endswith("orchestration/workflow_coordination_plan.md") for plan in run["plans"])


def is_empty(folder: RunFolder) -> bool:
    """Returns whether a run ended and found nothing to do: its journal has its start and its end only."""
    if folder.run["status"] != "ended" or folder.run.get("merges"):
        return False
    events: set[object] = set()
    for entry in folder.journal():
        events.add(entry.get("event"))
        if not events <= EMPTY_RUN:
            return False
    return events == EMPTY_RUN


def has_process(folder: RunFolder) -> bool:
    """Returns whether a process executes this run now; one that executes another run, or cleans up, does not count."""
    claimant = folder.home.claim_holder("run")
    return claimant is not None and claimant.run == folder.id


def is_live(folder: RunFolder) -> bool:
    """Returns whether a run is in progress: it has not ended, and its process is alive."""
    return folder.run["status"] == "running" and has_process(folder)


def live_run(home: Home) -> RunFolder | None:
    """Returns the run in progress; there is at most one."""
    claimant = home.claim_holder("run")
    if claimant is None or claimant.run not in names(home):
        return None
    try:
        folder = load(home, claimant.run)
    except (FileNotFoundError, SowError):
        return None
    return folder if is_live(folder) else None


def unfinished_run(home: Home, project_id: str) -> RunFolder | None:
    """Returns the project's run that has not ended; the next `sow run` resumes it."""
    runs = [folder for folder in all_folders(home) if folder.run["project_id"] == project_id]
    open_runs = [folder for folder in runs if folder.run["status"] != "ended"]
    return open_runs[-1] if open_runs else None


def interrupted_run(home: Home, project_id: str) -> Run | None:
    """Returns the project's last run that did something, if it has not ended and no process executes it."""
    for name in reversed(names(home)):
        try:
            folder = load(home, name)
        except (FileNotFoundError, SowError):
            continue
        if not is_empty(folder):
            is_other = folder.run["project_id"] != project_id or folder.run["status"] == "ended"
            return None if is_other or has_process(folder) else folder.run
    return None


def refuse_undelivered(home: Home, project_id: str, tasks: Sequence[Task]) -> None:
    """Refuses if the result of the project's last run is not on the user's branch."""
    from sow.domain import inbox

    run = interrupted_run(home, project_id)
    step = inbox.delivery(run, is_open=inbox.has_open(run, tasks)) if run is not None else None
    if step is not None:
        raise Waiting(step["text"], step["command"])


def backup_copy(home: Home, project_id: str) -> RunState | None:
    """Returns the last run of a project from its backup copy."""
    text = state_file.load_backup(home, project_id, COPY)
    try:
        copy: RunState | None = state_file.parse(text, "the last run", validate) if text else None  # type: ignore[assignment]
    except SowError:  # torn, or of another version: no run to resume
        return None
    return copy


def restore(home: Home, copy: RunState) -> bool:
    """Restores the folder of a run that was removed; returns whether it was missing."""
    folder = folder_of(home, copy["run"]["id"])
    if os.path.lexists(f"{folder}/state.yaml"):
        return False
    RunFolder(home, folder, copy).save()
    return True


READ_SIZE = 1 << 20  # bytes per read: a journal that grows fast is read in pieces
MAX_LINE = 16 << 20  # bytes of one line: a longer line is not an entry of ours


class JournalTail:
    """Holds the read position in a journal. `has_more` is True if more can be read at once."""

    def __init__(self, path: str, start: int = 0, events: Sequence[str] = ()) -> None:
        """Starts at the first line at or after this byte offset; a negative offset counts from the end.

        If events are given, only their entries are returned.
        """
        self.path = path
        self.events = events
        self._markers = [f'"{event}"'.encode() for event in events]  # searched first, because parsing is slow
        self.offset = 0
        self._start = start
        self.has_more = False
        self.restarts = 0  # how many times it was read from its beginning
        self._file = (0, 0)
        self._rest = b""

    def read_new(self) -> list[dict[str, Any]] | None:
        """Returns the entries since the last call; None if there is no journal."""
        entries = self.read_new_with_offsets()
        return None if entries is None else [entry for _, entry in entries]

    def read_to_end(self) -> Iterator[dict[str, Any]]:
        """Yields the entries since the last call, until the present end of the journal."""
        while True:
            yield from self.read_new() or ()
            if not self.has_more:
                return

    def read_new_with_offsets(self) -> list[tuple[int, dict[str, Any]]] | None:
        """Returns the entries since the last call, each with the byte offset where its line ends."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise system_error("read", self.path, error) from None
        try:
            return self._entries(self._read(descriptor))
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> bytes:
        """Reads the new bytes. If the journal was truncated or replaced, reading starts again at its beginning."""
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return b""
        file_id = (info.st_dev, info.st_ino)
        if file_id != self._file or info.st_size < self.offset:
            self._file, self.offset, self._rest, self.restarts = file_id, 0, b"", self.restarts + 1
            self._skip(descriptor, info.st_size)
        data = os.pread(descriptor, READ_SIZE, self.offset)
        self.offset += len(data)
        self.has_more = self.offset < info.st_size
        return data

    def _skip(self, descriptor: int, size: int) -> None:
        """Moves to the start offset on the first read only; a journal that was replaced later is read as a whole."""
        start, self._start = self._start, 0
        position = start if start >= 0 else max(size + start, 0)
        if position:
            head = os.pread(descriptor, MAX_LINE, position - 1)  # includes the end of the line before
            self.offset = position + head.index(b"\n") if b"\n" in head else min(position - 1 + len(head), size)

    @property
    def line_start(self) -> int:
        """Returns the byte offset of the first incomplete line."""
        return self.offset - len(self._rest)

    def _entries(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        end = self.offset - len(data) - len(self._rest)
        *whole_lines, rest = (self._rest + data).split(b"\n") if data else [self._rest]
        self._rest = rest if len(rest) <= MAX_LINE else b""
        entries = []
        for line in whole_lines:
            end += len(line) + 1
            entry = self._entry(line)
            if entry is not None:
                entries.append((end, entry))
        return entries

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        """Parses one line of a journal; None for a torn line, a line that is not ours, and other events."""
        if not line or (self.events and not any(marker in line for marker in self._markers)):
            return None
        try:
            entry = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):  # torn, or not written by sow, such as 50,000 brackets
            return None
        return entry if isinstance(entry, dict) and (not self.events or entry.get("event") in self.events) else None
