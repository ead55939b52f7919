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
        return self._run(*self.spawn_call(request, prompt), request)

    def resume(self, request: Request, prompt: str) -> tuple[Outcome, Story]:
        """The next turn of a session."""
        lost = self.lost(request)
        if lost:
            return Outcome("not_found", reason=lost), Story()
        return self._run(*self.resume_call(request, prompt), request)

    def spawn_call(self, request: Request, prompt: str) -> tuple[Call, str]:
        """What a new session runs, and what it is told."""
        return self._with_binary(self.adapter.spawn_command(request)), self.adapter.first_prompt(request, prompt)

    def resume_call(self, request: Request, prompt: str) -> tuple[Call, str]:
        """What the next turn of a session runs, and what it is told."""
        return self._with_binary(self.adapter.resume_command(request)), prompt

    def lost(self, request: Request) -> str:
        """Why a session cannot be gone on with, where that is seen without starting the CLI."""
        if not self.supports_resumption():
            raise no_resumption(self.name, "", "")
        return self.adapter.lost(request)

    def _with_binary(self, call: Call) -> Call:
        call.arguments.insert(0, self.binary)
        return call

    def _run(self, call: Call, prompt: str, request: Request) -> tuple[Outcome, Story]:
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
