"""Describes how far an imported task is, for the task list that it came from."""

from __future__ import annotations


class TaskProgress:
    """What the project knows about an imported task: its status, a summary, and the commands that passed."""

    __slots__ = ("passed", "status", "summary")

    def __init__(self, status: str, *, summary: str = "", passed: frozenset[str] = frozenset()) -> None:
        self.status = status
        self.summary = summary
        self.passed = passed
