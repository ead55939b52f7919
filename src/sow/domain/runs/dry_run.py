"""Predicts for each task of a plan whether a run would start it, continue it or leave it alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sow.domain.plans.plan import PlanTask
from sow.domain.runs.scheduler import JOB_STATUS, Job, Scheduler

JOB_STATUS = {**JOB_STATUS, "skipped": "abandoned"}  # the word in a plan
SKIP_REASONS = {"asking": "asks a question: sow inbox", "failed": "failed; to retry it, add --retry-failed"}


class DryRun:
    """The tasks that a run would work on, those of them that have begun, and the reasons for the others."""

    def __init__(self, tasks: Sequence[PlanTask], chosen: Collection[str], *, skipped: Collection[str]) -> None:
        """Computes it for the chosen tasks. No task waits for one that the plan skips."""
        statuses = {task.id: task.status for task in tasks if task.id not in skipped}
        jobs = [
            Job(task.id, needs=_needs(task, chosen, statuses), status=JOB_STATUS.get(task.status, "waiting"))
            for task in tasks
            if task.id in chosen
        ]
        scheduler = Scheduler(jobs, slots=1)
        blocked = scheduler.blocked()
        statuses = scheduler.statuses()
        self.skip_reasons = {
            task_id: blocked.get(task_id) or SKIP_REASONS[status]
            for task_id, status in statuses.items()
            if task_id in blocked or status in SKIP_REASONS
        }
        open_jobs = [job for job in jobs if statuses[job.id] == "waiting" and job.id not in blocked]
        open_ids = {job.id for job in open_jobs}
        self.needs = {job.id: [need for need in job.needs if need in open_ids] for job in open_jobs}
        self.continued = [task.id for task in tasks if task.id in open_ids and task.status != "pending"]


def _needs(task: PlanTask, chosen: Collection[str], statuses: Mapping[str, str]) -> list[str]:
    """Returns the dependencies of a task that are not done, and its implied predecessors in this run."""
    needs = [task_id for task_id in task.depends_on if task_id in chosen or statuses.get(task_id) != "completed"]
    needs += [task_id for task_id in task.implied_dependencies if task_id in chosen]
    return [task_id for task_id in needs if task_id in statuses]
