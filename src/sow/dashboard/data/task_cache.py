"""Caches the tasks of a project, the number of their open notes, and the executors that worked on them last."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from sow.dashboard.data.runs import RunFollower
from sow.domain.documents.state import ProjectState
from sow.domain.inputs import is_task_id
from sow.domain.task import ENDED_STATUSES, shown_result, unresolved_notes
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import FileCache, fingerprint
from sow.store.projects import notes
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions

# The fields for rows, inbox and advice. Reviews, evidence and answers are read with the task's page.
CACHED_FIELDS = (
    "id", "name", "status", "assigned_agent", "iteration", "priority", "depends_on", "after", "updated_at",
    "session_id", "estimated_minutes", "result", "duration",
)  # fmt: skip
STATUSES_WITHOUT_NOTES = (*ENDED_STATUSES, "pending")  # no notes are written on tasks in these statuses


class CachedTask(NamedTuple):
    """One task: some fields of its state, or the problem with it."""

    phase: str
    task: Any
    problem: str


class TaskCache:
    """The tasks of the checked-out project by id."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.project: ProjectState | None = None
        self.tasks: FileCache[CachedTask] = FileCache()
        self.open_notes: FileCache[int] = FileCache()  # open or escalated notes by task

    def refresh(self, project: ProjectState | None) -> set[str]:
        """Reads every task that changed; returns the ids of tasks that changed, appeared or disappeared."""
        before, self.project = self.project, project
        if before is None or project is None or before["project_id"] != project["project_id"]:
            self.tasks, self.open_notes = FileCache(), FileCache()
        phase_by_id: dict[str, str] = {}
        for phase in project["phases"] if project else ():
            phase_by_id |= dict.fromkeys(_names(f"{self.home.project}/phases/{phase['name']}/tasks"), phase["name"])
        gone = self.tasks.keep_only(phase_by_id)
        changed = {ident for ident, phase in phase_by_id.items() if self._refresh_task(ident, phase)}
        self.open_notes.keep_only(ident for ident, cached in self.tasks.items() if _has_notes(cached))
        return gone | changed

    def refresh_task(self, ident: str) -> bool:
        """Reads one cached task if it changed; returns whether it did."""
        return ident in self.tasks and self._refresh_task(ident, self.tasks[ident].phase)

    def invalidate(self) -> None:
        """Lets the next `refresh` read every file again; until then the cached tasks are shown."""
        self.tasks.invalidate()
        self.open_notes.invalidate()

    def folder(self, ident: str) -> TaskFolder:
        """Returns the task folder of a cached task."""
        return TaskFolder(self.home, self.tasks[ident].phase, ident, self.project)

    def _refresh_task(self, ident: str, phase: str) -> bool:
        folder = f"{self.home.project}/phases/{phase}/tasks/{ident}"
        mark = (phase, *(fingerprint(f"{folder}/state.yaml") or ()))
        changed = self.tasks.refresh(ident, mark, lambda: self._load(ident, phase))
        if _has_notes(self.tasks[ident]):
            notes_mark = fingerprint(f"{folder}/completion_drive/session_current.json")
            changed |= self.open_notes.refresh(ident, notes_mark, lambda: self._count_notes(ident) if notes_mark else 0)
        return changed

    def _load(self, ident: str, phase: str) -> CachedTask:
        try:
            task: Any = TaskFolder(self.home, phase, ident, self.project).task()
        except SowError as error:
            return CachedTask(phase, None, error.message)
        fields = {key: _interned(task[key]) for key in CACHED_FIELDS if key in task}
        fields["result"] = sys.intern(shown_result(task))
        if "question" in task:
            fields["question"] = task["question"]
        if task["status"] in ("paused", "failed", "needs_review"):  # the inbox says which checks fail
            fields |= {key: task[key] for key in ("approval", "checks", "evidence", "waivers", "work") if key in task}
        if "source" in task:
            fields["source"] = {key: sys.intern(task["source"][key]) for key in ("id", "plan")}
        return CachedTask(phase, fields, "")

    def _count_notes(self, ident: str) -> int:
        try:
            return len(unresolved_notes(notes.load_notes(self.folder(ident))))
        except SowError:  # the task's page says what is wrong with the file
            return 0

    def problems(self) -> dict[str, str]:
        """Returns the problem of each task that cannot be read."""
        return {ident: cached.problem for ident, cached in self.tasks.items() if cached.task is None}


def _has_notes(cached: CachedTask) -> bool:
    return cached.task is not None and cached.task["status"] not in STATUSES_WITHOUT_NOTES


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


class ExecutorCache(FileCache[str | None]):
    """The executors of tasks or agents; session records are read again only if the state changed."""

    def executor(self, folder: sessions.AnyFolder, state: Mapping[str, Any], run: RunFollower | None) -> str | None:
        """Returns the executor of the last turn that was not a review; None if there is none on this machine."""
        from_run = run.executors.get(folder.id) if run else None
        changed = state.get("updated_at") or ""
        if from_run and run and changed < run.last_entry_time:
            return from_run
        mark = (folder.owner, changed, state.get("session_id"))
        return self.current(folder.id, mark, lambda: _recorded_executor(folder)) or from_run


def _recorded_executor(folder: sessions.AnyFolder) -> str | None:
    """Returns the executor from the session records; ignores records of an earlier project with the same task id."""
    try:
        records = [record.session for record in sessions.records(folder)]
    except (SowError, OSError):  # the task's page says what is wrong with them
        return None
    work = [
        (session["turns"][-1]["started_at"], session["number"], session["executor"])
        for session in records
        if session["turns"]
        and session["turns"][0]["kind"] != "review"
        and session.get("project_id", folder.owner) == folder.owner
    ]
    return max(work)[2] if work else None
