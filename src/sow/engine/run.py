"""Runs a plan: puts its tasks on the board and reacts to what people do to them meanwhile."""

from __future__ import annotations

from sow.domain import graph
from sow.domain.decide import STANDINGS, Board, Job
from sow.domain.forecast import Forecast
from sow.domain.task import ENDED_STATUSES as ENDED
from sow.engine import final_checks
from sow.engine.home_guard import HomeGuard
from sow.engine.job import TaskJob
from sow.engine.loop import STOPPED, Loop
from sow.engine.plan_watch import PlanWatch
from sow.engine.steps import drive
from sow.store import desk as desks
from sow.store import log, past, run_acts
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.config import ExecutorConfig
    from sow.domain.budget import Breaker, Budget
    from sow.domain.shapes import LogEntry, Task
    from sow.engine.ended import Ended
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps
    from sow.errors import SowError
    from sow.store.desk import Desk

LONGEST_REASON = 500


class PlanLoop(Loop):
    """One call of `sow run`."""

    __slots__ = ("guard", "logged", "plans", "tasks")

    def __init__(self, ship: Ship, *, tick: Callable[[float], None]) -> None:
        tasks = _tasks(ship)
        self.tasks = {task["id"]: task for _, task in tasks}
        self.guard = _guard(ship)
        self.plans = PlanWatch(ship.home, ship.folder.run["plans"])
        self.logged: dict[str, int] = {}  # number of entries in a task's log when its job began
        super().__init__(ship, [desk for desk, _ in tasks], tick=tick)
        self.background = ship.baselines.ahead(ship, [task for _, task in tasks if task["status"] not in ENDED])

    def sail(self) -> int:
        """Run all tasks, then check the final tree; repeat if that sent a task back."""
        code = super().sail()
        while code != STOPPED:
            result = drive(final_checks.settle(self.ship))
            if result == final_checks.INTERRUPTED:
                self.interrupts += 1
                return STOPPED
            if result != final_checks.AGAIN:
                break
            self.tasks = {task["id"]: task for _, task in _tasks(self.ship)}
            self.renew_board()
            code = super().sail()
        return code

    def make_board(self) -> Board:
        return _board(self.ship, list(self.tasks.values()), (self.budget, self.breaker))

    def job(self, ident: str) -> Steps[Ended]:
        self.logged[ident] = len(self._log(ident))
        return TaskJob(self.ship, ident).steps()

    def iteration(self, ident: str) -> int:
        return self._task(ident)["iteration"]

    def watch_home(self) -> list[str]:
        return self.guard.check(self.running)

    def watch_plan(self) -> None:
        for path in self.plans.changed():
            self.ship.tell("plan_changed", path=path)

    def look_at(self, ident: str) -> None:
        task = self._task(ident)
        status = STANDINGS.get(task["status"], "waiting")
        if status == "waiting":
            self.tell_answers()
            self.board.answered(ident)
        elif status in ("completed", "abandoned") or status != self.board.status(ident):
            self.board.ended(ident, status)

    def who_answered(self, ident: str, number: int | str) -> str | None:
        questions = self._task(ident)["questions"] if ident in self.tasks else []
        return next((question["answered_by"] for question in questions if question["number"] == number), None)

    def end_facts(self, ident: str) -> dict[str, Any]:
        task = self._task(ident)
        return {
            "status": task["status"],
            "result": task.get("result"),
            "retry_count": task.get("retry_count", 0),
        }

    def why(self, ident: str, ended: Ended) -> str:
        """Return the last entry in a failed task's log since its job began; it says why the task was given up."""
        if ended.status != "failed":
            return ended.reason
        entries = self._log(ident)[self.logged[ident] :]
        return entries[-1]["text"].split("\n")[0][:LONGEST_REASON] if entries else ended.reason

    def _log(self, ident: str) -> list[LogEntry]:
        return log.read(self.ship.home, self.guard.desks[ident].log_path)

    def ask(self, ident: str, problem: SowError) -> int:
        project = projects.load(self.ship.home)
        desk = desks.find(self.ship.home, project, ident)
        task = self._task(ident)
        feedback = run_acts.last_words(desk, task) if task["status"] == "in_progress" else ""  # for its next turn
        return run_acts.ask(desk, project, f"{problem.message} ({problem.hint})", found=feedback)

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        return self.ship.executors_of(self.ship.role_of(self.tasks[ident]).name)

    def _task(self, ident: str) -> Task:
        """Load a task on which no agent works now."""
        restored = self.guard.mend(ident)
        if restored is not None:
            self.ship.tell("restored", task=ident, **restored)
        return self.guard.desks[ident].task()


def _guard(ship: Ship) -> HomeGuard:
    project = projects.load(ship.home)
    run_ids = set(ship.folder.run["tasks"])
    return HomeGuard(ship.home, project, [desk for desk in desks.desks(ship.home, project) if desk.id in run_ids])


def _tasks(ship: Ship) -> list[tuple[Desk, Task]]:
    project = projects.load(ship.home)
    run_ids = set(ship.folder.run["tasks"])
    return [pair for pair in desks.load_all(ship.home, project)[0] if pair[1]["id"] in run_ids]


def _needs(ship: Ship, tasks: list[Task]) -> dict[str, list[str]]:
    """Return what each task waits for; an uncompleted dependency outside this run blocks it for good."""
    run_ids = {task["id"] for task in tasks}
    project = projects.load(ship.home)
    completed = {task["id"] for _, task in desks.load_all(ship.home, project)[0] if task["status"] == "completed"}
    return {
        task["id"]: [
            *(ident for ident in task["depends_on"] if ident in run_ids or ident not in completed),
            *(ident for ident in task.get("after", ()) if ident in run_ids),
        ]
        for task in tasks
    }


def _board(ship: Ship, tasks: list[Task], guards: tuple[Budget, Breaker]) -> Board:
    """Build the board, with the longest chain of tasks first."""
    needs = _needs(ship, tasks)
    forecast = Forecast(past.finished(ship.home))
    minutes = {
        task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")).minutes for task in tasks
    }
    inner = {task: [ident for ident in needed if ident in minutes] for task, needed in needs.items()}
    remaining = graph.lengths(inner, minutes)
    wave = {task: number for number, level in enumerate(graph.waves(inner), 1) for task in level}
    return Board(
        [
            Job(
                task["id"],
                needs=needs[task["id"]],
                rest=remaining[task["id"]],
                wave=wave[task["id"]],
                pool=ship.executors_of(ship.role_of(task).name)[0].name,
                files=task.get("files", ()),
                status=STANDINGS.get(task["status"], "waiting"),
            )
            for task in tasks
        ],
        slots=ship.settings["max_concurrency"],
        pool_slots=ship.pool_slots(),
        schedule=ship.settings["schedule"],
        share="none" if ship.isolation is None else "",
        guards=guards,
    )
