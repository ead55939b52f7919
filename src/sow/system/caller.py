"""Who calls `sow`: a person, the orchestrator, or a supervised worker, told by the marks in the environment."""

from __future__ import annotations

import os

from sow.domain.actor import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.domain.ids import is_task_id
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_ANCESTORS = 64


def actor(environment: Mapping[str, str]) -> Actor:
    """The one whose environment this is."""
    role = environment.get("SOW_AGENT", "")
    task = environment.get("SOW_TASK", "")
    if task and not is_task_id(task):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id", "unset SOW_TASK, or set it to an id such as 010"
        )
    if task:
        return Actor(kind=WORKER, name=role or "worker", task=task)
    if role == ORCHESTRATOR:
        return Actor(kind=ORCHESTRATOR, name=ORCHESTRATOR)
    return Actor(kind=PERSON, name=environment.get("USER") or environment.get("LOGNAME") or PERSON)


def judge(environment: Mapping[str, str], act: str) -> Actor:
    """The one who approves, answers or completes: never a worker, even one that took off its marks."""
    caller = actor(environment)
    if caller.is_worker or any(b"SOW_TASK" in marks for marks in _marks_of_ancestors()):
        raise SowError(
            f"a worker may not {act}", "set your task to needs_review or paused; the orchestrator or a person decides"
        )
    return caller


def _marks_of_ancestors() -> Iterator[set[bytes]]:
    """The names in the environment of each process above us, as far as /proc shows them."""
    process = os.getppid()
    for _ in range(MAX_ANCESTORS):
        if process <= 1:
            return
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                yield {entry.partition(b"=")[0] for entry in file.read().split(b"\0")}
            with open(f"/proc/{process}/stat", "rb") as file:
                process = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # another user's process, or no /proc: only our own marks count
            return
