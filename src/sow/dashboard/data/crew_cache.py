"""Caches the workflow of a checkout, and makes task rows of its agents."""

from __future__ import annotations

from sow.dashboard.data.task_cache import stamp
from sow.dashboard.data.task_rows import CREW, task_row
from sow.dashboard.data.worker_cache import ExecutorCache
from sow.domain.note import unresolved
from sow.errors import SowError
from sow.reports import crew_rows
from sow.store.workflows import summary
from sow.store.workflows.folder import WorkflowFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.dashboard.data.run_follower import RunFollower
    from sow.domain.documents.state import WorkflowState
    from sow.store.files.checkout_home import Home


class CrewCache:
    """The workflow; it is read again only if its state, its view or its plan changed."""

    __slots__ = ("folder", "loaded", "notes", "stamps", "summary", "workers")

    def __init__(self, home: Home) -> None:
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState | None = None
        self.summary: dict[str, Any] | None = None
        self.notes: dict[str, int] = {}
        self.workers = ExecutorCache()
        self.stamps: Any = (None, None, None)

    def refresh(self) -> bool:
        """Reads the workflow if it changed; returns whether it did."""
        folder = self.folder
        stamps = (stamp(folder.state_path), stamp(folder.view_path), stamp(folder.plan_path))
        if stamps == self.stamps:
            return False
        self.stamps = stamps
        self.summary = summary.summary(folder.home)
        try:
            self.loaded = folder.load() if folder.exists() else None
        except SowError:  # the summary says what is wrong
            self.loaded = None
        notes_by_agent = folder.notes(self.loaded) if self.loaded else {}
        self.notes = {name: len(unresolved(notes)) for name, notes in notes_by_agent.items()}
        return True

    def rows(self, run: RunFollower | None) -> list[dict[str, Any]]:
        """Returns one row per agent."""
        if self.loaded is None:
            return []
        workflow = self.loaded["workflow"]
        rows = []
        for name, task in crew_rows.tasks(workflow).items():
            member = workflow["members"][name]
            row_task = {**task, "id": name, "updated_at": member["last_update"]}
            state = {**row_task, "session_id": member.get("session_id")}
            executor = self.workers.executor(self.folder.agent_folder(name, self.loaded), state, run)
            row = task_row(row_task, phase=CREW, notes=self.notes.get(name, 0), executor=executor, run=run)
            rows.append({**row, "own_status": member["status"]})
        return rows
