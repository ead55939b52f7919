"""Runs the review stage of a task: asks every reviewer of the run about the collected and checked work."""

from __future__ import annotations

from sow.domain.agent_files import touches_agent_files
from sow.engine.beside import notes_beside
from sow.engine.ended import Ended
from sow.engine.reviewing import MOST_DIFF, Reviewing, words_of, written
from sow.engine.work_turn import until_of
from sow.store import run_acts, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.domain.shapes import Task
    from sow.domain.verdict import Verdict
    from sow.engine.job import TaskJob
    from sow.engine.reviewing import Heard
    from sow.engine.ship import Isolation
    from sow.engine.steps import Steps

TRIES = 3  # tries of a reviewer that fails, before a person is asked
SHARED = "(all tasks work in one folder: look at the files there)"


def review(job: TaskJob, task: Task) -> Steps[Ended | None]:
    """Ask every reviewer that has not reviewed this commit; a reviewer that is not available never counts as a pass."""
    ship = job.ship
    commit = task["work"]["commit"] if "work" in task and ship.isolation is not None else ""
    reviewed_by = {
        entry["by"]
        for entry in task.get("reviews", ())
        if entry["iteration"] == task["iteration"] and entry.get("commit", "") == commit
    }
    for name in ship.reviewers():
        if name not in reviewed_by:
            ended = yield from _ask(job, task, name, commit)
            if ended is not None:
                return ended
    return None


def _ask(job: TaskJob, task: Task, name: str, commit: str) -> Steps[Ended | None]:
    """Ask one reviewer: again if it fails, with another executor if it has reached a limit."""
    ship = job.ship
    executors = ship.executors_of(name)
    failures = 0
    while failures < TRIES:
        reason = ship.stop_new()
        if reason:
            return Ended("waiting", reason=reason)
        free = ship.free(executors)
        if not free:
            first = ship.first_free(executors)
            return Ended("waiting", reason=f"{first}, which plays {name}, has reached its limit", executor=first)
        executor = free[failures % len(free)]
        if not (yield from ship.has_place(executor, job.id)):
            return Ended("stopped")
        ship.step(job.id, f"{name} reviews")
        reply = yield from ship.seated(executor.name, _hear(job, task, name, executor, commit))
        outcome = reply.outcome
        if reply.verdict is not None:
            _write(job, task, name, commit, reply.verdict)
            return None
        if outcome.kind == "interrupted":
            return Ended("stopped")
        if outcome.kind in ("limited", "overloaded"):
            ship.rest(reply.executor, until_of(outcome), outcome.reason)
        else:
            failures += 1
    return job.ask(f"{name} could not review this in {TRIES} tries: {outcome.reason or outcome.kind}")


def _write(job: TaskJob, task: Task, name: str, commit: str, verdict: Verdict) -> None:
    feedback = words_of(verdict)
    entry = written(verdict, task, by=name, commit=commit)
    run_acts.add_review(job.desk, job.project, entry, feedback)
    counts = {"verdict": entry["verdict"], "by": name, "findings": len(entry["findings"])}
    job.ship.tell("reviewed", task=job.id, iteration=task["iteration"], **counts, feedback=feedback[:2000])


def _hear(job: TaskJob, task: Task, name: str, executor: ExecutorConfig, commit: str) -> Steps[Heard]:
    """Ask one reviewer with one executor, in its own checkout if there are worktrees."""
    ship, isolation = job.ship, job.ship.isolation
    reviewing = Reviewing(ship, job.desk, ship.agents.get(name), executor, job.hear)
    output = sessions.final_text(job.desk, task)
    related_notes = notes_beside(ship, job.project, job.id)
    if isolation is None or not commit:
        facts = {"output": output, "diff": SHARED, "related_notes": related_notes}
        return (yield from reviewing.hold(task, cwd=ship.home.root, **facts, remarks=job.remarks))
    base = task["work"]["base"]
    touched = touches_agent_files(isolation.worktrees.changed_paths(base, commit))
    remarks = [*job.remarks, *(f"the change touches {path}, which steers agents" for path in touched)]
    diff = _merged_before(isolation, job.id) + isolation.worktrees.diff(base, commit, MOST_DIFF)
    cwd = isolation.worktrees.judge(job.id, commit, base)
    try:
        return (
            yield from reviewing.hold(
                task, cwd=cwd, output=output, diff=diff, remarks=remarks, related_notes=related_notes
            )
        )
    finally:
        isolation.worktrees.remove_judge(job.id)


def _merged_before(isolation: Isolation, task: str) -> str:
    """Return the diffs of a task's merged earlier iterations, because the delivery contains them, too."""
    merges = [merge for merge in isolation.integration.merges if merge["task"] == task]
    return "".join(
        f"Iteration {merge['iteration']}, merged before:\n"
        f"{isolation.worktrees.diff(merge['parent'], merge['commit'], MOST_DIFF)}\nThis iteration:\n"
        for merge in merges
    )
