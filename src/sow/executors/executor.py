"""The blocking interface to an agent CLI: an adapter that knows the words, and a runner that runs them."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.executors.adapter import Adapter, Call, Outcome, Request
from sow.executors.story import Story

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.executors.command_runner import CommandRunner


class Executor:
    """One configured CLI: spawn and resume block until its turn has ended."""

    __slots__ = ("adapter", "binary", "name", "runner")

    def __init__(self, name: str, adapter: Adapter, runner: CommandRunner, binary: str = "") -> None:
        self.name = name
        self.adapter = adapter
        self.runner = runner
        self.binary = binary or adapter.capabilities.binary

    def spawn(self, request: Request, prompt: str) -> tuple[Outcome, Story]:
        """A new session."""
        told = self.adapter.first_prompt(request, prompt)
        return self._run(self.adapter.spawn_command(request), request, told)

    def resume(self, request: Request, prompt: str) -> tuple[Outcome, Story]:
        """The next turn of a session."""
        if not self.supports_resumption():
            raise no_resumption(self.name, "", "")
        lost = self.adapter.lost(request)
        if lost:
            return Outcome("not_found", reason=lost), Story()
        return self._run(self.adapter.resume_command(request), request, prompt)

    def _run(self, call: Call, request: Request, prompt: str) -> tuple[Outcome, Story]:
        call.arguments.insert(0, self.binary)
        story = Story()
        ending = self.runner.run(call, request, prompt, story)
        return self.adapter.outcome(ending, story), story

    def supports_resumption(self) -> bool:
        """Whether a session can go on after its turn."""
        return self.adapter.capabilities.resumes

    def validate_availability(self, environment: Mapping[str, str]) -> str:
        """The full path of the program; a missing one is said before anything is written."""
        found = find_binary(self.binary, environment)
        if not found:
            raise missing_binary(self.name, self.binary, self.adapter.capabilities.install)
        return found


def find_binary(binary: str, environment: Mapping[str, str]) -> str:
    """Where a program is, or nothing."""
    if os.path.isabs(binary):
        return binary if os.access(binary, os.X_OK) and os.path.isfile(binary) else ""
    # shutil.which does this too, but costs a spawn a quarter of Python's own start, and takes an empty or relative
    # entry of PATH, or a relative path, for one from here: then a repository could decide what is run.
    if "/" in binary:
        return ""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, binary)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def missing_binary(name: str, binary: str, install: str) -> SowError:
    """The seed's words for a CLI that is not installed."""
    return SowError(
        f"executor binary not found: {binary}",
        f'Executor "{name}" requires the {binary} CLI to be installed and available on PATH.\n\n'
        f"Install {binary}: {install}",
    )


def no_resumption(name: str, task: str, agent: str) -> SowError:
    """The seed's words for a CLI that cannot go on with a session."""
    lines = [f"Cannot resume task {task}. Consider:" if task else "Consider:"]
    anew = f": sow agent spawn {agent} {task} --fresh" if task else ""
    lines += [f"  - Spawning a new worker instance{anew}"]
    lines += ["  - Switching to an executor with session support (claude-code, cursor)"]
    return SowError(f'executor "{name}" does not support session resumption', "\n".join(lines))
