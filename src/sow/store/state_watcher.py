"""Watches state files, and finds edits by hand since a moment; reads a file again only if its stat data changed."""

from __future__ import annotations

import os
import time
from weakref import WeakSet

from sow.domain.inputs import is_task_id
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.disk import list_folder, make_folders
from sow.store.formats.yaml_text import has_conflict
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import ProjectState
    from sow.store.files.checkout_home import Home

    Stamp = tuple[int, int, int, int]


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
        self.copy = state_file.backup_name(name)
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
        "changes",
        "copies",
        "cost",
        "deferred",
        "files",
        "files_by_folder",
        "folders",
        "home",
        "is_shared",
        "paths_by_task",
        "scanned",
        "turns",
        "versions",
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
        self.versions: dict[str, FileVersion] = {}
        self.changes: list[str] = []  # the path of every new version, in order
        self.scanned = float("-inf")
        self.cost = 0.0  # seconds of the last scan
        self.turns: WeakSet[Snapshot] = WeakSet()

    def begin(self, turn: Snapshot, project: ProjectState | None) -> dict[str, FileVersion]:
        """Registers a turn and returns the present looks; scans only if the last scan is too old.

        While other turns run, the scan at their end finds changes. So it does for edits by hand between two turns.
        """
        if not self.turns and self.deferred is None and time.monotonic() > self.scanned + FRESH:
            self.scan(project)
        self.turns.add(turn)
        return self.versions

    def can_defer(self, turn: Snapshot, folder: str) -> bool:
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
        """Scans every state file; a file that was not written since keeps its version.

        One scan covers all turns that ended before it: with `after`, a scan that began later than that is reused.
        """
        if self.scanned > after:
            return self.versions
        self.scanned, self.deferred = time.monotonic(), None
        if project is not None:
            owner = project["project_id"]
            self._register(self.home.project, projects.path(self.home), owner, "project", "")
            for phase in project["phases"]:
                self._register_phase(owner, phase["name"])
        self._list_workflow()
        for file_owner in {file.owner for file in self.files.values()}:
            self._list_copies(file_owner)
        new_versions = {path: version for path in self._possibly_changed() if (version := self.read_version(path))}
        if new_versions:
            self.versions = {**self.versions, **new_versions}
            self.changes += new_versions
        self.cost = time.monotonic() - self.scanned
        return self.versions

    def _possibly_changed(self) -> list[str]:
        """Returns the files that may have changed since the last scan, with one system call per file."""
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
        """Returns the paths of the files that may differ from the last scan; a scan spends most of its time here."""
        paths, versions, lstat, access, exists = [], self.versions, os.lstat, os.access, os.F_OK
        for file in files:
            version = versions.get(file.path, UNKNOWN)
            before = version.stamp
            # Checks that something exists, even a broken link: faster than the error of lstat.
            if before is None and not access(file.relative_path, exists, dir_fd=descriptor, follow_symlinks=False):
                if version.text is not None or version.copy != NO_COPY or file.copy in self.copies[file.owner]:
                    paths.append(file.path)
                continue
            try:
                now = lstat(file.relative_path, dir_fd=descriptor)
            except OSError:
                paths.append(file.path)
                continue
            if not version.is_settled or before != (now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size):
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
        if self._is_new(state_file.backup_folder(self.home, owner)):
            self.copies[owner] = state_file.backup_names(self.home, owner)

    def _register_phase(self, owner: str, phase: str) -> None:
        """Registers the task folders of a phase if one came or went; a task's notes come before its state."""
        folder = f"{self.home.project}/phases/{phase}/tasks"
        if not self._is_new(folder):
            return
        for ident in sorted((name for name in list_folder(folder) if is_task_id(name)), key=int):
            task_folder = TaskFolder(self.home, phase, ident)
            self._register(folder, task_folder.notes_path, owner, state_file.notes_key(ident), ident)
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
            self._register(root, agent_folder.notes_path, owner, state_file.notes_key(agent_folder.id), agent_folder.id)

    def read_version(self, path: str) -> FileVersion | None:
        """Returns the new version of a file, or None if nothing changed."""
        last = self.versions.get(path)
        stamp = _stamp(path)
        file = self.files[path]
        copy = state_file.backup_version(self.home, file.owner, file.name)
        if stamp is not None:
            text = self.home.read_or(UNREADABLE, path)
            is_kept = text is not None and text == state_file.load_backup(self.home, file.owner, file.name)
            return FileVersion(stamp, text, copy, sure=_is_settled(stamp), is_kept=is_kept)
        if last is not None and last.stamp is None and last.text is None and last.copy == copy:
            return None
        return FileVersion(None, None, copy, sure=False)

    def expect_text(self, path: str, text: str, copy: tuple[int, int]) -> None:
        """Makes later turns compare a file with this text instead of the edited one."""
        self.versions = {**self.versions, path: FileVersion(None, text, copy, sure=False)}


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


