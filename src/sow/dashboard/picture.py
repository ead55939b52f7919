"""What a checkout looks like now: project, tasks, workflow, runs; each look tells what has changed since the last."""

from __future__ import annotations

import time

from sow import __version__
from sow.dashboard.crew_cache import CrewCache
from sow.dashboard.desk_cache import DeskCache
from sow.dashboard.run_scene import RunScene
from sow.dashboard.run_shelf import RunShelf
from sow.dashboard.stamps import stamp
from sow.dashboard.task_rows import Web, of_task
from sow.dashboard.worker_cache import WorkerCache
from sow.domain import advice
from sow.domain.inbox import ranked
from sow.engine.idle import look
from sow.errors import SowError
from sow.store import project as projects
from sow.store import runs, waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.dashboard.run_scene import Heard
    from sow.domain.inbox import Item
    from sow.domain.shapes import ProjectState
    from sow.engine.standpoint import Standpoint
    from sow.store.home import Home

    Row = dict[str, Any]

MOST_HEARD = 2000


class Change:
    """What one look found: the tasks that are others now, the entries that came, and whether more than that changed."""

    __slots__ = ("heard", "named", "stale", "tasks")

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.heard: list[Heard] = []  # the last of them, where many came at once
        self.named: set[str] = set()  # whom they are about
        self.stale = False


