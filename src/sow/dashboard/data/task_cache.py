"""Caches the tasks of a project by the stamps of their files; a file is read again only if its stamp changed."""

from __future__ import annotations

import os
import sys

from sow.domain.ids import is_task_id
from sow.domain.note import unresolved
from sow.domain.task import ENDED_STATUSES
from sow.errors import SowError
from sow.store.projects import notes
from sow.store.projects.task_folder import TaskFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import ProjectState
    from sow.store.files.checkout_home import Home

    Stamp = tuple[int, int, int]

# The fields for rows, inbox and advice. Reviews, evidence and answers are read with the task's page.
CACHED_FIELDS = (
    "id", "name", "status", "assigned_agent", "iteration", "priority", "depends_on", "after", "updated_at",
    "session_id", "estimated_minutes", "result", "duration",
)  # fmt: skip
STATUSES_WITHOUT_NOTES = (*ENDED_STATUSES, "pending")  # no notes are written on tasks in these statuses

NEVER = (0, 0, 0)  # differs from the stamp of every file


class CachedTask:
    """One task: some fields of its state, or the problem with it."""

    __slots__ = ("notes_stamp", "open_notes", "phase", "problem", "stamp", "task")

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.stamp: Stamp | None = None
        self.task: Any = None
        self.problem = ""
        self.notes_stamp: Stamp | None = None
        self.open_notes = 0  # open or escalated notes


class TaskCache:
    """The tasks of the checked-out project by id."""

    __slots__ = ("home", "project", "tasks")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.project: ProjectState | None = None
        self.tasks: dict[str, CachedTask] = {}

    def refresh(self, project: ProjectState | None) -> set[str]:
        """Reads every task that changed; returns the ids of tasks that changed, appeared or disappeared."""
        before, self.project = self.project, project
        if before is None or project is None or before["project_id"] != project["project_id"]:
            self.tasks = {}
        phase_by_id: dict[str, str] = {}
        for phase in project["phases"] if project else ():
            phase_by_id |= dict.fromkeys(_names(f"{self.home.project}/phases/{phase['name']}/tasks"), phase["name"])
        gone = {ident for ident in list(self.tasks) if ident not in phase_by_id}
        for ident in gone:
            del self.tasks[ident]
        return gone | {ident for ident, phase in phase_by_id.items() if self._refresh_task(ident, phase)}

    def refresh_task(self, ident: str) -> bool:
        """Reads one cached task if it changed; returns whether it did."""
        cached = self.tasks.get(ident)
        return cached is not None and self._refresh_task(ident, cached.phase)

    def invalidate(self) -> None:
        """Makes the next `refresh` read every file again; until then the cached tasks are shown."""
        for cached in self.tasks.values():
            cached.stamp = cached.notes_stamp = NEVER

    def folder(self, ident: str) -> TaskFolder:
        """Returns the task folder of a cached task."""
        return TaskFolder(self.home, self.tasks[ident].phase, ident, self.project)

    def _refresh_task(self, ident: str, phase: str) -> bool:
        cached = self.tasks.get(ident)
        if cached is None or cached.phase != phase:
            cached = self.tasks[ident] = CachedTask(phase)
        changed = False
        folder = f"{self.home.project}/phases/{phase}/tasks/{ident}"
        current = stamp(f"{folder}/state.yaml")
        if current != cached.stamp or (cached.task is None and not cached.problem):
            cached.stamp, changed = current, True
            self._load(cached, ident)
        if cached.task is not None and cached.task["status"] not in STATUSES_WITHOUT_NOTES:
            note_stamp = stamp(f"{folder}/completion_drive/session_current.json")
            if note_stamp != cached.notes_stamp:
                cached.notes_stamp, cached.open_notes, changed = note_stamp, self._count_notes(ident), True
        else:
            cached.notes_stamp, cached.open_notes = None, 0
        return changed

    def _load(self, cached: CachedTask, ident: str) -> None:
        try:
            task: Any = self.folder(ident).task()
        except SowError as error:
            cached.task, cached.problem = None, error.message
            return
        cached.task, cached.problem = {key: _interned(task[key]) for key in CACHED_FIELDS if key in task}, ""
        if "question" in task:
            cached.task["question"] = task["question"]
        if "source" in task:
            cached.task["source"] = {"id": task["source"]["id"]}

    def _count_notes(self, ident: str) -> int:
        try:
            return len(unresolved(notes.load_notes(self.folder(ident))))
        except SowError:  # the task's page says what is wrong with the file
            return 0

    def problems(self) -> dict[str, str]:
        """Returns the problem of each task that cannot be read."""
        return {ident: cached.problem for ident, cached in self.tasks.items() if cached.task is None}


def _interned(value: Any) -> Any:
    """Interns texts, so that equal texts of many tasks are stored once."""
    if isinstance(value, str):
        return sys.intern(value)
    return [sys.intern(item) for item in value] if isinstance(value, list) else value


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if is_task_id(name)]
    except OSError:
        return []


def stamp(path: str) -> Stamp | None:
    """Returns inode, size and time of the last change; None if there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)
