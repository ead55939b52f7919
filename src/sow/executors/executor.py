"""Runs turns of an agent CLI: an adapter builds the command line, a runner executes it."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.executors.adapter import Adapter, AgentCommand, Outcome, Request
from sow.executors.events import TurnSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.executors.command_runner import CommandRunner


class Executor:
    """One configured CLI; spawn and resume block until the turn has ended."""

    __slots__ = ("adapter", "binary", "name", "runner")

    def __init__(self, name: str, adapter: Adapter, runner: CommandRunner, binary: str = "") -> None:
        self.name = name
        self.adapter = adapter
        self.runner = runner
        self.binary = binary or adapter.capabilities.binary

    def spawn(self, request: Request, prompt: str) -> tuple[Outcome, TurnSummary]:
        """Starts a new session."""
        return self._run(*self.spawn_call(request, prompt), request)

    def resume(self, request: Request, prompt: str) -> tuple[Outcome, TurnSummary]:
        """Runs the next turn of a session."""
        reason = self.lost(request)
        if reason:
            return Outcome("not_found", reason=reason), TurnSummary()
        return self._run(*self.resume_call(request, prompt), request)

    def spawn_call(self, request: Request, prompt: str) -> tuple[AgentCommand, str]:
        """Returns the command and the prompt of a new session."""
        return self._with_binary(self.adapter.spawn_command(request)), self.adapter.first_prompt(request, prompt)

    def resume_call(self, request: Request, prompt: str) -> tuple[AgentCommand, str]:
        """Returns the command and the prompt of a session's next turn."""
        return self._with_binary(self.adapter.resume_command(request)), prompt

    def lost(self, request: Request) -> str:
        """Returns why a session cannot be resumed, or "" if only starting the CLI would show it."""
        if not self.supports_resumption():
            raise no_resumption(self.name, "", "")
        return self.adapter.lost_session_reason(request)

    def _with_binary(self, call: AgentCommand) -> AgentCommand:
        call.arguments.insert(0, self.binary)
        return call

    def _run(self, call: AgentCommand, prompt: str, request: Request) -> tuple[Outcome, TurnSummary]:
        summary = TurnSummary()
        ending = self.runner.run(call, request, prompt, summary)
        return self.adapter.outcome(ending, summary), summary

    def supports_resumption(self) -> bool:
        """Returns whether a session can continue after its turn."""
        return self.adapter.capabilities.resumes

    def validate_availability(self, environment: Mapping[str, str]) -> str:
        """Returns the full path of the program, or raises SowError before anything is written."""
        path = find_binary(self.binary, environment)
        if not path:
            raise missing_binary(self.name, self.binary, self.adapter.capabilities.install)
        return path


def find_binary(binary: str, environment: Mapping[str, str]) -> str:
    """Returns the path of a program, or "" if it is not found."""
    if os.path.isabs(binary):
        return binary if os.access(binary, os.X_OK) and os.path.isfile(binary) else ""
    # shutil.which adds a quarter of Python's start time to every spawn. It also accepts a relative path and empty or
    # relative PATH entries, so a repository could decide which program runs.
    if "/" in binary:
        return ""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, binary)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def missing_binary(name: str, binary: str, install: str) -> SowError:
    """Returns the error for a CLI that is not installed."""
    return SowError(
        f"executor binary not found: {binary}",
        f'Executor "{name}" requires the {binary} CLI to be installed and available on PATH.\n\n'
        f"Install {binary}: {install}",
    )


def no_resumption(name: str, task: str, agent: str) -> SowError:
    """Returns the error for a CLI that cannot resume a session."""
    lines = [f"Cannot resume task {task}. Consider:" if task else "Consider:"]
    command = f": sow agent spawn {agent} {task} --fresh" if task else ""
    lines += [f"  - Spawning a new worker instance{command}"]
    lines += ["  - Switching to an executor with session support (claude-code, cursor)"]
    return SowError(f'executor "{name}" does not support session resumption', "\n".join(lines))
