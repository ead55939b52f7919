"""The interface of executors for other programs; `make check` checks this file with `mypy --strict`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest

from sow.agents import IMPLEMENTER, Agent
from sow.errors import SowError
from sow.executors import (
    ClaudeExecutor,
    CommandRunner,
    CursorExecutor,
    DefaultCommandRunner,
    Executor,
    MockCommandRunner,
    MockExecutor,
)

EXECUTORS: list[Executor] = [MockExecutor(), ClaudeExecutor(), CursorExecutor()]
RUNNERS: list[CommandRunner] = [MockCommandRunner(), DefaultCommandRunner()]


def spawn_worker(executor: Executor, agent: Agent, task_id: str) -> None:
    """The first example of the interface's design: one worker on one task."""
    executor.spawn(agent, f"Execute task {task_id}", str(uuid.uuid4()))


def resume_worker(executor: Executor, session_id: str, feedback: str) -> None:
    """The second example: feedback for a session, where the executor can take it."""
    if not executor.supports_resumption():
        raise RuntimeError(f"executor {executor.name} does not support resumption")
    executor.resume(session_id, feedback)


def test_every_executor_and_runner_has_the_interface() -> None:
    """The type checker and isinstance agree that these objects, and no others, have the methods (A6, A7)."""
    assert all(isinstance(executor, Executor) and not isinstance(executor, CommandRunner) for executor in EXECUTORS)
    assert all(isinstance(runner, CommandRunner) and not isinstance(runner, Executor) for runner in RUNNERS)
    assert [executor.name for executor in EXECUTORS] == ["mock", "claude-code", "cursor"]


def test_a_double_replaces_an_executor() -> None:
    """Code that spawns workers is tested with functions instead of a CLI (A7)."""
    captured: list[tuple[str, str]] = []

    def take(agent: Agent, prompt: str, session_id: str) -> None:
        captured.append((agent.name, prompt))

    mock = MockExecutor(name="test-executor", spawn=take, supports_resumption=lambda: True)
    spawn_worker(mock, IMPLEMENTER, "010")
    assert captured == [("implementer", "Execute task 010")]
    assert mock.name == "test-executor"


def test_a_double_refuses_to_resume_or_gets_the_feedback() -> None:
    """Both branches of the second example can be reached with a double."""
    heard: list[tuple[str, str]] = []
    resume_worker(MockExecutor(resume=lambda session, prompt: heard.append((session, prompt))), "session-123", "more")
    assert heard == [("session-123", "more")]
    with pytest.raises(RuntimeError, match="executor mock does not support resumption"):
        resume_worker(MockExecutor(supports_resumption=lambda: False), "session-123", "more")


def test_doubles_without_functions_succeed() -> None:
    """By default spawn and resume of a double return, also through a real executor with the default runner (A17)."""
    spawn_worker(MockExecutor(), IMPLEMENTER, "010")
    resume_worker(MockExecutor(), "session-123", "more")
    runner = MockCommandRunner()
    spawn_worker(ClaudeExecutor(runner=runner), IMPLEMENTER, "010")
    assert runner.last_name == "claude"


def test_a_runner_sees_the_command_of_claude() -> None:
    """The third example: the runner gets name, arguments and stdin, and parses nothing (A4)."""

    def run(name: str, args: Sequence[str], stdin: str) -> None:
        assert name == "claude"

    runner = MockCommandRunner(run)
    executor = ClaudeExecutor(False, "", runner)
    executor.spawn(IMPLEMENTER, "test prompt", "session-123")
    assert runner.last_args[runner.last_args.index("--session-id") + 1] == "session-123"
    assert runner.last_stdin.startswith("# Implementer\n") and runner.last_stdin.endswith("\n\ntest prompt")
    executor.resume("session-123", "fix line 42", timeout=5)
    assert runner.last_args[runner.last_args.index("--resume") + 1] == "session-123"
    assert (runner.last_stdin, runner.last_timeout) == ("fix line 42", 5)


def test_settings_become_flags() -> None:
    """yolo_mode and model reach the command line of each CLI (A6)."""
    runner = MockCommandRunner()
    ClaudeExecutor(True, "opus", runner).spawn(IMPLEMENTER, "x", "session-123")
    assert "--dangerously-skip-permissions" in runner.last_args
    assert runner.last_args[runner.last_args.index("--model") + 1] == "opus"
    CursorExecutor(True, runner=runner).spawn(IMPLEMENTER, "x", "session-123")
    assert runner.last_name == "cursor-agent" and "--force" in runner.last_args


def test_a_runners_error_reaches_the_caller() -> None:
    """An error of the runner is the error of the turn, whatever its type."""

    def fail(name: str, args: Sequence[str], stdin: str) -> None:
        raise OSError("no such program")

    with pytest.raises(OSError, match="no such program"):
        ClaudeExecutor(runner=MockCommandRunner(fail)).spawn(IMPLEMENTER, "x", "session-123")


@pytest.mark.parametrize("session_id", ["--resume", "a b", "../x", "x" * 201])
def test_a_session_id_is_one_word(session_id: str) -> None:
    """Nothing that a CLI could read as a flag, or sow as a path, is taken for a session id."""
    runner = MockCommandRunner()
    with pytest.raises(SowError, match="is no session id"):
        ClaudeExecutor(runner=runner).spawn(IMPLEMENTER, "x", session_id)
    assert runner.last_name == ""
