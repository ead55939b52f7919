"""Who calls `sow`: a person, the orchestrator, or a supervised worker, told by the marks in the environment."""

from __future__ import annotations

import os

from sow.domain.actor import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.domain.ids import is_task_id
from sow.errors import SowError
from sow.system.census import BADGE, Proc
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sow.system.census import Process

MAX_NAME = 64
LOOKS = 10


def actor(environment: Mapping[str, str]) -> Actor:
    """The one whose environment this is; a worker that takes off its marks, or puts on others, stays what it is."""
    role = environment.get("SOW_AGENT", "")
    task = environment.get("SOW_TASK", "")
    supervised = False
    for above in _marks_of_ancestors():
        task = above or task
        supervised = True
    if task and not is_task_id(task):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id", "unset SOW_TASK, or set it to an id such as 010"
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


def _name(text: str) -> str:
    """A name that fits into the head of a log entry: short, on one line, without the dot between its fields."""
    return harmless_line(text).replace("·", "-")[:MAX_NAME].strip()


def _marks_of_ancestors() -> Iterator[str]:
    """The task of each process above us that works on one or supervises one, the nearest first; nothing if unknown."""
    proc = Proc()
    for pid, process in _ancestors(proc):
        marked = proc.variable(pid, "SOW_TASK")
        if marked:
            yield marked
        if process.name.startswith(BADGE):
            task = process.name.removeprefix(BADGE)
            yield task if is_task_id(task) else ""


def _ancestors(proc: Proc) -> list[tuple[int, Process]]:
    """Everybody above us; one that ends while we look gives its children to another, so we look again."""
    found: list[tuple[int, Process]] = []
    for _ in range(LOOKS):
        found.clear()
        pid = os.getppid()
        while pid and (process := proc.one(pid)):
            found.append((pid, process))
            pid = process.parent
        if not pid:
            break
    return found
