"""Runs agent CLIs from Python code of others: the interfaces, the executors, their registry and doubles for tests.

sow's own turns and runs do not use it: they start the command of an adapter under supervision.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any, Protocol, runtime_checkable

from sow.agents.briefing import load_role_prompt
from sow.agents.registry import Agent
from sow.errors import SowError, SystemFailure, suggestion
from sow.executors import settings
from sow.executors.adapter import (
    FILE,
    Adapter,
    AgentCommand,
    ProcessEnd,
    Request,
    Role,
    TurnSummary,
    is_session_id,
    transcript_line,
)
from sow.executors.settings import adapter as find_adapter
from sow.executors.settings import find_binary, missing_binary, no_resumption
from sow.system import clock, plain_file
from sow.system.environment import user_folder
from sow.system.process.exit_code import ending_text
from sow.system.process.program import run_with_input
from sow.system.terminal import escape_control, out


@runtime_checkable
class Executor(Protocol):
    """Invokes an agent CLI and manages its sessions. Save the session id before you call `spawn`."""

    @property
    def name(self) -> str:
        """The name by which configuration and messages call it, such as claude-code."""

    def spawn(
        self, agent: Agent, prompt: str, session_id: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Starts a session and blocks until the process exits.

        Raises an error if the process fails, runs longer than `timeout` seconds, or `cancel` is set.
        """

    def resume(
        self, session_id: str, prompt: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Continues a session like `spawn`; raises an error if the session is lost or the CLI cannot resume."""

    def supports_resumption(self) -> bool:
        """Returns whether this executor can resume sessions."""


@runtime_checkable
class CommandRunner(Protocol):
    """Runs the commands of an executor: a process, or a double in tests."""

    def run(
        self, name: str, args: Sequence[str], stdin: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Runs a program with this text on stdin; raises an error if it fails, takes too long or is cancelled."""


class DefaultCommandRunner:
    """Runs each command as a process whose output goes to ours, or line by line to `on_line`."""

    def __init__(
        self, *, environment: Mapping[str, str] | None = None, on_line: Callable[[str], None] | None = None
    ) -> None:
        self.environment = dict(environment or {})  # added to the variables of this process
        self.on_line = on_line

    def run(
        self, name: str, args: Sequence[str], stdin: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Runs a program to its end; every process that it started is gone then."""
        code = run_with_input(
            [name, *args],
            environment={**os.environ, **self.environment},
            given=stdin,
            timeout=timeout,
            cancel=cancel,
            on_line=self.on_line,
        )
        if code:
            raise SystemFailure(f"{name} {ending_text(code)}", "its output says why")


class CliExecutor:
    """One configured CLI; spawn and resume block until the turn has ended, and raise SowError if it fails."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        runner: CommandRunner | None = None,
        *,
        binary: str = "",
        yolo_mode: bool = False,
        model: str = "",
        custom_args: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.adapter = adapter
        self.runner = runner
        self.binary = binary or adapter.capabilities.binary
        self.yolo_mode = yolo_mode
        self.model = model
        self.custom_args = tuple(custom_args)
        self.settings = dict(settings or {})
        self.agents: dict[str, Agent] = {}  # the agent of each session that was spawned here
        self.cli_sessions: dict[str, str] = {}  # the caller's session id → the id that the CLI chose itself

    def spawn(
        self, agent: Agent, prompt: str, session_id: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Starts a new session with the agent's prompt, followed by this prompt."""
        session_id = session_id or clock.uuid4()
        self.agents[session_id] = agent
        request = self._request(session_id)
        text = self.adapter.first_prompt(request, f"{load_role_prompt(agent).strip()}\n\n{prompt}")
        self._run(self.adapter.spawn_command(request), request, text, session_id, timeout, cancel)

    def resume(
        self, session_id: str, prompt: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Runs the next turn of a session."""
        request = self._request(session_id)
        if not self.supports_resumption():
            raise no_resumption(self.name, "", "")
        reason = self.adapter.lost_session_reason(request)
        if reason:
            raise SowError(f"session {session_id} cannot be resumed: {reason}", "spawn a new session")
        self._run(self.adapter.resume_command(request), request, prompt, session_id, timeout, cancel)

    def _request(self, session_id: str) -> Request:
        """Returns a turn in the current folder; the agent may write there, and run sow and git."""
        if not is_session_id(session_id):
            raise SowError(
                f"{session_id!r:.80} is no session id", "use one word of letters, digits and -, such as a UUID"
            )
        agent, folder = self.agents.get(session_id), os.getcwd()
        return Request(
            role=Role(name=agent.name, tools=agent.tools, judges=agent.is_judge) if agent else Role(name="worker"),
            session=self.cli_sessions.get(session_id, session_id),
            cwd=folder,
            session_folder=f"{user_folder(os.environ, 'XDG_CACHE_HOME', '.cache')}/sow/executors/{session_id}",
            sow_folder=f"{folder}/.sow",
            commands=("sow", "git"),
            yolo=self.yolo_mode,
            model=self.model,
            custom_args=self.custom_args,
            extra=self.settings,
        )

    def _run(
        self,
        call: AgentCommand,
        request: Request,
        prompt: str,
        session_id: str,
        timeout: float | None,
        cancel: Event | None,
    ) -> None:
        """Runs a turn. Our own runner also reads the output: some CLIs end with exit code 0 after an error."""
        summary = TurnSummary()
        runner = self.runner or DefaultCommandRunner(
            environment=call.environment, on_line=lambda line: self._show(line, summary)
        )
        program = self.binary if self.runner else self.validate_availability(os.environ)
        if call.files or self.adapter.capabilities.session == FILE:
            clock.crash_point(f"make {request.session_folder}")
            os.makedirs(request.session_folder, mode=0o700, exist_ok=True)
        for path, text in call.files.items():
            plain_file.write(path, text)
        try:
            runner.run(program, call.arguments, prompt, timeout=timeout, cancel=cancel)
        finally:
            if summary.session:
                self.cli_sessions[session_id] = summary.session
        outcome = self.adapter.outcome(ProcessEnd(code=0), summary)
        if self.runner is None and outcome.kind != "done":
            raise SystemFailure(f"{self.name} reports {outcome.kind}: {outcome.reason}", "its output says more")

    def _show(self, line: str, summary: TurnSummary) -> None:
        """Prints the readable part of one line of output."""
        for event in self.adapter.read(line):
            text = transcript_line(event) if summary.add(event) else ""
            if text:
                out(escape_control(text))

    def supports_resumption(self) -> bool:
        """Returns whether a session can continue after its turn."""
        return self.adapter.capabilities.resumes

    def validate_availability(self, environment: Mapping[str, str]) -> str:
        """Returns the full path of the program, or raises SowError before anything is written."""
        path = find_binary(self.binary, environment)
        if not path:
            raise missing_binary(self.name, self.binary, self.adapter.capabilities)
        return path


class ClaudeExecutor(CliExecutor):
    """Claude Code with its default settings."""

    def __init__(self, yolo_mode: bool = False, model: str = "", runner: CommandRunner | None = None) -> None:
        super().__init__("claude-code", find_adapter("claude"), runner, yolo_mode=yolo_mode, model=model)


class CursorExecutor(CliExecutor):
    """Cursor with its default settings."""

    def __init__(self, yolo_mode: bool = False, model: str = "", runner: CommandRunner | None = None) -> None:
        super().__init__("cursor", find_adapter("cursor"), runner, yolo_mode=yolo_mode, model=model)


class ConfiguredExecutor(Protocol):
    """An entry of `Config.executors`."""

    type: str
    settings: dict[str, Any]
    custom_args: tuple[str, ...]


class ExecutorRegistry:
    """Executors by the name that a binding uses."""

    def __init__(self) -> None:
        self.executors: dict[str, Executor] = {}

    def register(self, name: str, executor: Executor) -> None:
        """Adds an executor, or replaces the one of that name."""
        self.executors[name] = executor

    def get(self, name: str) -> Executor:
        """Returns the executor of that name."""
        if name not in self.executors:
            available = "the executors are: " + ", ".join(sorted(self.executors))
            raise SowError(f"unknown executor: {name}", suggestion(name, self.executors) or available)
        return self.executors[name]


def load_executors(
    executors: Mapping[str, ConfiguredExecutor], runner: CommandRunner | None = None
) -> ExecutorRegistry:
    """Returns a registry of configured executors, such as `sow.config.load(os.environ).executors`."""
    registry = ExecutorRegistry()
    for name, entry in executors.items():
        executor = CliExecutor(
            name,
            find_adapter(entry.type),
            runner,
            binary=settings.program(entry.type, entry.settings),
            yolo_mode=bool(entry.settings.get("yolo_mode", False)),
            model=str(entry.settings.get("model", "")),
            custom_args=entry.custom_args,
            settings=entry.settings,
        )
        registry.register(name, executor)
    return registry


class MockExecutor:
    """An executor whose behaviour can be set; without a function, each turn succeeds at once."""

    def __init__(
        self,
        *,
        name: str = "mock",
        spawn: Callable[[Agent, str, str], None] | None = None,
        resume: Callable[[str, str], None] | None = None,
        supports_resumption: Callable[[], bool] | None = None,
    ) -> None:
        self.name = name
        self.spawn_function = spawn
        self.resume_function = resume
        self.supports_resumption_function = supports_resumption

    def spawn(
        self, agent: Agent, prompt: str, session_id: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        if self.spawn_function:
            self.spawn_function(agent, prompt, session_id)

    def resume(
        self, session_id: str, prompt: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        if self.resume_function:
            self.resume_function(session_id, prompt)

    def supports_resumption(self) -> bool:
        return self.supports_resumption_function() if self.supports_resumption_function else True


class MockCommandRunner:
    """A runner that records its last call and starts nothing; without a function, each command succeeds."""

    def __init__(self, run: Callable[[str, Sequence[str], str], None] | None = None) -> None:
        self.run_function = run
        self.last_name = ""
        self.last_args: list[str] = []
        self.last_stdin = ""
        self.last_timeout: float | None = None
        self.last_cancel: Event | None = None

    def run(
        self, name: str, args: Sequence[str], stdin: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        self.last_name, self.last_args, self.last_stdin = name, list(args), stdin
        self.last_timeout, self.last_cancel = timeout, cancel
        if self.run_function:
            self.run_function(name, args, stdin)
