"""What an executor needs of whoever runs its commands; tests give it a double, the engine a supervised process."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sow.executors.adapter import Call, Ending, Request
from sow.executors.story import Story


@runtime_checkable
class CommandRunner(Protocol):
    """Runs one command to its end, with the prompt on its stdin, and tells the story each line of its output."""

    def run(self, call: Call, request: Request, prompt: str, story: Story) -> Ending: ...
