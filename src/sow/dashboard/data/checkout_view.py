"""Holds the state of a checkout (project, tasks, workflow, runs), and reports what changed since the last refresh."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from sow import __version__
from sow.dashboard.data.runs import FollowedEntry, RunCache, RunFollower
from sow.dashboard.data.task_cache import ExecutorCache, TaskCache
from sow.dashboard.data.task_rows import Crew, Dependencies, Row, task_row
from sow.domain import inbox as inbox_rules
from sow.domain.documents.state import ProjectState
from sow.domain.inbox import Item, ranked
from sow.errors import SowError
from sow.gitwork.merge_command import command_after_removal
from sow.reports.idle_tasks import ProjectRuns, idle_tasks, name_commands
from sow.reports.next_steps import HintContext
from sow.store import inbox as store_inbox
from sow.store import planning
from sow.store.files.checkout_home import Home, start_command
from sow.store.files.file_cache import fingerprint
from sow.store.projects import project as projects
from sow.store.runs import run_folder

MOST_HEARD = 2000


class ViewChange:
    """The result of one refresh: changed tasks, new journal entries, and whether more than that changed."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.entries: list[FollowedEntry] = []  # the last ones, if there were many
        self.mentioned: set[str] = set()  # the tasks and agents that the entries are about
        self.stale = False


