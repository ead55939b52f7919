"""The actor of a command: a person, the orchestrator, or a worker on its task."""

from __future__ import annotations

PERSON = "person"
ORCHESTRATOR = "orchestrator"
WORKER = "worker"


class Actor:
    """The caller of a command. A worker also has the task that it was started for."""

    __slots__ = ("kind", "name", "task")

    def __init__(self, *, kind: str, name: str, task: str = "") -> None:
        self.kind = kind
        self.name = name
        self.task = task

    @property
    def is_worker(self) -> bool:
        """Returns whether the actor is a supervised agent."""
        return self.kind == WORKER
