"""Runs the first stage of a task: a turn of its worker, with an executor that has not reached a limit."""

from __future__ import annotations

import os
import time

from sow.domain.stage import needs_integrator
from sow.engine import task_budget, unsettled, work
from sow.engine.ended import Ended
from sow.engine.reviewing import turn_facts
from sow.engine.ship import INTEGRATOR, RUNNER
from sow.errors import SowError
from sow.executors.registry import adapter as find_adapter
from sow.store import run_acts, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.shapes import Task
    from sow.engine.crew import Result
    from sow.engine.job import TaskJob
    from sow.engine.steps import Steps
    from sow.executors.adapter import Outcome
    from sow.store.sessions import Record

GO_ON = "You were cut off in the middle of your work. See what is there (git status, git log), and go on with the task."
OVERLOADED = 60  # seconds until a busy server is tried again
LIMITED = 900  # seconds to wait for a limit without a known end


def begin(job: TaskJob, task: Task) -> Steps[Ended | None]:
    """Start a new session, with the feedback on an earlier iteration if there is some."""
    role = job.ship.role_of(task)
    text = run_acts.last_words(job.desk, task)
    return (yield from _spawn(job, task, role, job.ship.executors_of(role.name), text))


def go_on(job: TaskJob, task: Task) -> Steps[Ended | None]:
    """Take the next turn of the existing session: after feedback, an answer, a time-out, a limit or a crash."""
    ship = job.ship
    task = run_acts.count_timeout(job.desk, job.project)
    text = run_acts.last_words(job.desk, task)
    record = sessions.current(job.desk, task.get("session_id", ""))
    if record is not None and _settle(job, record):
        return None
    if needs_integrator(task) and (record is None or record.session["role"] != INTEGRATOR):
        return (yield from _spawn(job, task, ship.agents.get(INTEGRATOR), ship.executors_of(INTEGRATOR), text))
    role = _role(job, task, record)
    executor = _executor(job, record)
    if executor is None or not _can_go_on(job, record, executor):
        return (yield from _spawn(job, task, role, _others(job, role, executor), text))
    ended = _refused(job, task)
    if ended is not None:
        return ended
    if not (yield from ship.has_place(executor, job.id)):
        return Ended("stopped")
    turn = work.resume(ship.crew(job.hear_worker), job.id, role, executor, text or GO_ON, actor=RUNNER, recorded=True)
    return (yield from _take(job, task, turn, role.name, executor.name, "resume"))


def _settle(job: TaskJob, record: Record) -> bool:
    """Tell whether the last turn ended well before a crash, so that it is not repeated."""
    executor = _executor(job, record)
    allow_empty = executor is not None and bool(executor.settings.get("allow_empty"))
    return unsettled.settle_last(job.desk, record, allow_empty=allow_empty)


def _role(job: TaskJob, task: Task, record: Record | None) -> Agent:
    """Return the role of the session, else the task's role."""
    role = job.ship.agents.agents.get(record.session["role"]) if record is not None else None
    return role or job.ship.role_of(task)


def _executor(job: TaskJob, record: Record | None) -> ExecutorConfig | None:
    """Return the executor of a session, if it is still configured."""
    return job.ship.config.executors.get(record.session["executor"]) if record is not None else None


def _can_go_on(job: TaskJob, record: Record | None, executor: ExecutorConfig) -> bool:
    """Tell whether a session can have its next turn now: its executor is free and it works in this run's folder."""
    if record is None or os.path.realpath(record.session["cwd"]) != os.path.realpath(job.ship.folder_of(job.id)):
        return False
    return not job.ship.rests_until(executor.name) and find_adapter(executor.type).capabilities.resumes


def _others(job: TaskJob, role: Agent, executor: ExecutorConfig | None) -> list[ExecutorConfig]:
    """Return the executors that may take a session over, and its own, which can wait for the end of its limit."""
    executors = job.ship.executors_of(role.name)
    return (
        executors
        if executor is None or executor.name in [candidate.name for candidate in executors]
        else [*executors, executor]
    )


