"""Describes how a job of a run ended."""

from __future__ import annotations


class Ended:
    """`status` for the board; for a limit, the executor it waits for."""

    __slots__ = ("executor", "idle", "reason", "status")

    def __init__(self, status: str, *, reason: str = "", executor: str = "", idle: bool = False) -> None:
        self.status = status  # completed, failed, asking, abandoned, waiting or stopped
        self.reason = reason
        self.executor = executor
        self.idle = idle  # the agent failed before it did anything: the machine may be at fault