class HandEdit:
    """One file edited by hand: its text now and its correct text; None if it is missing."""

    __slots__ = ("current", "expected", "name", "owner", "path", "task")

    def __init__(self, *, name: str, task: str, path: str, now: str | None, good: str | None, owner: str = "") -> None:
        self.owner = owner  # the project or workflow to which it belongs
        self.name = name  # the name of its backup copy
        self.task = task  # or the agent; empty for the state of the project or the workflow itself
        self.path = path
        self.current = now
        self.expected = good

    @property
    def is_notes(self) -> bool:
        return self.name == state_file.notes_key(self.task)

    @property
    def in_conflict(self) -> bool:
        """Returns whether git left a conflict in it, which a person resolves."""
        return self.current is not None and has_conflict(self.current)

    @property
    def text(self) -> str:
        """Returns its readable text; empty if it is missing or unreadable."""
        return "" if self.current is None or self.current == UNREADABLE else self.current

    def revert(self, home: Home) -> None:
        """Restores the file to its correct text."""
        if self.expected is None:
            home.remove(self.path)
        elif self.expected != UNREADABLE:
            make_folders(home.disk, home.root, os.path.dirname(home.relative(self.path)).split("/"))  # may be missing
            home.replace(self.path, self.expected)


class Snapshot:
    """The texts of the state files of a checkout's project and workflow, if there are any; take it under the lock.

    The texts are not parsed, because most are never needed again.
    """

    __slots__ = ("__weakref__", "changes", "ended_at", "home", "project", "versions", "watcher")

    def __init__(self, home: Home, project: ProjectState | None = None, seen: StateWatcher | None = None) -> None:
        self.home = home
        self.project = project or _project(home)
        self.watcher = seen or StateWatcher(home)
        self.versions = self.watcher.begin(self, self.project)
        self.changes = len(self.watcher.changes)
        self.ended_at = NEVER  # the time after which this turn can have written nothing

    def hand_edits(self, own: str = "") -> list[HandEdit]:
        """Returns the edits by hand since then: the project's state first, and a task's notes before its state.

        With `own`, possibly only that task folder is checked now, and the rest of the scan is deferred.
        """
        self.watcher.turns.discard(self)
        if own and self.watcher.can_defer(self, own):
            self.watcher.deferred = self.watcher.deferred or self
            versions = ((path, self.watcher.read_version(path)) for path in self.watcher.paths_by_task[own])
            return [edit for path, version in versions if version and (edit := self._edit(path, version))]
        looks_now = self.watcher.scan(self.project, self.ended_at)
        changed = sorted(set(self.watcher.changes[self.changes :]), key=lambda path: self.watcher.files[path].order)
        return [edit for path in changed if (edit := self._edit(path, looks_now[path]))]

    def _edit(self, path: str, now: FileVersion) -> HandEdit | None:
        """Compares a file with its correct text: the copy that sow wrote meanwhile, else the text before."""
        file = self.watcher.files[path]
        before = self.versions.get(path, UNKNOWN)
        was_written = now.copy != before.copy
        if was_written and now.is_kept:
            return None
        good = (state_file.load_backup(self.home, file.owner, file.name) if was_written else None) or before.text
        if now.text != good or now.stamp is None:  # another turn may have written or restored it since
            now = self.watcher.read_version(path) or now
        if now.text == good:
            return None
        edit = HandEdit(owner=file.owner, name=file.name, task=file.task, path=path, now=now.text, good=good)
        if good is not None and good != UNREADABLE and not edit.in_conflict:
            self.watcher.expect_text(path, good, now.copy)
        return edit


def _project(home: Home) -> ProjectState | None:
    try:
        return projects.load_anywhere(home) if os.path.lexists(projects.path(home)) else None
    except SowError:
        return None