def _spawn(
    job: TaskJob, task: Task, role: Agent, executors: Sequence[ExecutorConfig], text: str
) -> Steps[Ended | None]:
    """Start a new session with the first executor that is free."""
    ship = job.ship
    free = ship.free(executors)
    if not free:
        first = ship.first_free(executors)
        return Ended("waiting", reason=f"{first} has reached its limit", executor=first)
    ended = _refused(job, task)
    if ended is not None:
        return ended
    if not (yield from ship.has_place(free[0], job.id)):
        return Ended("stopped")
    fresh = "session_id" in task
    turn = work.spawn(
        ship.crew(job.hear_worker),
        job.id,
        role,
        free[:1],
        actor=RUNNER,
        fresh=fresh,
        cwd=ship.folder_of(job.id),
        text=text,
    )
    return (yield from _take(job, task, turn, role.name, free[0].name, "recovery" if fresh else "spawn"))


def _refused(job: TaskJob, task: Task) -> Ended | None:
    """Return how the job ends if a budget forbids another turn, else None."""
    reason = job.ship.stop_new()
    if reason:
        return Ended("waiting", reason=reason)
    question = task_budget.spent(
        job.ship.config, job.desk, [(answered["text"], answered["answered_at"]) for answered in task["questions"]]
    )
    if not question:
        return None
    return job.ask(question, found=run_acts.last_words(job.desk, task))


def _take(job: TaskJob, task: Task, turn: Steps[Result], role: str, executor: str, kind: str) -> Steps[Ended | None]:
    """Take one turn and decide what its end means for the job."""
    ship = job.ship
    run_acts.look(job.desk, job.project)  # the task may have changed while this stage waited
    facts = {"task": job.id, "iteration": task["iteration"], "role": role, "executor": executor, "kind": kind}
    ship.tell("turn_started", **facts)
    look = ship.isolation.worktrees.look_home() if ship.isolation is not None else None
    try:
        result = yield from ship.seated(executor, turn)
    except SowError as problem:
        ship.tell("turn_ended", **facts, outcome="failed", status=task["status"], reason=problem.message)
        raise
    if ship.isolation is not None and result.status != "needs_review":  # otherwise the work is collected
        ship.isolation.pin(job.id)
    if look is not None and ship.isolation is not None:
        result.remarks += [f"meanwhile {change}" for change in ship.isolation.worktrees.look_home().changes_since(look)]
    job.remarks += [*result.remarks, *(f"meanwhile {change}" for change in ship.look_at_git())]  # for the reviewer
    end_facts = turn_facts(result.outcome, result.record.session["turns"][-1])
    end_facts |= {"status": result.status, "remarks": result.remarks}
    if result.refusals:
        end_facts["refused"] = sum(refusal["count"] for refusal in result.refusals)
    ship.tell("turn_ended", **facts, **end_facts)
    if result.unchanged and not task.get("allow_empty"):
        job.concern("no_changes", "no changes: the turn left the checkout as it was")
    if result.status != "in_progress" or result.outcome.kind == "done":
        return _told(job, task, result)
    return _cut_off(job, result)


def _told(job: TaskJob, before: Task, result: Result) -> Ended | None:
    """Report the worker's questions, also one that was answered before the turn ended."""
    question = result.task.get("question")
    for answered in result.task["questions"][len(before["questions"]) :]:
        job.ship.tell("question", task=job.id, number=answered["number"], text=answered["text"])
        job.ship.tell("answered", task=job.id, number=answered["number"], origin=answered["answered_by"])
    if question is not None:
        job.ship.tell("question", task=job.id, number=question["number"], text=question["text"])
    return None


def _cut_off(job: TaskJob, result: Result) -> Ended | None:
    """Handle a turn that was cut off."""
    outcome = result.outcome
    if outcome.kind == "interrupted":
        return Ended("stopped")
    if outcome.kind in ("limited", "overloaded"):
        job.ship.rest(result.executor, until_of(outcome), outcome.reason)
        return None  # the next turn selects another executor
    if outcome.kind == "timeout":
        run_acts.note_timeout(job.desk, job.project)
        return None
    session = result.record.session
    if not os.path.isdir(session["cwd"]):
        job.ship.step(job.id, "its worktree was removed: it is made again")
        return None
    run_acts.fail(job.desk, job.project, outcome.reason or outcome.kind)
    reports_tools = find_adapter(session["type"]).capabilities.structured  # other CLIs do not report their tools
    return Ended("failed", reason=outcome.reason, idle=reports_tools and session["turns"][-1].get("tools") == 0)


def until_of(outcome: Outcome) -> float:
    """Return when an executor that is limited or overloaded is tried again."""
    wait = LIMITED if outcome.kind == "limited" else OVERLOADED
    return max(float(outcome.reset_at), time.time() + 1) if outcome.reset_at else time.time() + wait
