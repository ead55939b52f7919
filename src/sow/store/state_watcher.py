"""Watches state files; reads a file again only if its stat data changed."""

from __future__ import annotations

import os
import time
from weakref import WeakSet

from sow.domain.ids import is_task_id
from sow.errors import SowError
from sow.store.files import backup
from sow.store.files.disk import list_folder
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from sow.domain.documents.state import ProjectState
    from sow.store.files.checkout_home import Home
    from sow.store.snapshot import Snapshot

    Stamp = tuple[int, int, int, int]

    class WatchingTurn(Protocol):
        """A turn that has begun and checks the state files again at its end."""

        ended_at: float


UNREADABLE = "\0"  # the text of a file that exists but cannot be read; equal to itself, and never restored
NO_COPY = (0, 0)
SECOND = 1_000_000_000
FRESH = 1.0  # seconds
NEVER = float("inf")
SCAN_INTERVAL_FACTOR = 20  # scans take at most 1/20 of the time
STEP = SECOND // 10  # file system clocks tick in steps: two changes within one step can leave the same stamp


class WatchedFile:
    """One state file: its path and owner, the name of its backup copy, and its task or agent."""

    __slots__ = ("copy", "name", "order", "owner", "path", "relative_path", "task")

    def __init__(self, path: str, inside: str, owner: str, name: str, task: str, place: int) -> None:
        self.path = path
        self.relative_path = inside  # the path relative to its watched folder
        self.order = place  # its position in the order in which edits are judged
        self.owner = owner  # the project or the workflow
        self.name = name
        self.copy = backup.file_name(name)
        self.task = task  # empty for the state of the project or the workflow itself


class FileVersion:
    """One version of a file: its text (None if missing), and the backup copy that existed then."""

    __slots__ = ("copy", "is_kept", "is_settled", "stamp", "text")

    def __init__(
        self, stamp: Stamp | None, text: str | None, copy: tuple[int, int], *, sure: bool, is_kept: bool = False
    ) -> None:
        self.stamp = stamp
        self.text = text
        self.copy = copy
        self.is_kept = is_kept  # whether the copy had the same text
        self.is_settled = sure  # whether any later change must show in the stamp


UNKNOWN = FileVersion(None, None, NO_COPY, sure=False)


