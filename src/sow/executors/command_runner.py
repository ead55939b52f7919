"""Defines the interface for running an executor's commands: a supervised process, or a double in tests."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sow.executors.adapter import AgentCommand, ProcessEnd, Request
from sow.executors.events import TurnSummary


@runtime_checkable
class CommandRunner(Protocol):
    """Runs a command to its end, with the prompt on stdin, and adds each line of output to the summary."""

    def run(self, call: AgentCommand, request: Request, prompt: str, summary: TurnSummary) -> ProcessEnd: ...
