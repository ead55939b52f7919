"""Provides doubles for tests: an executor and a runner whose behaviour is a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING

from sow.agents.agent import Agent
from sow.executors.interface import CommandRunner, Executor


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


if TYPE_CHECKING:  # the type checker compares the doubles with the interfaces
    _EXECUTOR: Executor = MockExecutor()
    _RUNNER: CommandRunner = MockCommandRunner()