class Picture:
    """One checkout; not for two threads at once."""

    __slots__ = (
        "cache",
        "crew",
        "home",
        "problem",
        "project",
        "run",
        "shelf",
        "shown",
        "stamps",
        "standpoint",
        "web",
        "workers",
    )

    def __init__(self, home: Home, standpoint: Standpoint) -> None:
        self.home = home
        self.standpoint = standpoint
        self.cache = DeskCache(home)
        self.crew = CrewCache(home)
        self.shelf = RunShelf(home)
        self.web = Web()
        self.workers = WorkerCache()
        self.project: ProjectState | None = None
        self.problem: SowError | None = None
        self.run: RunScene | None = None
        self.stamps: Any = None
        self.shown: dict[str, Row] = {}  # the rows of tasks as they were made last

    def look(self, *, whole: bool) -> Change:
        """Look at what is at work now, or at everything."""
        change = Change()
        if whole:
            change.stale = self._look_project()
            broken = self.cache.broken()
            change.tasks = self.cache.look(self.project)
            change.stale |= broken != self.cache.broken()  # which no row tells
            self._look_crew(change)
            change.stale |= self._look_runs()
        self._look_run(change)
        busy = self.run.scene.running if self.run and self.run.live else ()
        change.tasks |= {ident for ident in {*busy, *change.named} if self.cache.look_at(ident)}
        change.tasks |= {ident for ident in change.named if ident in self.cache.known or ident in self.crew.notes}
        self._forget(change)
        return change

    def _forget(self, change: Change) -> None:
        """Rows that may be others now are made again when somebody asks."""
        if change.stale:
            self.shown = {}
        for ident in self.web.around(change.tasks):
            self.shown.pop(ident, None)

    def distrust(self) -> None:
        """Let the next look read everything again: the last one was broken off halfway."""
        self.cache.distrust()
        self.stamps = self.crew.stamps = None
        self.shelf.stamps, self.shown = {}, {}

    def _look_crew(self, change: Change) -> None:
        before = self.crew.glance
        if self.crew.look():
            change.tasks |= set(self.crew.notes)
            change.stale |= before != self.crew.glance

    def _look_project(self) -> bool:
        """Whether the project is another one, or in another state, or on another branch."""
        stamps = (stamp(projects.path(self.home)), self.home.checkout.branch())
        if stamps == self.stamps:
            return False
        self.stamps = stamps
        self.project = self.problem = None
        try:
            self.project = projects.load(self.home) if projects.exists(self.home) else None
        except SowError as error:
            self.problem = error
        return True

    def _look_runs(self) -> bool:
        """Whether there are other runs, another one is the current one, or it began or ceased to go on."""
        before = self._standing()
        self.shelf.look()
        current = self.shelf.current()
        if current is None:
            self.run = None
        elif self.run is None or self.run.id != current.id:
            self.run = RunScene(current, self.standpoint)
        if self.run is not None and current is not None:
            self.run.folder, self.run.live = current, runs.is_live(current)
        return before != self._standing()

    def _standing(self) -> tuple[Any, ...]:
        run = (self.run.id, self.run.live, self.run.folder.run["status"]) if self.run else ()
        return (sorted(self.shelf.folders), *run)

    def _look_run(self, change: Change) -> None:
        """Read on in the journal; one that was taken away or replaced is begun anew."""
        while self.run is not None:
            found = self.run.look()
            if found is None:
                live, self.run = self.run.live, RunScene(self.run.folder, self.standpoint)
                self.run.live, change.heard, change.stale = live, [], True
                found = self.run.look() or []
            change.named |= {heard.entry.task for heard in found}
            change.heard = [*change.heard, *found][-MOST_HEARD:]
            if not self.run.tail.more:
                return

    def rows(self) -> list[Row]:
        """All tasks of the project, then all agents of the workflow; what did not change is not made again."""
        known = self.cache.known
        idents = sorted((ident for ident, each in known.items() if each.task), key=int)
        new = [ident for ident in idents if ident not in self.shown]
        self.shown |= {ident: self._row(ident) for ident in new}
        crew = self.crew.rows(self.run)
        rows = [*(self.shown[ident] for ident in idents), *crew]
        statuses = {row["id"]: row["status"] for row in rows}
        late = rows if self.web.learn(rows) else [*(self.shown[ident] for ident in new), *crew]
        for row in late:
            self.web.tell(row, statuses)
        return rows

    def _row(self, ident: str) -> Row:
        known = self.cache.known[ident]
        executor = self.workers.executor(self.cache.desk(ident), known.task, self.run)
        return of_task(known.task, phase=known.phase, notes=known.notes, executor=executor, run=self.run)

    def some_rows(self, idents: set[str]) -> list[Row]:
        """The rows of some tasks or agents."""
        statuses = {ident: known.task["status"] for ident, known in self.cache.known.items() if known.task}
        rows = [self._row(ident) for ident in sorted(idents & statuses.keys(), key=int)]
        crew = self.crew.rows(self.run)
        statuses |= {row["id"]: row["status"] for row in crew}
        rows += [row for row in crew if row["id"] in idents]
        return [self.web.tell(row, statuses) for row in rows]

    def around(self, idents: set[str]) -> set[str]:
        """These tasks and agents, and those that wait for one of them."""
        return self.web.around(idents)

    def inbox(self) -> list[Item]:
        """What waits for a person."""
        if self.project is None:
            return ranked(waiting.of_workflow(self.home) or ())
        tasks = [known.task for known in self.cache.known.values() if known.task]
        busy = self.run.folder.run["tasks"] if self.run and self.run.live else ()
        return waiting.everything(self.home, self.project, tasks, self.cache.broken(), set(busy))

    def _next(self, inbox: list[Item]) -> dict[str, Any]:
        """What to do now."""
        if self.problem is not None:
            return {"text": self.problem.message, "command": self.problem.hint}
        if self.project is None:
            return advice.without_project(self.crew.glance)
        where = {ident: known.phase for ident, known in self.cache.known.items() if known.task}
        tasks = [self.cache.known[ident].task for ident in sorted(where, key=int)]
        working = [(self.cache.desk(task["id"]), task) for task in tasks if task["status"] == "in_progress"]
        left, idle = look(working, self.standpoint)
        return advice.next_step(tasks, where, self.project["phases"], inbox, idle, left)

    def document(self) -> dict[str, Any]:
        """The whole at a glance."""
        rows = self.rows()
        counts: dict[str, int] = {}
        for row in rows:
            counts[row["status"]] = counts.get(row["status"], 0) + 1
        inbox = self.inbox()
        problem = {"project": self.problem.message} if self.problem else {}
        return {
            "version": __version__,
            "root": self.home.root,
            "branch": self.home.checkout.branch(),
            "project": self._project(),
            "workflow": self.crew.glance,
            "run": self.run_now(),
            "tasks": rows,
            "critical": self.web.critical(rows),
            "counts": counts,
            "inbox": inbox,
            "broken": {**problem, **self.cache.broken()},
            "next": self._next(inbox),
        }

    def run_now(self) -> dict[str, Any] | None:
        """The run at this moment."""
        return self.run.document(time.time()) if self.run else None

    def _project(self) -> dict[str, Any] | None:
        if self.project is None:
            return None
        phases = [{"name": each["name"], "status": each["status"]} for each in self.project["phases"]]
        known: Any = self.project
        return {**{key: known[key] for key in ("project_id", "name", "description", "branch")}, "phases": phases}
