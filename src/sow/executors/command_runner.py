"""Defines the interface for running an executor's commands: a supervised process, or a double in tests."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sow.executors.adapter import Call, Ending, Request
from sow.executors.story import Story


@runtime_checkable
class CommandRunner(Protocol):
    """Runs a command to its end, with the prompt on stdin, and adds each line of output to the story."""

    def run(self, call: Call, request: Request, prompt: str, story: Story) -> Ending: ...
