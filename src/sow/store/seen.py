"""State files as they were seen last: only what its stamps show to be another one is read again."""

from __future__ import annotations

import os
import time
from weakref import WeakSet

from sow.domain.ids import is_task_id
from sow.errors import SowError
from sow.store import kept
from sow.store import project as projects
from sow.store.desk import Desk
from sow.store.disk import list_folder
from sow.store.member_desk import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from sow.domain.shapes import ProjectState
    from sow.store.home import Home
    from sow.store.snapshot import Snapshot

    Stamp = tuple[int, int, int, int]

    class Turn(Protocol):
        """One that has begun, and will look once more at its end."""

        over: float


UNREADABLE = "\0"  # stands for what is there and no text: equal to itself, and nothing that could be put back
NO_COPY = (0, 0)
SECOND = 1_000_000_000
FRESH = 1.0  # seconds
NOT_YET = float("inf")
REST = 20  # times as long as a scan takes: so small is the part of the time that scans may take
STEP = SECOND // 10  # clocks of file systems go in steps: within one, a second change would leave the same stamp


class File:
    """One state file: where and whose it is, the name of its kept copy, and its task or agent."""

    __slots__ = ("copy", "inside", "name", "owner", "path", "place", "task")

    def __init__(self, path: str, inside: str, owner: str, name: str, task: str, place: int) -> None:
        self.path = path
        self.inside = inside  # the path from its shelf on
        self.place = place  # in the order in which edits are judged
        self.owner = owner  # the project or the workflow
        self.name = name
        self.copy = kept.file_name(name)
        self.task = task  # nothing for the state of the project or the workflow itself


class Look:
    """One file at one moment: its text, None where there is none, and which copy of it was kept then."""

    __slots__ = ("copy", "is_kept", "stamp", "sure", "text")

    def __init__(
        self, stamp: Stamp | None, text: str | None, copy: tuple[int, int], *, sure: bool, is_kept: bool = False
    ) -> None:
        self.stamp = stamp
        self.text = text
        self.copy = copy
        self.is_kept = is_kept  # whether the copy had the same text
        self.sure = sure  # whether any later change must show in the stamp


UNKNOWN = Look(None, None, NO_COPY, sure=False)


