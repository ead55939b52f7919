"""Who calls `sow`: a person, the orchestrator, or a supervised worker, told by the marks in the environment."""

from __future__ import annotations

import os

from sow.domain.actor import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.domain.ids import is_member, is_task_id
from sow.errors import SowError
from sow.system.census import BADGE, Proc, badge
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.system.census import Process

MAX_NAME = 64
LOOKS = 10
AGENT_MARKS = ("SOW_TASK", "SOW_AGENT")


def actor(environment: Mapping[str, str]) -> Actor:
    """The one whose environment this is; a worker that takes off its marks, or puts on others, stays what it is."""
    role = environment.get("SOW_AGENT", "")
    task, supervised = _task(environment.get("SOW_TASK", ""))
    if task and not _is_workplace(task):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id",
            "unset SOW_TASK, or set it to an id such as 010, or to an agent of a workflow",
        )
    if task or supervised:
        return Actor(kind=WORKER, name=_name(role) or "worker", task=task)
    if role == ORCHESTRATOR:
        return Actor(kind=ORCHESTRATOR, name=ORCHESTRATOR)
    return Actor(kind=PERSON, name=_name(environment.get("USER") or environment.get("LOGNAME") or "") or PERSON)


def judge(environment: Mapping[str, str], act: str) -> Actor:
    """The one who approves, answers or completes: never a worker."""
    caller = actor(environment)
    if caller.is_worker:
        raise SowError(
            f"a worker may not {act}", "set your task to needs_review or paused; the orchestrator or a person decides"
        )
    return caller


def person(environment: Mapping[str, str], act: str) -> Actor:
    """The one who decides what only a person may: neither a worker nor the orchestrator."""
    caller = judge(environment, act)
    if caller.kind != PERSON:
        raise SowError(f"the {caller.kind} may not {act}", "ask the person: it is in their inbox ('sow inbox')")
    return caller


def _is_workplace(text: str) -> bool:
    """Whether this names what a worker can be on: a task of a project, or a desk of a workflow."""
    return is_task_id(text) or is_member(text)


def _name(text: str) -> str:
    """A name that fits into the head of a log entry: short, on one line, without the dot between its fields."""
    return harmless_line(text).replace("·", "-")[:MAX_NAME].strip()


def _task(own: str) -> tuple[str, bool]:
    """The task or the agent that we work for, and whether somebody supervises us: what is farthest above us counts."""
    task, supervised, marked = own, False, False
    proc = Proc()
    for pid, process in _ancestors(proc):
        mark = proc.variable(pid, "SOW_TASK")
        task, marked = mark or task, marked or bool(mark)
        worn = process.name.startswith(BADGE)
        if worn:
            task = _told_by(process.name, task, marked=marked)
        supervised = supervised or worn or bool(mark)
    return task, supervised


def _told_by(name: str, task: str, *, marked: bool) -> str:
    """Whom a badge stands for: a task by its id, an agent by a digest of its name; nobody, where that is not the claim.

    A badge for many names none of them: then the mark of a process above us counts, and of an agent nothing else.
    """
    shown = name.removeprefix(BADGE)
    if is_task_id(shown):
        return shown
    if name == BADGE:
        return task if marked or not is_member(task) else ""
    return task if name == badge(task) else ""


def is_agent(pid: int) -> bool:
    """Whether a process is an agent's: it, or one above it, has a mark of ours or supervises a turn, or it is gone."""
    proc = Proc()
    family = _ancestors(proc, pid)
    return not family or any(
        process.name.startswith(BADGE) or any(proc.variable(each, name) for name in AGENT_MARKS)
        for each, process in family
    )


def is_supervised(pid: int) -> bool:
    """Whether a process is below a turn: a worker's, a judge's, whatever marks it took off; or it is gone.

    A sow that supervises a turn itself is not, unless it is below another one.
    """
    proc = Proc()
    family = _ancestors(proc, pid)
    return not family or any(
        (each != pid and process.name.startswith(BADGE)) or bool(proc.variable(each, "SOW_TASK"))
        for each, process in family
    )


def _ancestors(proc: Proc, start: int = 0) -> list[tuple[int, Process]]:
    """Everybody above us, or a process and all above it.

    One that ends while we look gives its children to another, so we look again.
    """
    found: list[tuple[int, Process]] = []
    for _ in range(LOOKS):
        found.clear()
        pid = start or os.getppid()
        while pid and (process := proc.one(pid)):
            found.append((pid, process))
            pid = process.parent
        if not pid:
            break
    return found