class CheckoutView:
    """The state of one checkout; not safe for two threads at once."""

    def __init__(self, home: Home, hint_context: HintContext) -> None:
        self.home = home
        self.hint_context = hint_context
        self.cache = TaskCache(home)
        self.crew = Crew(home)
        self.run_index = RunCache(home)
        self.dependencies = Dependencies()
        self.executors = ExecutorCache()
        self.project: ProjectState | None = None
        self.problem: SowError | None = None
        self.project_runs: tuple[Any, ProjectRuns] | None = None
        self.run: RunFollower | None = None
        self.project_mark: Any = None
        self.planner_questions: list[Item] = []
        self.rows_by_id: dict[str, Row] = {}  # the latest rows of tasks

    def refresh(self, *, whole: bool) -> ViewChange:
        """Reads what is running now, or everything."""
        change = ViewChange()
        if whole:
            change.stale = self._refresh_project()
            broken = self.cache.problems()
            change.tasks = self.cache.refresh(self.project)
            change.stale |= broken != self.cache.problems()  # no row shows a broken task
            self._refresh_crew(change)
            change.stale |= self._refresh_runs() | self._refresh_planners()
        self._refresh_run(change)
        busy = self.run.history.running if self.run and self.run.live else ()
        change.tasks |= {ident for ident in {*busy, *change.mentioned} if self.cache.refresh_task(ident)}
        change.tasks |= {ident for ident in change.mentioned if ident in self.cache.tasks or ident in self.crew.notes}
        self._forget(change)
        return change

    def _forget(self, change: ViewChange) -> None:
        """Drops rows that may have changed; they are made again when somebody asks."""
        if change.stale:
            self.rows_by_id = {}
        for ident in self.dependencies.with_dependents(change.tasks):
            self.rows_by_id.pop(ident, None)

    def invalidate(self) -> None:
        """Makes the next refresh read everything again, because the last one stopped halfway."""
        self.cache.invalidate()
        self.run_index.folders.invalidate()
        self.project_mark = self.crew.marks = None
        self.rows_by_id = {}

    def _refresh_crew(self, change: ViewChange) -> None:
        before = self.crew.summary
        if self.crew.refresh():
            change.tasks |= set(self.crew.notes)
            change.stale |= before != self.crew.summary

    def _refresh_project(self) -> bool:
        """Reads the project if it or the branch changed; returns whether it did."""
        mark = (fingerprint(projects.path(self.home)), self.home.checkout.branch())
        if mark == self.project_mark:
            return False
        self.project_mark = mark
        self.project = self.problem = None
        try:
            self.project = projects.load(self.home) if projects.exists(self.home) else None
        except SowError as error:
            self.problem = error
        return True

    def _refresh_planners(self) -> bool:
        """Reads the questions of planners; returns whether they changed."""
        before, self.planner_questions = self.planner_questions, planning.items(self.home)
        return before != self.planner_questions

    def _refresh_runs(self) -> bool:
        """Reads the runs; returns whether the list, the current run or its status changed."""
        before = self._run_fingerprint()
        self.run_index.refresh()
        current = self.run_index.current()
        if current is None:
            self.run = None
        elif self.run is None or self.run.id != current.id:
            self.run = RunFollower(current, self.hint_context)
        if self.run is not None and current is not None:
            self.run.folder, self.run.live = current, run_folder.is_live(current)
        return before != self._run_fingerprint()

    def _run_fingerprint(self) -> tuple[Any, ...]:
        run = (self.run.id, self.run.live, self.run.folder.run["status"]) if self.run else ()
        return ([folder.id for folder in self.run_index.all_folders()], *run)

    def _refresh_run(self, change: ViewChange) -> None:
        """Reads the new journal entries; starts again if the journal was deleted or replaced."""
        while self.run is not None:
            entries = self.run.refresh()
            if entries is None:
                live, self.run = self.run.live, RunFollower(self.run.folder, self.hint_context)
                self.run.live, change.entries, change.stale = live, [], True
                entries = self.run.refresh() or []
            change.mentioned |= {item.entry.task for item in entries}
            change.entries = [*change.entries, *entries][-MOST_HEARD:]
            if not self.run.tail.has_more:
                return

    def rows(self) -> list[Row]:
        """Returns the rows of all tasks and agents; only changed rows are made again."""
        idents = sorted((ident for ident, cached in self.cache.tasks.items() if cached.task), key=int)
        new = [ident for ident in idents if ident not in self.rows_by_id]
        self.rows_by_id |= {ident: self._row(ident) for ident in new}
        crew = self.crew.rows(self.run)
        rows = [*(self.rows_by_id[ident] for ident in idents), *crew]
        statuses = {row["id"]: row["status"] for row in rows}
        outdated = rows if self.dependencies.update(rows) else [*(self.rows_by_id[ident] for ident in new), *crew]
        for row in outdated:
            self.dependencies.fill_row(row, statuses)
        return rows

    def _row(self, ident: str) -> Row:
        cached = self.cache.tasks[ident]
        executor = self.executors.executor(self.cache.folder(ident), cached.task, self.run)
        notes = self.cache.open_notes.get(ident, 0)
        return task_row(cached.task, phase=cached.phase, notes=notes, executor=executor, run=self.run)

    def some_rows(self, idents: set[str]) -> list[Row]:
        """Returns the rows of some tasks or agents."""
        statuses = {ident: cached.task["status"] for ident, cached in self.cache.tasks.items() if cached.task}
        rows = [self._row(ident) for ident in sorted(idents & statuses.keys(), key=int)]
        crew = self.crew.rows(self.run)
        statuses |= {row["id"]: row["status"] for row in crew}
        rows += [row for row in crew if row["id"] in idents]
        return [self.dependencies.fill_row(row, statuses) for row in rows]

    def with_dependents(self, idents: set[str]) -> set[str]:
        """Returns these tasks and agents, and those that wait for one of them."""
        return self.dependencies.with_dependents(idents)

    def inbox(self) -> list[Item]:
        """Returns what waits for the user."""
        if self.project is None:
            return ranked(store_inbox.items_outside_project(self.home) or ())
        tasks = [cached.task for cached in self.cache.tasks.values() if cached.task]
        busy = self.run.folder.run["tasks"] if self.run and self.run.live else ()
        items = store_inbox.project_inbox_items(self.home, self.project, tasks, self.cache.problems(), set(busy))
        name_commands(items, self.runs_of_project())
        return items

    def runs_of_project(self) -> ProjectRuns:
        """Returns the runs and the commands that continue them, which are kept until a run or the project changes."""
        listed = self.run_index.all_folders()
        histories = {self.run.id: self.run.history} if self.run else {}
        state = (listed, [*histories], self.project and self.project["project_id"], len(self.cache.tasks))
        if self.project_runs is None or self.project_runs[0] != state:
            runs = ProjectRuns(self.home, self.hint_context, listed=listed, histories=histories)
            self.project_runs = state, runs
        return self.project_runs[1]

    def _next(self, inbox: list[Item]) -> dict[str, Any]:
        if self.problem is not None:
            return {"text": self.problem.message, "command": self.problem.hint}
        if self.project is None:
            return inbox_rules.without_project(
                self.crew.summary, inbox, start_command(self.home), command_after_removal(self.home)
            )
        phase_by_id = {ident: cached.phase for ident, cached in self.cache.tasks.items() if cached.task}
        tasks = [self.cache.tasks[ident].task for ident in sorted(phase_by_id, key=int)]
        working = [(self.cache.folder(task["id"]), task) for task in tasks if task["status"] == "in_progress"]
        runs = self.runs_of_project()
        still_running, idle = idle_tasks(working, runs)
        phases = self.project["phases"]
        return inbox_rules.next_step(
            tasks, phase_by_id, phases, inbox, idle, still_running, runs.plan_command, lambda: runs.last_step
        )

    def document(self) -> dict[str, Any]:
        """Returns the overview."""
        rows = self.rows()
        counts = Counter(row["status"] for row in rows)
        inbox = self.inbox()
        problem = {"project": self.problem.message} if self.problem else {}
        return {
            "version": __version__,
            "root": self.home.root,
            "branch": self.home.checkout.branch(),
            "project": self._project(),
            "workflow": self.crew.summary,
            "run": self.run_now(),
            "tasks": rows,
            "critical": self.dependencies.critical(rows),
            "counts": counts,
            "inbox": inbox,
            "broken": {**problem, **self.cache.problems()},
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
