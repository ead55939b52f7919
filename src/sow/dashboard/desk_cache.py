"""The tasks of a project as they were seen last: only a state file whose stamps are others is read again."""

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

# What rows, the inbox and the advice are made of; reviews, evidence and answers are read with the task's own page.
KEPT = (
    "id", "name", "status", "assigned_agent", "iteration", "priority", "depends_on", "after", "updated_at",
    "session_id", "estimated_minutes", "result", "duration",
)  # fmt: skip
QUIET = (*ENDED_STATUSES, "pending")  # nobody writes notes on these

NEVER = (0, 0, 0)  # the stamp of no file


class Known:
    """One task: a part of its state, or what is wrong with it."""

    __slots__ = ("noted", "notes", "phase", "problem", "stamp", "task")

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.stamp: Stamp | None = None
        self.task: Any = None
        self.problem = ""
        self.noted: Stamp | None = None
        self.notes = 0  # those that are open or escalated


class DeskCache:
    """All tasks of the project that is checked out, by id."""

    __slots__ = ("home", "known", "project")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.project: ProjectState | None = None
        self.known: dict[str, Known] = {}

    def look(self, project: ProjectState | None) -> set[str]:
        """Look at every task; returns those that changed, came or went."""
        before, self.project = self.project, project
        if before is None or project is None or before["project_id"] != project["project_id"]:
            self.known = {}
        found: dict[str, str] = {}
        for phase in project["phases"] if project else ():
            found |= dict.fromkeys(_names(f"{self.home.project}/phases/{phase['name']}/tasks"), phase["name"])
        changed = {ident for ident in list(self.known) if ident not in found}
        for ident in changed:
            del self.known[ident]
        return changed | {ident for ident, phase in found.items() if self._see(ident, phase)}

    def look_at(self, ident: str) -> bool:
        """Look at one task that is known; whether it changed."""
        known = self.known.get(ident)
        return known is not None and self._see(ident, known.phase)

    def distrust(self) -> None:
        """Let every file be read again by the next look; until then what was seen is shown."""
        for known in self.known.values():
            known.stamp = known.noted = NEVER

    def desk(self, ident: str) -> Desk:
        """The desk of a task that is known."""
        return Desk(self.home, self.known[ident].phase, ident, self.project)

    def _see(self, ident: str, phase: str) -> bool:
        known = self.known.get(ident)
        if known is None or known.phase != phase:
            known = self.known[ident] = Known(phase)
        changed = False
        folder = f"{self.home.project}/phases/{phase}/tasks/{ident}"
        now = stamp(f"{folder}/state.yaml")
        if now != known.stamp or (known.task is None and not known.problem):
            known.stamp, changed = now, True
            self._load(known, ident)
        if known.task is not None and known.task["status"] not in QUIET:
            noted = stamp(f"{folder}/completion_drive/session_current.json")
            if noted != known.noted:
                known.noted, known.notes, changed = noted, self._count_notes(ident), True
        else:
            known.noted, known.notes = None, 0
        return changed

    def _load(self, known: Known, ident: str) -> None:
        try:
            task: Any = self.desk(ident).task()
        except SowError as error:
            known.task, known.problem = None, error.message
            return
        known.task, known.problem = {key: _shared(task[key]) for key in KEPT if key in task}, ""
        if "question" in task:
            known.task["question"] = task["question"]
        if "source" in task:
            known.task["source"] = {"id": task["source"]["id"]}

    def _count_notes(self, ident: str) -> int:
        try:
            return len(unresolved(notes.listed(self.desk(ident))))
        except SowError:  # the task's own page says what is wrong with the file
            return 0

    def broken(self) -> dict[str, str]:
        """What is wrong with each of the others."""
        return {ident: known.problem for ident, known in self.known.items() if known.task is None}


def _shared(value: Any) -> Any:
    """The same text once for all tasks that have it."""
    if isinstance(value, str):
        return sys.intern(value)
    return [sys.intern(each) for each in value] if isinstance(value, list) else value


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if is_task_id(name)]
    except OSError:
        return []
