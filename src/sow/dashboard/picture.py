"""Holds the state of a checkout (project, tasks, workflow, runs), and reports what changed since the last look."""

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
    """The result of one look: changed tasks, new journal entries, and whether more than that changed."""

    __slots__ = ("heard", "named", "stale", "tasks")

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.heard: list[Heard] = []  # the last ones, if there were many
        self.named: set[str] = set()  # the tasks and agents that the entries are about
        self.stale = False


class Picture:
    """The state of one checkout; not safe for two threads at once."""

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
        self.shown: dict[str, Row] = {}  # the latest rows of tasks

    def look(self, *, whole: bool) -> Change:
        """Reads what is running now, or everything."""
        change = Change()
        if whole:
            change.stale = self._look_project()
            broken = self.cache.broken()
            change.tasks = self.cache.look(self.project)
            change.stale |= broken != self.cache.broken()  # no row shows a broken task
            self._look_crew(change)
            change.stale |= self._look_runs()
        self._look_run(change)
        busy = self.run.scene.running if self.run and self.run.live else ()
        change.tasks |= {ident for ident in {*busy, *change.named} if self.cache.look_at(ident)}
        change.tasks |= {ident for ident in change.named if ident in self.cache.known or ident in self.crew.notes}
        self._forget(change)
        return change

    def _forget(self, change: Change) -> None:
        """Drops rows that may have changed; they are made again when somebody asks."""
        if change.stale:
            self.shown = {}
        for ident in self.web.around(change.tasks):
            self.shown.pop(ident, None)

    def distrust(self) -> None:
        """Makes the next look read everything again, because the last one stopped halfway."""
        self.cache.distrust()
        self.stamps = self.crew.stamps = None
        self.shelf.stamps, self.shown = {}, {}

    def _look_crew(self, change: Change) -> None:
        before = self.crew.glance
        if self.crew.look():
            change.tasks |= set(self.crew.notes)
            change.stale |= before != self.crew.glance

    def _look_project(self) -> bool:
        """Reads the project if it or the branch changed; returns whether it did."""
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
        """Reads the runs; returns whether the list, the current run or its status changed."""
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
        """Reads the new journal entries; starts again if the journal was deleted or replaced."""
        while self.run is not None:
            entries = self.run.look()
            if entries is None:
                live, self.run = self.run.live, RunScene(self.run.folder, self.standpoint)
                self.run.live, change.heard, change.stale = live, [], True
                entries = self.run.look() or []
            change.named |= {item.entry.task for item in entries}
            change.heard = [*change.heard, *entries][-MOST_HEARD:]
            if not self.run.tail.more:
                return

    def rows(self) -> list[Row]:
        """Returns the rows of all tasks and agents; only changed rows are made again."""
        tasks = self.cache.known
        idents = sorted((ident for ident, cached in tasks.items() if cached.task), key=int)
        new = [ident for ident in idents if ident not in self.shown]
        self.shown |= {ident: self._row(ident) for ident in new}
        crew = self.crew.rows(self.run)
        rows = [*(self.shown[ident] for ident in idents), *crew]
        statuses = {row["id"]: row["status"] for row in rows}
        outdated = rows if self.web.learn(rows) else [*(self.shown[ident] for ident in new), *crew]
        for row in outdated:
            self.web.tell(row, statuses)
        return rows

    def _row(self, ident: str) -> Row:
        cached = self.cache.known[ident]
        executor = self.workers.executor(self.cache.desk(ident), cached.task, self.run)
        return of_task(cached.task, phase=cached.phase, notes=cached.notes, executor=executor, run=self.run)

    def some_rows(self, idents: set[str]) -> list[Row]:
        """Returns the rows of some tasks or agents."""
        statuses = {ident: cached.task["status"] for ident, cached in self.cache.known.items() if cached.task}
        rows = [self._row(ident) for ident in sorted(idents & statuses.keys(), key=int)]
        crew = self.crew.rows(self.run)
        statuses |= {row["id"]: row["status"] for row in crew}
        rows += [row for row in crew if row["id"] in idents]
        return [self.web.tell(row, statuses) for row in rows]

    def around(self, idents: set[str]) -> set[str]:
        """Returns these tasks and agents, and those that wait for one of them."""
        return self.web.around(idents)

    def inbox(self) -> list[Item]:
        """Returns what waits for the user."""
        if self.project is None:
            return ranked(waiting.of_workflow(self.home) or ())
        tasks = [cached.task for cached in self.cache.known.values() if cached.task]
        busy = self.run.folder.run["tasks"] if self.run and self.run.live else ()
        return waiting.everything(self.home, self.project, tasks, self.cache.broken(), set(busy))

    def _next(self, inbox: list[Item]) -> dict[str, Any]:
        """Returns the next step for the user."""
        if self.problem is not None:
            return {"text": self.problem.message, "command": self.problem.hint}
        if self.project is None:
            return advice.without_project(self.crew.glance)
        phase_by_id = {ident: cached.phase for ident, cached in self.cache.known.items() if cached.task}
        tasks = [self.cache.known[ident].task for ident in sorted(phase_by_id, key=int)]
        working = [(self.cache.desk(task["id"]), task) for task in tasks if task["status"] == "in_progress"]
        still_running, idle = look(working, self.standpoint)
        return advice.next_step(tasks, phase_by_id, self.project["phases"], inbox, idle, still_running)

    def document(self) -> dict[str, Any]:
        """Returns the overview."""
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
        """Returns the current run."""
        return self.run.document(time.time()) if self.run else None

    def _project(self) -> dict[str, Any] | None:
        if self.project is None:
            return None
        phases = [{"name": phase["name"], "status": phase["status"]} for phase in self.project["phases"]]
        project: Any = self.project
        return {**{key: project[key] for key in ("project_id", "name", "description", "branch")}, "phases": phases}
