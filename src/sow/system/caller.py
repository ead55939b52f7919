"""Identifies the caller of `sow`: a person, the orchestrator or a supervised worker."""

from __future__ import annotations

import os

from sow.domain.inputs import is_member, is_task_id
from sow.domain.task import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.errors import SowError
from sow.system.process_table import SUPERVISOR_PREFIX, ProcTable, supervisor_name
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.system.process_table import Process

MAX_NAME = 64
MOST_READS = 10
AGENT_MARKS = ("SOW_TASK", "SOW_AGENT")
# Variables that an agent CLI sets for the commands of its session.
SESSION_MARKS = ("CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "CURSOR_AGENT")
ASKS = "SOW_ASKS"  # set by the layer of `sow install claude`, whose rules make Claude Code ask the person

_known: list[Actor] = []  # the caller, if the process knows it; then nothing else counts


def set_actor(caller: Actor) -> None:
    """Makes an actor the caller in this process, which runs a command for a worker that it knows by its socket."""
    _known[:] = [caller]


def actor(environment: Mapping[str, str]) -> Actor:
    """Returns the caller; a worker that removes or changes its marks is still a worker.

    Without marks of sow, a call in the session of an agent CLI is the orchestrator's.
    """
    if _known:
        return _known[0]
    role = environment.get("SOW_AGENT", "")
    task, supervised = _task(environment.get("SOW_TASK", ""))
    if task and not (is_task_id(task) or is_member(task)):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id",
            "unset SOW_TASK, or set it to an id such as 010, or to an agent of a workflow",
        )
    if task or supervised:
        return Actor(kind=WORKER, name=_name(role) or "worker", task=task)
    if role == ORCHESTRATOR or any(environment.get(mark) for mark in SESSION_MARKS):
        return Actor(kind=ORCHESTRATOR, name=ORCHESTRATOR)
    return _person(environment)


def _person(environment: Mapping[str, str]) -> Actor:
    return Actor(kind=PERSON, name=_name(environment.get("USER") or environment.get("LOGNAME") or "") or PERSON)


def require_non_worker(environment: Mapping[str, str], act: str) -> Actor:
    """Returns the caller if it may approve, answer or complete; raises for a worker."""
    caller = actor(environment)
    if caller.is_worker:
        raise SowError(
            f"a worker may not {act}", "set your task to needs_review or paused; the orchestrator or a person decides"
        )
    return caller


def require_person(environment: Mapping[str, str], act: str, *, asked: bool = False) -> Actor:
    """Returns the caller if it is a person; raises for a worker or the orchestrator.

    If the layer makes Claude Code ask about this command (`asked`), a call in its session has the person's consent.
    """
    caller = require_non_worker(environment, act)
    if caller.kind == PERSON:
        return caller
    if asked and environment.get("CLAUDECODE") and environment.get(ASKS):
        return _person(environment)
    hint = "the person runs it in a terminal of their own"
    if asked and environment.get("CLAUDECODE"):
        hint += "; to be asked in this session, they run: sow install claude, and open Claude Code again"
    raise SowError(f"the {caller.kind} may not {act}", hint)


def _name(text: str) -> str:
    """Returns a name for the head of a log entry: short, on one line, without the dot between fields."""
    return escape_line(text).replace("·", "-")[:MAX_NAME].strip()


def _task(own: str) -> tuple[str, bool]:
    """Returns the task or agent of this process, and whether it is supervised; the outermost ancestor counts."""
    task, supervised, marked = own, False, False
    proc = ProcTable()
    for pid, process in _ancestors(proc):
        mark = proc.variable(pid, "SOW_TASK")
        task, marked = mark or task, marked or bool(mark)
        is_supervisor = process.name.startswith(SUPERVISOR_PREFIX)
        if is_supervisor:
            task = _task_from_name(process.name, task, marked=marked)
        supervised = supervised or is_supervisor or bool(mark)
    return task, supervised


def _task_from_name(name: str, task: str, *, marked: bool) -> str:
    """Returns the task or agent that a supervisor's name means, or nothing if it is another than claimed.

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
    proc = ProcTable()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        process.name.startswith(SUPERVISOR_PREFIX) or any(proc.variable(ancestor, name) for name in AGENT_MARKS)
        for ancestor, process in ancestors
    )


def is_supervised(pid: int) -> bool:
    """Returns whether a process is below a turn of a worker or a judge, even without marks, or has ended.

    A sow that supervises a turn itself is not, unless it is below another turn.
    """
    proc = ProcTable()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        (ancestor != pid and process.name.startswith(SUPERVISOR_PREFIX)) or bool(proc.variable(ancestor, "SOW_TASK"))
        for ancestor, process in ancestors
    )


def _ancestors(proc: ProcTable, start: int = 0) -> list[tuple[int, Process]]:
    """Returns all ancestors of this process, or a process and its ancestors.

    If an ancestor ends meanwhile, its children get another parent, so the list is read again.
    """
    ancestors: list[tuple[int, Process]] = []
    for _ in range(MOST_READS):
        ancestors.clear()
        pid = start or os.getppid()
        while pid and (process := proc.process(pid)):
            ancestors.append((pid, process))
            pid = process.parent
        if not pid:
            break
    return ancestors
