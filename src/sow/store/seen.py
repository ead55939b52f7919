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
    """One state file: whose it is, the name of its kept copy, and its task or agent."""

    __slots__ = ("copy", "name", "owner", "place", "task")

    def __init__(self, owner: str, name: str, task: str, place: int) -> None:
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

    __slots__ = ("changes", "cost", "files", "folders", "home", "looks", "scanned", "turns")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.files: dict[str, File] = {}  # by path; a desk that is gone stays
        self.folders: dict[str, Stamp | None] = {}
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
        if not self.turns and time.monotonic() > self.scanned + FRESH:
            self.scan(project)
        self.turns.add(turn)
        return self.looks

    def can_wait(self, turn: Turn) -> bool:
        """Whether a turn that is over should leave its scan for later: others go on, and will be over soon, too.

        With a thousand tasks a scan takes some milliseconds, and it serves all who were over before it.
        """
        if self.scanned > turn.over or time.monotonic() > self.scanned + min(REST * self.cost, FRESH):
            return False
        return any(each.over == NOT_YET for each in self.turns)

    def scan(self, project: ProjectState | None, after: float = NOT_YET) -> dict[str, Look]:
        """Every state file as it is now; the very same look as the last time where nothing was written since.

        One scan serves all turns that were over before it: with `after`, one that began later than that is good enough.
        """
        if self.scanned > after:
            return self.looks
        self.scanned = time.monotonic()
        if project is not None:
            owner = project["project_id"]
            self._learn(projects.path(self.home), owner, "project", "")
            for phase in project["phases"]:
                self._list(owner, phase["name"])
        self._list_workflow()
        found = {path: look for path in self._suspects(self._copies()) if (look := self.look(path))}
        if found:
            self.looks = {**self.looks, **found}
            self.changes += found
        self.cost = time.monotonic() - self.scanned
        return self.looks

    def _copies(self) -> dict[str, set[str]]:
        """The names of the copies that are kept for each owner."""
        owners = {file.owner for file in self.files.values()}
        return {owner: kept.names(self.home, owner) for owner in owners}

    def _suspects(self, copies: dict[str, set[str]]) -> list[str]:
        """The files that may be others than at the last look: one call to the system for each of them."""
        found, looks, lstat, access = [], self.looks, os.lstat, os.access
        for path, file in self.files.items():
            known = looks.get(path, UNKNOWN)
            # Whether something is there, be it a link to nothing: quicker than the error of the other call.
            if known.stamp is None and not access(path, os.F_OK, follow_symlinks=False):
                if known.copy != NO_COPY or file.copy in copies[file.owner]:
                    found.append(path)
                continue
            try:
                facts = lstat(path)
            except OSError:
                found.append(path)
                continue
            stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)
            if not known.sure or known.stamp != stamp:
                found.append(path)
        return found

    def _learn(self, path: str, owner: str, name: str, task: str) -> None:
        if path not in self.files:
            self.files[path] = File(owner, name, task, len(self.files))

    def _list(self, owner: str, phase: str) -> None:
        """Learn of the desks of a phase, a task's notes before its state, if one came or went."""
        folder = f"{self.home.project}/phases/{phase}/tasks"
        stamp = _stamp(folder)
        if stamp is not None and self.folders.get(phase) == stamp:
            return
        for ident in sorted((name for name in list_folder(folder) if is_task_id(name)), key=int):
            desk = Desk(self.home, phase, ident)
            self._learn(desk.notes_path, owner, kept.of_notes(ident), ident)
            self._learn(desk.state_path, owner, ident, ident)
        self.folders[phase] = stamp if stamp and _is_settled(stamp) else None

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
        self._learn(folder.state_path, owner, COPY, "")
        for desk in folder.desks(loaded):
            self._learn(desk.notes_path, owner, kept.of_notes(desk.id), desk.id)

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
        if known is not None and known.stamp is None and known.copy == copy:
            return None
        return Look(None, None, copy, sure=False)

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
