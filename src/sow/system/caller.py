"""Identifies the caller of `sow`: a person, the orchestrator or a supervised worker."""

from __future__ import annotations

import os

from sow.domain.actor import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.domain.ids import is_member, is_task_id
from sow.errors import SowError
from sow.system.process_table import SUPERVISOR_PREFIX, Proc, supervisor_name
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.system.process_table import Process

MAX_NAME = 64
TRIES = 10
AGENT_MARKS = ("SOW_TASK", "SOW_AGENT")


def actor(environment: Mapping[str, str]) -> Actor:
    """Returns the caller; a worker that removes or changes its marks is still a worker."""
    role = environment.get("SOW_AGENT", "")
    task, supervised = _task(environment.get("SOW_TASK", ""))
    if task and not (is_task_id(task) or is_member(task)):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id",
            "unset SOW_TASK, or set it to an id such as 010, or to an agent of a workflow",
        )
    if task or supervised:
        return Actor(kind=WORKER, name=_name(role) or "worker", task=task)
    if role == ORCHESTRATOR:
        return Actor(kind=ORCHESTRATOR, name=ORCHESTRATOR)
    return Actor(kind=PERSON, name=_name(environment.get("USER") or environment.get("LOGNAME") or "") or PERSON)


def require_non_worker(environment: Mapping[str, str], act: str) -> Actor:
    """Returns the caller if it may approve, answer or complete; raises for a worker."""
    caller = actor(environment)
    if caller.is_worker:
        raise SowError(
            f"a worker may not {act}", "set your task to needs_review or paused; the orchestrator or a person decides"
        )
    return caller


def require_person(environment: Mapping[str, str], act: str) -> Actor:
    """Returns the caller if it is a person; raises for a worker or the orchestrator."""
    caller = require_non_worker(environment, act)
    if caller.kind != PERSON:
        raise SowError(f"the {caller.kind} may not {act}", "ask the person: it is in their inbox ('sow inbox')")
    return caller


def _name(text: str) -> str:
    """Returns a name for the head of a log entry: short, on one line, without the dot between fields."""
    return escape_line(text).replace("·", "-")[:MAX_NAME].strip()


def _task(own: str) -> tuple[str, bool]:
    """Returns the task or agent of this process, and whether it is supervised; the outermost ancestor counts."""
    task, supervised, marked = own, False, False
    proc = Proc()
    for pid, process in _ancestors(proc):
        mark = proc.variable(pid, "SOW_TASK")
        task, marked = mark or task, marked or bool(mark)
        is_supervisor = process.name.startswith(SUPERVISOR_PREFIX)
        if is_supervisor:
            task = _task_from_name(process.name, task, marked=marked)
        supervised = supervised or is_supervisor or bool(mark)
    return task, supervised


def _task_from_name(name: str, task: str, *, marked: bool) -> str:
    """Returns the task or agent that a supervisor's name stands for, or nothing if it is another than claimed.

    The name holds a task's id or a digest of an agent's name. A name for many tasks holds neither: then the mark of a
    process above counts, and for an agent only that.
    """
    suffix = name.removeprefix(SUPERVISOR_PREFIX)
    if is_task_id(suffix):
        return suffix
    if name == SUPERVISOR_PREFIX:
        return task if marked or not is_member(task) else ""
    return task if name == supervisor_name(task) else ""


def is_agent(pid: int) -> bool:
    """Returns whether a process is an agent's: it or an ancestor has a mark or supervises a turn, or it is gone."""
    proc = Proc()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        process.name.startswith(SUPERVISOR_PREFIX) or any(proc.variable(ancestor, name) for name in AGENT_MARKS)
        for ancestor, process in ancestors
    )


def is_supervised(pid: int) -> bool:
    """Returns whether a process is below a turn of a worker or a judge, even without marks, or has ended.

    A sow that supervises a turn itself is not, unless it is below another turn.
    """
    proc = Proc()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        (ancestor != pid and process.name.startswith(SUPERVISOR_PREFIX)) or bool(proc.variable(ancestor, "SOW_TASK"))
        for ancestor, process in ancestors
    )


def _ancestors(proc: Proc, start: int = 0) -> list[tuple[int, Process]]:
    """Returns all ancestors of this process, or a process and its ancestors.

    If an ancestor ends meanwhile, its children get another parent, so the list is read again.
    """
    ancestors: list[tuple[int, Process]] = []
    for _ in range(TRIES):
        ancestors.clear()
        pid = start or os.getppid()
        while pid and (process := proc.process(pid)):
            ancestors.append((pid, process))
            pid = process.parent
        if not pid:
            break
    return ancestors
