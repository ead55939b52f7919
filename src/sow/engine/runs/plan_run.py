"""Runs a plan: schedules its tasks and reacts to what people do to them meanwhile."""

from __future__ import annotations

from sow.domain.plans import graph
from sow.domain.runs.forecast import Forecast
from sow.domain.runs.scheduler import JOB_STATUS, Job, Scheduler
from sow.domain.task import ENDED_STATUSES as ENDED
from sow.engine.checks import final_checks
from sow.engine.runs.loop import STOPPED, Loop
from sow.engine.runs.plan_watch import PlanWatch
from sow.engine.runs.state_guard import StateGuard
from sow.engine.runs.task_job import TaskJob
from sow.store.projects import log, past_tasks, task_updates
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.system.process.generator_steps import run_to_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.config import ExecutorConfig
    from sow.domain.documents.state import LogEntry, Task
    from sow.domain.runs.budget import Breaker, Budget
    from sow.engine.runs.run_context import JobEnd, RunContext
    from sow.errors import SowError
    from sow.store.projects.task_folder import TaskFolder
    from sow.system.process.generator_steps import Steps

LONGEST_REASON = 500


class PlanLoop(Loop):
    """One call of `sow run`."""

    __slots__ = ("guard", "log_lengths", "plans", "tasks")

    def __init__(self, context: RunContext, *, tick: Callable[[float], None]) -> None:
        tasks = _tasks(context)
        self.tasks = {task["id"]: task for _, task in tasks}
        self.guard = _guard(context)
        self.plans = PlanWatch(context.home, context.folder.run["plans"])
        self.log_lengths: dict[str, int] = {}  # number of entries in a task's log when its job began
        super().__init__(context, [folder for folder, _ in tasks], tick=tick)
        self.background = context.baselines.run_in_background(
            context, [task for _, task in tasks if task["status"] not in ENDED]
        )

    def run(self) -> int:
        """Run all tasks, then check the final tree; repeat if that sent a task back."""
        code = super().run()
        while code != STOPPED:
            result = run_to_end(final_checks.settle(self.context))
            if result == final_checks.INTERRUPTED:
                self.interrupts += 1
                return STOPPED
            if result != final_checks.AGAIN:
                break
            self.tasks = {task["id"]: task for _, task in _tasks(self.context)}
            self.rebuild_scheduler()
            code = super().run()
        return code

    def make_board(self) -> Scheduler:
        return _board(self.context, list(self.tasks.values()), (self.budget, self.breaker))

    def job(self, ident: str) -> Steps[JobEnd]:
        self.log_lengths[ident] = len(self._log(ident))
        return TaskJob(self.context, ident).run()

    def iteration(self, ident: str) -> int:
        return self._task(ident)["iteration"]

    def restore_state(self) -> list[str]:
        return self.guard.check(self.running)

    def watch_plan(self) -> None:
        for path in self.plans.changed():
            self.context.journal("plan_changed", path=path)

    def refresh_job(self, ident: str) -> None:
        status = JOB_STATUS.get(self._task(ident)["status"], "waiting")
        if status == "waiting":
            self.journal_answers()
            self.board.answered(ident)
        elif status in ("completed", "abandoned") or status != self.board.status(ident):
            self.board.ended(ident, status)

    def answered_by(self, ident: str, number: int | str) -> str | None:
        questions = self._task(ident)["questions"] if ident in self.tasks else []
        return next((question["answered_by"] for question in questions if question["number"] == number), None)

    def end_facts(self, ident: str) -> dict[str, Any]:
        task = self._task(ident)
        return {"status": task["status"], "result": task.get("result"), "retry_count": task.get("retry_count", 0)}

    def end_reason(self, ident: str, ended: JobEnd) -> str:
        """Return the last entry in a failed task's log since its job began; it says why the task was given up."""
        if ended.status != "failed":
            return ended.reason
        entries = self._log(ident)[self.log_lengths[ident] :]
        return entries[-1]["text"].split("\n")[0][:LONGEST_REASON] if entries else ended.reason

    def _log(self, ident: str) -> list[LogEntry]:
        return log.read(self.context.home, self.guard.folders[ident].log_path)

    def ask(self, ident: str, problem: SowError) -> int:
        project = projects.load(self.context.home)
        folder = task_folders.find(self.context.home, project, ident)
        task = self._task(ident)
        feedback = (
            task_updates.latest_feedback(folder, task) if task["status"] == "in_progress" else ""
        )  # for its next turn
        return task_updates.ask(folder, project, f"{problem.message} ({problem.hint})", found=feedback)

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        return self.context.executors_of(self.context.role_of(self.tasks[ident]).name)

    def _task(self, ident: str) -> Task:
        """Load a task on which no agent works now."""
        restored = self.guard.restore_task(ident)
        if restored is not None:
            self.context.journal("restored", task=ident, **restored)
        return self.guard.folders[ident].task()


def _guard(context: RunContext) -> StateGuard:
    project = projects.load(context.home)
    run_ids = set(context.folder.run["tasks"])
    return StateGuard(
        context.home,
        project,
        [folder for folder in task_folders.all_folders(context.home, project) if folder.id in run_ids],
    )


def _tasks(context: RunContext) -> list[tuple[TaskFolder, Task]]:
    project = projects.load(context.home)
    run_ids = set(context.folder.run["tasks"])
    return [pair for pair in task_folders.load_readable(context.home, project)[0] if pair[1]["id"] in run_ids]


def _needs(context: RunContext, tasks: list[Task]) -> dict[str, list[str]]:
    """Return what each task waits for; an uncompleted dependency outside this run blocks it for good."""
    run_ids = {task["id"] for task in tasks}
    project = projects.load(context.home)
    completed = {
        task["id"] for _, task in task_folders.load_readable(context.home, project)[0] if task["status"] == "completed"
    }
    return {
        task["id"]: [
            *(ident for ident in task["depends_on"] if ident in run_ids or ident not in completed),
            *(ident for ident in task.get("after", ()) if ident in run_ids),
        ]
        for task in tasks
    }


def _board(context: RunContext, tasks: list[Task], guards: tuple[Budget, Breaker]) -> Scheduler:
    """Build the scheduler, with the longest chain of tasks first."""
    needs = _needs(context, tasks)
    forecast = Forecast(past_tasks.finished_tasks(context.home))
    minutes = {
        task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")).minutes for task in tasks
    }
    inner = {task: [ident for ident in needed if ident in minutes] for task, needed in needs.items()}
    remaining = graph.chain_lengths(inner, minutes)
    wave = {task: number for number, level in enumerate(graph.waves(inner), 1) for task in level}
    return Scheduler(
        [
            Job(
                task["id"],
                needs=needs[task["id"]],
                rest=remaining[task["id"]],
                wave=wave[task["id"]],
                pool=context.executors_of(context.role_of(task).name)[0].name,
                files=task.get("files", ()),
                status=JOB_STATUS.get(task["status"], "waiting"),
            )
            for task in tasks
        ],
        slots=context.settings["max_concurrency"],
        pool_slots=context.pool_slots(),
        schedule=context.settings["schedule"],
        share="none" if context.isolation is None else "",
        guards=guards,
    )
