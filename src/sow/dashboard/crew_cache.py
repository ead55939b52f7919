"""The workflow of a checkout as it was seen last, and its agents in the words of tasks."""

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
    """Read again only when the state, or the view that counts its notes, is another file."""

    __slots__ = ("folder", "glance", "loaded", "notes", "stamps", "workers")

    def __init__(self, home: Home) -> None:
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState | None = None
        self.glance: dict[str, Any] | None = None
        self.notes: dict[str, int] = {}
        self.workers = WorkerCache()
        self.stamps: Any = (None, None, None)

    def look(self) -> bool:
        """Whether there is another workflow, or the same in another state."""
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
        known = folder.notes(self.loaded) if self.loaded else {}
        self.notes = {name: len(unresolved(each)) for name, each in known.items()}
        return True

    def rows(self, run: RunScene | None) -> list[dict[str, Any]]:
        """One row for each agent."""
        if self.loaded is None:
            return []
        workflow = self.loaded["workflow"]
        found = []
        for name, task in report_crew.tasks(workflow).items():
            member = workflow["members"][name]
            known = {**task, "id": name, "updated_at": member["last_update"]}
            seen = {**known, "session_id": member.get("session_id")}
            executor = self.workers.executor(self.folder.desk(name, self.loaded), seen, run)
            row = of_task(known, phase=CREW, notes=self.notes.get(name, 0), executor=executor, run=run)
            found.append({**row, "own_status": member["status"]})
        return found
