"""Describes how far an imported task is, for the task list that it came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskProgress:
    """What the project knows about an imported task: its status, a summary, and the commands that passed."""

    status: str
    summary: str = ""
    passed: frozenset[str] = frozenset()