class StateWatcher:
    """Shared knowledge of a process's turns about the state files of a project and a workflow; use under the lock."""

    __slots__ = (
        "changes", "copies", "cost", "deferred", "files", "files_by_folder", "folders", "home", "is_shared", "looks",
        "paths_by_task", "scanned", "turns",
    )  # fmt: skip

    def __init__(self, home: Home, *, is_shared: bool = False) -> None:
        self.home = home
        self.is_shared = is_shared  # whether a caller runs many turns and does their deferred scans
        self.deferred: Snapshot | None = None  # the first finished turn that deferred its scan
        self.files: dict[str, WatchedFile] = {}  # by path; files of a removed task folder stay
        self.paths_by_task: dict[str, list[str]] = {}  # the paths by task or agent
        self.files_by_folder: dict[str, list[WatchedFile]] = {}  # the files by the folder that many of them share
        self.copies: dict[str, set[str]] = {}  # the names of the backup copies of each owner
        self.folders: dict[str, Stamp | None] = {}  # stamps of the folders when their names were read
        self.looks: dict[str, FileVersion] = {}
        self.changes: list[str] = []  # the path of every new look, in order
        self.scanned = float("-inf")
        self.cost = 0.0  # seconds of the last scan
        self.turns: WeakSet[WatchingTurn] = WeakSet()

    def begin(self, turn: WatchingTurn, project: ProjectState | None) -> dict[str, FileVersion]:
        """Registers a turn and returns the present looks; scans only if the last scan is too old.

        While other turns run, the scan at their end finds changes. So it does for edits by hand between two turns.
        """
        if not self.turns and self.deferred is None and time.monotonic() > self.scanned + FRESH:
            self.scan(project)
        self.turns.add(turn)
        return self.looks

    def can_defer(self, turn: WatchingTurn, folder: str) -> bool:
        """Returns whether the scan for changes outside the turn's own task folder can be deferred.

        With a thousand tasks a scan takes some milliseconds, and one scan covers all turns that ended before it. The
        caller that runs many turns does the deferred scan before it forgets the last of them.
        """
        return (
            self.is_shared
            and folder in self.paths_by_task
            and self.scanned <= turn.ended_at
            and self.recently_scanned()
        )

    def recently_scanned(self) -> bool:
        """Returns whether the last scan is recent enough, compared with its cost, that the next can wait."""
        return time.monotonic() < self.scanned + min(SCAN_INTERVAL_FACTOR * self.cost, FRESH)

    def scan(self, project: ProjectState | None, after: float = NEVER) -> dict[str, FileVersion]:
        """Looks at every state file; a file that was not written since keeps its look.

        One scan covers all turns that ended before it: with `after`, a scan that began later than that is reused.
        """
        if self.scanned > after:
            return self.looks
        self.scanned, self.deferred = time.monotonic(), None
        if project is not None:
            owner = project["project_id"]
            self._register(self.home.project, projects.path(self.home), owner, "project", "")
            for phase in project["phases"]:
                self._register_phase(owner, phase["name"])
        self._list_workflow()
        for file_owner in {file.owner for file in self.files.values()}:
            self._list_copies(file_owner)
        new_looks = {path: look for path in self._possibly_changed() if (look := self.read_version(path))}
        if new_looks:
            self.looks = {**self.looks, **new_looks}
            self.changes += new_looks
        self.cost = time.monotonic() - self.scanned
        return self.looks

    def _possibly_changed(self) -> list[str]:
        """Returns the files that may have changed since the last look, with one system call per file."""
        paths: list[str] = []
        for folder, files in self.files_by_folder.items():
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                paths += [file.path for file in files]
                continue
            try:
                paths += self._changed(files, descriptor)
            finally:
                os.close(descriptor)
        return paths

    def _changed(self, files: list[WatchedFile], descriptor: int) -> list[str]:
        """Returns the paths of the files that may differ from the last look; a scan spends most of its time here."""
        paths, looks, lstat, access, exists = [], self.looks, os.lstat, os.access, os.F_OK
        for file in files:
            look = looks.get(file.path, UNKNOWN)
            before = look.stamp
            # Checks that something exists, even a broken link: faster than the error of lstat.
            if before is None and not access(file.relative_path, exists, dir_fd=descriptor, follow_symlinks=False):
                if look.text is not None or look.copy != NO_COPY or file.copy in self.copies[file.owner]:
                    paths.append(file.path)
                continue
            try:
                now = lstat(file.relative_path, dir_fd=descriptor)
            except OSError:
                paths.append(file.path)
                continue
            if not look.is_settled or before != (now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size):
                paths.append(file.path)
        return paths

    def _register(self, root: str, path: str, owner: str, name: str, task: str) -> None:
        if path not in self.files:
            self.files[path] = WatchedFile(path, path.removeprefix(f"{root}/"), owner, name, task, len(self.files))
            self.files_by_folder.setdefault(root, []).append(self.files[path])
            self.paths_by_task.setdefault(task, []).append(path)

    def _is_new(self, folder: str) -> bool:
        """Returns whether names in a folder may have changed since the last call."""
        stamp = _stamp(folder)
        if stamp is not None and self.folders.get(folder) == stamp:
            return False
        self.folders[folder] = stamp if stamp and _is_settled(stamp) else None
        return True

    def _list_copies(self, owner: str) -> None:
        if self._is_new(backup.folder(self.home, owner)):
            self.copies[owner] = backup.file_names(self.home, owner)

    def _register_phase(self, owner: str, phase: str) -> None:
        """Registers the task folders of a phase if one came or went; a task's notes come before its state."""
        folder = f"{self.home.project}/phases/{phase}/tasks"
        if not self._is_new(folder):
            return
        for ident in sorted((name for name in list_folder(folder) if is_task_id(name)), key=int):
            task_folder = TaskFolder(self.home, phase, ident)
            self._register(folder, task_folder.notes_path, owner, backup.notes_key(ident), ident)
            self._register(folder, task_folder.state_path, owner, ident, ident)

    def _list_workflow(self) -> None:
        """Registers the state of a workflow and its agents' notes, if the workflow can be read."""
        if not os.path.lexists(f"{self.home.workflow}/state.yaml"):
            return
        from sow.store.workflows.folder import COPY, WorkflowFolder

        folder = WorkflowFolder(self.home)
        try:
            loaded = folder.load()
        except SowError:
            return
        owner = loaded["workflow"]["id"]
        root = self.home.workflow
        self._register(root, folder.state_path, owner, COPY, "")
        for agent_folder in folder.agent_folders(loaded):
            self._register(root, agent_folder.notes_path, owner, backup.notes_key(agent_folder.id), agent_folder.id)

    def read_version(self, path: str) -> FileVersion | None:
        """Returns a new look at a file, or None if nothing changed."""
        last = self.looks.get(path)
        stamp = _stamp(path)
        file = self.files[path]
        copy = backup.version(self.home, file.owner, file.name)
        if stamp is not None:
            text = self.home.read_or(UNREADABLE, path)
            is_kept = text is not None and text == backup.load(self.home, file.owner, file.name)
            return FileVersion(stamp, text, copy, sure=_is_settled(stamp), is_kept=is_kept)
        if last is not None and last.stamp is None and last.text is None and last.copy == copy:
            return None
        return FileVersion(None, None, copy, sure=False)

    def expect_text(self, path: str, text: str, copy: tuple[int, int]) -> None:
        """Makes later turns compare a file with this text instead of the edited one."""
        self.looks = {**self.looks, path: FileVersion(None, text, copy, sure=False)}


def _stamp(path: str) -> Stamp | None:
    """Returns values that differ after every change, or None if the file is missing."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)


def _is_settled(stamp: Stamp) -> bool:
    """Returns whether the last change is old enough that the next one gets another time."""
    changed = stamp[2]
    return changed % SECOND != 0 and time.time_ns() - changed > STEP
