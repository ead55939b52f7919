"""Runs a plan: schedules its tasks and reacts to what people do to them meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sow.config import ExecutorConfig
from sow.domain.documents.state import LogEntry, Task
from sow.domain.plans import graph
from sow.domain.plans.graph import Forecast
from sow.domain.runs.scheduler import JOB_STATUS, Job
from sow.domain.task import ENDED_STATUSES as ENDED
from sow.domain.task import shown_result
from sow.engine.checks import check_list, final_checks
from sow.engine.runs import finish
from sow.engine.runs.loop import Loop, StateGuard, changed_states
from sow.engine.runs.run_context import RunContext
from sow.engine.runs.run_job import JobEnd
from sow.engine.runs.task_job import TaskJob
from sow.errors import INTERRUPTED, WAITS, SowError
from sow.store.files.file_cache import FileCache
from sow.store.projects import log, plan_files, plan_import, task_updates
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.past_tasks import finished_tasks
from sow.store.projects.project import WrongBranch
from sow.store.projects.task_folder import TaskFolder
from sow.system.process.child_process import run_to_end
from sow.system.process.steps import Steps

LONGEST_REASON = 500


class PlanLoop(Loop):
    """One call of `sow run`."""

    def __init__(self, context: RunContext, *, tick: Callable[[float], None]) -> None:
        check_list.answer_other_tasks(context, projects.load(context.home))
        tasks, run_ids = _tasks(context), set(context.folder.run["tasks"])
        self.tasks = {task["id"]: task for _, task in tasks}
        project = projects.load(context.home)
        self.guard = StateGuard(
            context.home,
            project,
            [folder for folder in task_folders.all_folders(context.home, project) if folder.id in run_ids],
        )
        self.plans = {
            plan_files.current_path(os.path.join(context.home.root, plan["path"])): plan
            for plan in context.folder.run["plans"]
        }
        self.seen_plans: FileCache[None] = FileCache()
        self.log_lengths: dict[str, int] = {}  # number of entries in a task's log when its job began
        super().__init__(context, [folder for folder, _ in tasks], tick=tick)
        self.background = context.baselines.run_in_background(
            context, [task for _, task in tasks if task["status"] not in ENDED]
        )

    def run(self) -> int:
        """Runs all tasks, then checks the final tree; repeats if that sent a task back."""
        code = super().run()
        while code != INTERRUPTED and not self.context.taken_over:
            try:
                result = run_to_end(final_checks.check_delivery(self.context), self.tick)
            except WrongBranch:  # the end of the call says so
                return code or WAITS
            if result == final_checks.STOP:
                self.interrupts += 1
                return INTERRUPTED
            if result != final_checks.AGAIN:
                break
            self.tasks = {task["id"]: task for _, task in _tasks(self.context)}
            self.rebuild_scheduler()
            code = super().run()
        return code

    def close(self, code: int) -> list[str]:
        is_left = code == INTERRUPTED or self.context.taken_over
        late = [] if is_left else run_to_end(self.context.turns.keep_late(self.context.home), self.tick)
        return late + run_to_end(finish.close(self.context, code), self.tick)

    def jobs(self) -> list[Job]:
        """Returns the tasks, with the longest chain first."""
        context, tasks = self.context, list(self.tasks.values())
        needs = self._needs(tasks)
        forecast = Forecast(finished_tasks(context.home))
        minutes = {
            task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")).minutes
            for task in tasks
        }
        inner = {task: [ident for ident in needed if ident in minutes] for task, needed in needs.items()}
        remaining = graph.chain_lengths(inner, minutes)
        wave = {task: number for number, level in enumerate(graph.waves(inner), 1) for task in level}
        return [
            Job(
                task["id"],
                needs=needs[task["id"]],
                rest=remaining[task["id"]],
                wave=wave[task["id"]],
                pool=self.executors_for(task["id"])[0].name,
                files=task.get("files", ()),
                status=JOB_STATUS.get(task["status"], "waiting"),
            )
            for task in tasks
        ]

    def _needs(self, tasks: list[Task]) -> dict[str, list[str]]:
        """Returns what each task waits for; an uncompleted dependency outside this run blocks it for good."""
        ordered = {task["id"] for task in tasks if task["status"] != "abandoned"}
        loaded = task_folders.load_readable(self.context.home, projects.load(self.context.home))[0]
        completed = {task["id"] for _, task in loaded if task["status"] == "completed"}
        return {
            task["id"]: [
                *(ident for ident in task["depends_on"] if ident in self.tasks or ident not in completed),
                *(ident for ident in task.get("after", ()) if ident in ordered),
            ]
            for task in tasks
        }

    def job(self, ident: str) -> Steps[JobEnd]:
        self.log_lengths[ident] = len(self._log(ident))
        return TaskJob(self.context, ident).run()

    def iteration(self, ident: str) -> int:
        return self._task(ident)["iteration"]

    def restore_state(self) -> list[str]:
        return self.guard.check(self.running)

    def watch_plan(self) -> None:
        """Reports once that a plan was edited; the run continues with the plan that it began with."""
        for path, plan in list(self.plans.items()):
            if changed_states(self.seen_plans, path) and _digest(path) != plan["digest"]:
                self.context.journal("plan_changed", path=plan["path"])
                del self.plans[path]

    def job_status(self, ident: str) -> str:
        return JOB_STATUS.get(self._task(ident)["status"], "waiting")

    def answered_by(self, ident: str, number: int | str) -> str | None:
        questions = self._task(ident)["questions"] if ident in self.tasks else []
        return next((question["answered_by"] for question in questions if question["number"] == number), None)

    def end_facts(self, ident: str) -> dict[str, Any]:
        task = self._task(ident)
        return {
            "status": task["status"],
            "result": shown_result(task) or None,
            "retry_count": task.get("retry_count", 0),
        }

    def end_reason(self, ident: str, ended: JobEnd) -> str:
        """Returns the last entry in a failed task's log since its job began; it says why the task was given up."""
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
        return task_updates.ask(folder, project, f"{problem.message} ({problem.hint})", findings=feedback)

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        return self.context.turns.executors_of(self.context, self.context.role_of(self.tasks[ident]).name)

    def _task(self, ident: str) -> Task:
        """Loads a task on which no agent works now."""
        restored = self.guard.restore_task(ident)
        if restored is not None:
            self.context.journal("restored", task=ident, **restored)
        return self.guard.folders[ident].task()


def _digest(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            return plan_import.digest(file.read())
    except OSError:
        return ""


def _tasks(context: RunContext) -> list[tuple[TaskFolder, Task]]:
    project, run_ids = projects.load(context.home), set(context.folder.run["tasks"])
    return [pair for pair in task_folders.load_readable(context.home, project)[0] if pair[1]["id"] in run_ids]