class Seen:
    """What the turns of one process know of the state files of a project and a workflow; to be asked under the lock."""

    __slots__ = (
        "changes", "copies", "cost", "desks", "files", "folders", "home", "is_shared", "looks", "owed", "scanned",
        "shelves", "turns",
    )  # fmt: skip

    def __init__(self, home: Home, *, is_shared: bool = False) -> None:
        self.home = home
        self.is_shared = is_shared  # whether somebody runs many turns, and pays what they owe
        self.owed: Snapshot | None = None  # the first that was over and left its scan for later
        self.files: dict[str, File] = {}  # by path; a desk that is gone stays
        self.desks: dict[str, list[str]] = {}  # the same by their task or agent: the paths
        self.shelves: dict[str, list[File]] = {}  # the same by the folder that many of them share
        self.copies: dict[str, set[str]] = {}  # the names of the copies that are kept for each owner
        self.folders: dict[str, Stamp | None] = {}  # as they were when their names were read
        self.looks: dict[str, Look] = {}
        self.changes: list[str] = []  # the path of every look that was new, in order
        self.scanned = float("-inf")
        self.cost = 0.0  # seconds that the last scan took
        self.turns: WeakSet[Turn] = WeakSet()

    def begin(self, turn: Turn, project: ProjectState | None) -> dict[str, Look]:
        """What a turn finds; not looked at again where that was done just now.

        While others go on, what changes is found at their end. So is what somebody changes by hand in the moment
        between two turns.
        """
        if not self.turns and self.owed is None and time.monotonic() > self.scanned + FRESH:
            self.scan(project)
        self.turns.add(turn)
        return self.looks

    def may_wait(self, turn: Turn, desk: str) -> bool:
        """Whether the look at all that a turn may have changed beyond its own desk can be left for later.

        With a thousand tasks a scan takes some milliseconds, and it serves all who were over before it. Who runs many
        turns sees to it that what is owed is looked at before the last of them is forgotten.
        """
        return self.is_shared and desk in self.desks and self.scanned <= turn.over and self.rests()

    def rests(self) -> bool:
        """Whether the last scan was so short a time ago, for what it took, that the next one can wait."""
        return time.monotonic() < self.scanned + min(REST * self.cost, FRESH)

    def scan(self, project: ProjectState | None, after: float = NOT_YET) -> dict[str, Look]:
        """Every state file as it is now; the very same look as the last time where nothing was written since.

        One scan serves all turns that were over before it: with `after`, one that began later than that is good enough.
        """
        if self.scanned > after:
            return self.looks
        self.scanned, self.owed = time.monotonic(), None
        if project is not None:
            owner = project["project_id"]
            self._learn(self.home.project, projects.path(self.home), owner, "project", "")
            for phase in project["phases"]:
                self._list(owner, phase["name"])
        self._list_workflow()
        for each in {file.owner for file in self.files.values()}:
            self._list_copies(each)
        found = {path: look for path in self._suspects() if (look := self.look(path))}
        if found:
            self.looks = {**self.looks, **found}
            self.changes += found
        self.cost = time.monotonic() - self.scanned
        return self.looks

    def _suspects(self) -> list[str]:
        """The files that may be others than at the last look: one call to the system for each of them."""
        found: list[str] = []
        for folder, files in self.shelves.items():
            try:
                shelf = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                found += [file.path for file in files]
                continue
            try:
                found += self._changed(files, shelf)
            finally:
                os.close(shelf)
        return found

    def _changed(self, files: list[File], shelf: int) -> list[str]:
        """Those files of a shelf that are not for sure the ones of the last look; this is where a scan's time goes."""
        found, looks, lstat, access, there = [], self.looks, os.lstat, os.access, os.F_OK
        for file in files:
            known = looks.get(file.path, UNKNOWN)
            before = known.stamp
            # Whether something is there, be it a link to nothing: quicker than the error of the other call.
            if before is None and not access(file.inside, there, dir_fd=shelf, follow_symlinks=False):
                if known.text is not None or known.copy != NO_COPY or file.copy in self.copies[file.owner]:
                    found.append(file.path)
                continue
            try:
                now = lstat(file.inside, dir_fd=shelf)
            except OSError:
                found.append(file.path)
                continue
            if not known.sure or before != (now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size):
                found.append(file.path)
        return found

    def _learn(self, shelf: str, path: str, owner: str, name: str, task: str) -> None:
        if path not in self.files:
            self.files[path] = File(path, path.removeprefix(f"{shelf}/"), owner, name, task, len(self.files))
            self.shelves.setdefault(shelf, []).append(self.files[path])
            self.desks.setdefault(task, []).append(path)

    def _is_new(self, folder: str) -> bool:
        """Whether names may have come or gone in a folder since the last time."""
        stamp = _stamp(folder)
        if stamp is not None and self.folders.get(folder) == stamp:
            return False
        self.folders[folder] = stamp if stamp and _is_settled(stamp) else None
        return True

    def _list_copies(self, owner: str) -> None:
        if self._is_new(kept.folder(self.home, owner)):
            self.copies[owner] = kept.names(self.home, owner)

    def _list(self, owner: str, phase: str) -> None:
        """Learn of the desks of a phase, a task's notes before its state, if one came or went."""
        folder = f"{self.home.project}/phases/{phase}/tasks"
        if not self._is_new(folder):
            return
        for ident in sorted((name for name in list_folder(folder) if is_task_id(name)), key=int):
            desk = Desk(self.home, phase, ident)
            self._learn(folder, desk.notes_path, owner, kept.of_notes(ident), ident)
            self._learn(folder, desk.state_path, owner, ident, ident)

    def _list_workflow(self) -> None:
        """Learn of the state of a workflow, and of the notes of its agents, as far as it can be read."""
        if not os.path.lexists(f"{self.home.root}/{FOLDER}/state.yaml"):
            return
        from sow.store.workflow import COPY, WorkflowFolder

        folder = WorkflowFolder(self.home)
        try:
            loaded = folder.load()
        except SowError:
            return
        owner = loaded["workflow"]["id"]
        shelf = f"{self.home.root}/{FOLDER}"
        self._learn(shelf, folder.state_path, owner, COPY, "")
        for desk in folder.desks(loaded):
            self._learn(shelf, desk.notes_path, owner, kept.of_notes(desk.id), desk.id)

    def look(self, path: str) -> Look | None:
        """A new look at a file, or nothing where it would be the last one again."""
        known = self.looks.get(path)
        stamp = _stamp(path)
        file = self.files[path]
        copy = kept.stamp(self.home, file.owner, file.name)
        if stamp is not None:
            text = self._read(path)
            is_kept = text is not None and text == kept.recall(self.home, file.owner, file.name)
            return Look(stamp, text, copy, sure=_is_settled(stamp), is_kept=is_kept)
        if known is not None and known.stamp is None and known.text is None and known.copy == copy:
            return None
        return Look(None, None, copy, sure=False)

    def expect(self, path: str, text: str, copy: tuple[int, int]) -> None:
        """Let turns that begin from now on know a file by what it should be, and not by what somebody made of it."""
        self.looks = {**self.looks, path: Look(None, text, copy, sure=False)}

    def _read(self, path: str) -> str | None:
        try:
            return self.home.read(path)
        except FileNotFoundError:
            return None
        except SowError:
            return UNREADABLE


def _stamp(path: str) -> Stamp | None:
    """What is different after every change; nothing of a file that is not there."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)


def _is_settled(stamp: Stamp) -> bool:
    """Whether the last change is so long ago that the next one cannot have the same time."""
    changed = stamp[2]
    return changed % SECOND != 0 and time.time_ns() - changed > STEP
