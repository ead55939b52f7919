"""Caches the tasks of a project; a state file is read again only if its stamp changed."""

from __future__ import annotations

import os
import sys

from sow.dashboard.stamps import stamp
from sow.domain.ids import is_task_id
from sow.domain.note import unresolved
from sow.domain.task import ENDED_STATUSES
from sow.errors import SowError
from sow.store import notes
from sow.store.desk import Desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.dashboard.stamps import Stamp
    from sow.domain.shapes import ProjectState
    from sow.store.home import Home

# The fields for rows, inbox and advice. Reviews, evidence and answers are read with the task's page.
KEPT = (
    "id", "name", "status", "assigned_agent", "iteration", "priority", "depends_on", "after", "updated_at",
    "session_id", "estimated_minutes", "result", "duration",
)  # fmt: skip
QUIET = (*ENDED_STATUSES, "pending")  # no notes are written on tasks in these statuses

NEVER = (0, 0, 0)  # differs from the stamp of every file


class Known:
    """One task: some fields of its state, or the problem with it."""

    __slots__ = ("noted", "notes", "phase", "problem", "stamp", "task")

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.stamp: Stamp | None = None
        self.task: Any = None
        self.problem = ""
        self.noted: Stamp | None = None
        self.notes = 0  # open or escalated notes


class DeskCache:
    """The tasks of the checked-out project by id."""

    __slots__ = ("home", "known", "project")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.project: ProjectState | None = None
        self.known: dict[str, Known] = {}

    def look(self, project: ProjectState | None) -> set[str]:
        """Reads every task that changed; returns the ids of tasks that changed, appeared or disappeared."""
        before, self.project = self.project, project
        if before is None or project is None or before["project_id"] != project["project_id"]:
            self.known = {}
        phase_by_id: dict[str, str] = {}
        for phase in project["phases"] if project else ():
            phase_by_id |= dict.fromkeys(_names(f"{self.home.project}/phases/{phase['name']}/tasks"), phase["name"])
        gone = {ident for ident in list(self.known) if ident not in phase_by_id}
        for ident in gone:
            del self.known[ident]
        return gone | {ident for ident, phase in phase_by_id.items() if self._see(ident, phase)}

    def look_at(self, ident: str) -> bool:
        """Reads one cached task if it changed; returns whether it did."""
        cached = self.known.get(ident)
        return cached is not None and self._see(ident, cached.phase)

    def distrust(self) -> None:
        """Makes the next `look` read every file again; until then the cached tasks are shown."""
        for cached in self.known.values():
            cached.stamp = cached.noted = NEVER

    def desk(self, ident: str) -> Desk:
        """Returns the task folder of a cached task."""
        return Desk(self.home, self.known[ident].phase, ident, self.project)

    def _see(self, ident: str, phase: str) -> bool:
        cached = self.known.get(ident)
        if cached is None or cached.phase != phase:
            cached = self.known[ident] = Known(phase)
        changed = False
        folder = f"{self.home.project}/phases/{phase}/tasks/{ident}"
        current = stamp(f"{folder}/state.yaml")
        if current != cached.stamp or (cached.task is None and not cached.problem):
            cached.stamp, changed = current, True
            self._load(cached, ident)
        if cached.task is not None and cached.task["status"] not in QUIET:
            note_stamp = stamp(f"{folder}/completion_drive/session_current.json")
            if note_stamp != cached.noted:
                cached.noted, cached.notes, changed = note_stamp, self._count_notes(ident), True
        else:
            cached.noted, cached.notes = None, 0
        return changed

    def _load(self, cached: Known, ident: str) -> None:
        try:
            task: Any = self.desk(ident).task()
        except SowError as error:
            cached.task, cached.problem = None, error.message
            return
        cached.task, cached.problem = {key: _shared(task[key]) for key in KEPT if key in task}, ""
        if "question" in task:
            cached.task["question"] = task["question"]
        if "source" in task:
            cached.task["source"] = {"id": task["source"]["id"]}

    def _count_notes(self, ident: str) -> int:
        try:
            return len(unresolved(notes.listed(self.desk(ident))))
        except SowError:  # the task's page says what is wrong with the file
            return 0

    def broken(self) -> dict[str, str]:
        """Returns the problem of each task that cannot be read."""
        return {ident: cached.problem for ident, cached in self.known.items() if cached.task is None}


def _shared(value: Any) -> Any:
    """Interns texts, so that equal texts of many tasks are stored once."""
    if isinstance(value, str):
        return sys.intern(value)
    return [sys.intern(item) for item in value] if isinstance(value, list) else value


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if is_task_id(name)]
    except OSError:
        return []
