"""Runs the review stage of a task: asks every reviewer about the collected work, and finds related notes of others."""

from __future__ import annotations

from sow.domain.reviews import similar_notes
from sow.domain.text.agent_files import touches_agent_files
from sow.engine.runs.reviewer import MOST_DIFF, Reviewer, feedback_of, review_entry
from sow.engine.runs.run_context import JobEnd
from sow.engine.runs.work_stage import retry_time
from sow.errors import SowError
from sow.store.projects import notes, task_folder, task_updates
from sow.store.runs import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.domain.documents.state import ProjectState, Task
    from sow.domain.reviews.verdict import Verdict
    from sow.engine.runs.reviewer import ReviewReply
    from sow.engine.runs.run_context import Isolation, RunContext
    from sow.engine.runs.task_job import TaskJob
    from sow.system.process.generator_steps import Steps

TRIES = 3  # tries of a reviewer that fails, before a person is asked
SHARED = "(all tasks work in one folder: look at the files there)"


def review(job: TaskJob, task: Task) -> Steps[JobEnd | None]:
    """Ask every reviewer that has not reviewed this commit; a reviewer that is not available never counts as a pass."""
    context = job.context
    commit = task["work"]["commit"] if "work" in task and context.isolation is not None else ""
    reviewed_by = {
        entry["by"]
        for entry in task.get("reviews", ())
        if entry["iteration"] == task["iteration"] and entry.get("commit", "") == commit
    }
    for name in context.reviewers():
        if name not in reviewed_by:
            ended = yield from _ask(job, task, name, commit)
            if ended is not None:
                return ended
    return None


def _ask(job: TaskJob, task: Task, name: str, commit: str) -> Steps[JobEnd | None]:
    """Ask one reviewer: again if it fails, with another executor if it has reached a limit."""
    context = job.context
    executors = context.executors_of(name)
    failures = 0
    while failures < TRIES:
        reason = context.refuse_turn_reason()
        if reason:
            return JobEnd("waiting", reason=reason)
        free = context.free_executors(executors)
        if not free:
            first = context.first_free(executors)
            return JobEnd("waiting", reason=f"{first}, which plays {name}, has reached its limit", executor=first)
        executor = free[failures % len(free)]
        if not (yield from context.has_free_slot(executor, job.id)):
            return JobEnd("stopped")
        context.progress(job.id, f"{name} reviews")
        reply = yield from context.counted_turn(executor.name, _ask_in_checkout(job, task, name, executor, commit))
        outcome = reply.outcome
        if reply.verdict is not None:
            _write(job, task, name, commit, reply.verdict)
            return None
        if outcome.kind == "interrupted":
            return JobEnd("stopped")
        if outcome.kind in ("limited", "overloaded"):
            context.mark_limited(reply.executor, retry_time(outcome), outcome.reason)
        else:
            failures += 1
    return job.ask(f"{name} could not review this in {TRIES} tries: {outcome.reason or outcome.kind}")


def _write(job: TaskJob, task: Task, name: str, commit: str, verdict: Verdict) -> None:
    feedback = feedback_of(verdict)
    entry = review_entry(verdict, task, by=name, commit=commit)
    task_updates.add_review(job.folder, job.project, entry, feedback)
    counts = {"verdict": entry["verdict"], "by": name, "findings": len(entry["findings"])}
    job.context.journal("reviewed", task=job.id, iteration=task["iteration"], **counts, feedback=feedback[:2000])


def _ask_in_checkout(job: TaskJob, task: Task, name: str, executor: ExecutorConfig, commit: str) -> Steps[ReviewReply]:
    """Ask one reviewer with one executor, in its own checkout if there are worktrees."""
    context, isolation = job.context, job.context.isolation
    reviewing = Reviewer(context, job.folder, context.agents.get(name), executor, job.on_event)
    output = sessions.final_text(job.folder, task)
    related_notes = find_related_notes(context, job.project, job.id)
    if isolation is None or not commit:
        facts = {"output": output, "diff": SHARED, "related_notes": related_notes}
        return (yield from reviewing.ask(task, cwd=context.home.root, **facts, remarks=job.remarks))
    base = task["work"]["base"]
    touched = touches_agent_files(isolation.worktrees.changed_paths(base, commit))
    remarks = [*job.remarks, *(f"the change touches {path}, which steers agents" for path in touched)]
    diff = _merged_before(isolation, job.id) + isolation.worktrees.diff(base, commit, MOST_DIFF)
    cwd = isolation.worktrees.make_judge_checkout(job.id, commit, base)
    try:
        return (
            yield from reviewing.ask(
                task, cwd=cwd, output=output, diff=diff, remarks=remarks, related_notes=related_notes
            )
        )
    finally:
        isolation.worktrees.remove_judge_checkout(job.id)


def _merged_before(isolation: Isolation, task: str) -> str:
    """Return the diffs of a task's merged earlier iterations, because the delivery contains them, too."""
    merges = [merge for merge in isolation.integration.merges if merge["task"] == task]
    return "".join(
        f"Iteration {merge['iteration']}, merged before:\n"
        f"{isolation.worktrees.diff(merge['parent'], merge['commit'], MOST_DIFF)}\nThis iteration:\n"
        for merge in merges
    )


def find_related_notes(context: RunContext, project: ProjectState, task: str) -> str:
    """Return what this task and others of the run assume about one thing; empty if no other task has notes."""
    run_ids = set(context.folder.run["tasks"])
    entries: list[similar_notes.WorkerNotes] = []
    for folder, other_task in task_folder.load_readable(context.home, project)[0]:
        try:
            task_notes = notes.load_notes(folder) if other_task["id"] in run_ids else []
        except SowError:  # a broken file is reported by its own task
            task_notes = []
        if task_notes:
            entries.append((other_task["id"], _files(context, other_task), task_notes))
    if len(entries) < 2:
        return ""
    return "\n\n".join(group.text() for group in similar_notes.groups(entries, of=task))


def _files(context: RunContext, task: Task) -> list[str]:
    """Return the files that a task was planned to touch and those that its work touches."""
    planned = list(task.get("files", ()))
    if context.isolation is None or "work" not in task:
        return planned
    work = task["work"]
    return [*planned, *context.isolation.worktrees.changed_paths(work["base"], work["commit"])]
