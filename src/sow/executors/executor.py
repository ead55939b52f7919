"""Runs turns of an agent CLI: an adapter builds the command line, a runner executes it."""

from __future__ import annotations

import os

from sow.errors import SowError, SystemFailure
from sow.executors.adapter import FILE, Adapter, AgentCommand, Capabilities, ProcessEnd, Request, Role
from sow.executors.events import TurnSummary, is_session_id, transcript_line
from sow.executors.executor_types import adapter as find_adapter
from sow.system import crash_points, plain_file, random_ids
from sow.system.environment import user_folder
from sow.system.terminal import escape_control, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event as Cancel

    from sow.agents.agent import Agent
    from sow.executors.interface import CommandRunner


class CliExecutor:
    """One configured CLI; spawn and resume block until the turn has ended, and raise SowError if it fails.

    The prompts and commands of a turn come from here; `sow agent spawn` and runs execute them under supervision.
    """

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
        self, agent: Agent, prompt: str, session_id: str, *, timeout: float | None = None, cancel: Cancel | None = None
    ) -> None:
        """Starts a new session with the agent's prompt, followed by this prompt."""
        from sow.agents.briefing import load_role_prompt

        session_id = session_id or random_ids.uuid4()
        self.agents[session_id] = agent
        request = self._request(session_id)
        call, text = self.spawn_call(request, f"{load_role_prompt(agent).strip()}\n\n{prompt}")
        self._run(call, request, text, session_id, timeout, cancel)

    def resume(
        self, session_id: str, prompt: str, *, timeout: float | None = None, cancel: Cancel | None = None
    ) -> None:
        """Runs the next turn of a session."""
        request = self._request(session_id)
        reason = self.lost(request)
        if reason:
            raise SowError(f"session {session_id} cannot be resumed: {reason}", "spawn a new session")
        call, text = self.resume_call(request, prompt)
        self._run(call, request, text, session_id, timeout, cancel)

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
        cancel: Cancel | None,
    ) -> None:
        """Runs a turn. Our own runner also reads the output: some CLIs end with exit code 0 after an error."""
        from sow.executors.command_runner import DefaultCommandRunner

        summary = TurnSummary()
        runner = self.runner or DefaultCommandRunner(
            environment=call.environment, on_line=lambda line: self._show(line, summary)
        )
        program = self.binary if self.runner else self.validate_availability(os.environ)
        if call.files or self.adapter.capabilities.session == FILE:
            crash_points.crash_point(f"make {request.session_folder}")
            os.makedirs(request.session_folder, mode=0o700, exist_ok=True)
        for path, text in call.files.items():
            plain_file.write(path, text)
        try:
            runner.run(program, call.arguments[1:], prompt, timeout=timeout, cancel=cancel)
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


def missing_binary(name: str, binary: str, capabilities: Capabilities) -> SowError:
    """Returns the error for a CLI that is not installed."""
    need = f"requires the {binary} CLI to be installed and available on PATH"
    if os.path.isabs(binary):
        need = f"runs {binary}, which is not an executable file"
    advice = program_advice(name, binary, capabilities).replace("Install:", f"Install {binary}:")
    return SowError(f"executor binary not found: {binary}", f'Executor "{name}" {need}.\n\n{advice}')


def program_advice(name: str, binary: str, capabilities: Capabilities) -> str:
    """Returns how to install a missing program; one that the user's settings name is corrected there."""
    if binary == capabilities.binary:
        return f"Install: {capabilities.install}"
    return f"Correct agents.executors.{name}.settings.{'binary' if capabilities.binary else 'command'}: sow config edit"


def no_resumption(name: str, task: str, agent: str) -> SowError:
    """Returns the error for a CLI that cannot resume a session."""
    lines = [f"Cannot resume task {task}. Consider:" if task else "Consider:"]
    command = f": sow agent spawn {agent} {task} --fresh" if task else ""
    lines += [f"  - Spawning a new worker instance{command}"]
    lines += ["  - Switching to an executor with session support (claude-code, cursor)"]
    return SowError(f'executor "{name}" does not support session resumption', "\n".join(lines))
