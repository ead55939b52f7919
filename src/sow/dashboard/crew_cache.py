"""Caches the workflow of a checkout, and makes task rows of its agents."""

from __future__ import annotations

from sow.dashboard.stamps import stamp
from sow.dashboard.task_rows import CREW, of_task
from sow.dashboard.worker_cache import WorkerCache
from sow.domain.note import unresolved
from sow.engine import report_crew
from sow.errors import SowError
from sow.store import workflow_glance
from sow.store.workflow import WorkflowFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.dashboard.run_scene import RunScene
    from sow.domain.shapes import WorkflowState
    from sow.store.home import Home


class CrewCache:
    """The workflow; it is read again only if its state, its view or its plan changed."""

    __slots__ = ("folder", "glance", "loaded", "notes", "stamps", "workers")

    def __init__(self, home: Home) -> None:
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState | None = None
        self.glance: dict[str, Any] | None = None
        self.notes: dict[str, int] = {}
        self.workers = WorkerCache()
        self.stamps: Any = (None, None, None)

    def look(self) -> bool:
        """Reads the workflow if it changed; returns whether it did."""
        folder = self.folder
        stamps = (stamp(folder.state_path), stamp(folder.view_path), stamp(folder.plan_path))
        if stamps == self.stamps:
            return False
        self.stamps = stamps
        self.glance = workflow_glance.glance(folder.home)
        try:
            self.loaded = folder.load() if folder.exists() else None
        except SowError:  # the glance says what is wrong
            self.loaded = None
        notes_by_agent = folder.notes(self.loaded) if self.loaded else {}
        self.notes = {name: len(unresolved(notes)) for name, notes in notes_by_agent.items()}
        return True

    def rows(self, run: RunScene | None) -> list[dict[str, Any]]:
        """Returns one row per agent."""
        if self.loaded is None:
            return []
        workflow = self.loaded["workflow"]
        rows = []
        for name, task in report_crew.tasks(workflow).items():
            member = workflow["members"][name]
            row_task = {**task, "id": name, "updated_at": member["last_update"]}
            state = {**row_task, "session_id": member.get("session_id")}
            executor = self.workers.executor(self.folder.desk(name, self.loaded), state, run)
            row = of_task(row_task, phase=CREW, notes=self.notes.get(name, 0), executor=executor, run=run)
            rows.append({**row, "own_status": member["status"]})
        return rows
