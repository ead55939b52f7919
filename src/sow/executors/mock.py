"""Provides doubles for tests: an executor and a runner whose behaviour is a function."""

from __future__ import annotations

from sow.executors.adapter import AgentCommand, Outcome, ProcessEnd, Request
from sow.executors.events import TurnSummary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class MockExecutor:
    """An executor whose answers can be set; without a function it succeeds at once."""

    def __init__(
        self,
        *,
        name: str = "mock",
        spawn: Callable[[Request, str], tuple[Outcome, TurnSummary]] | None = None,
        resume: Callable[[Request, str], tuple[Outcome, TurnSummary]] | None = None,
        supports_resumption: Callable[[], bool] | None = None,
    ) -> None:
        self.name = name
        self.spawn_function = spawn
        self.resume_function = resume
        self.supports_resumption_function = supports_resumption

    def spawn(self, request: Request, prompt: str) -> tuple[Outcome, TurnSummary]:
        return self.spawn_function(request, prompt) if self.spawn_function else (Outcome("done"), TurnSummary())

    def resume(self, request: Request, prompt: str) -> tuple[Outcome, TurnSummary]:
        return self.resume_function(request, prompt) if self.resume_function else (Outcome("done"), TurnSummary())

    def supports_resumption(self) -> bool:
        return self.supports_resumption_function() if self.supports_resumption_function else True

    def validate_availability(self, environment: Mapping[str, str]) -> str:
        return "/bin/true"


class MockCommandRunner:
    """A runner that records its last call and starts nothing."""

    def __init__(self, run: Callable[[AgentCommand, Request, str, TurnSummary], ProcessEnd] | None = None) -> None:
        self.run_function = run
        self.last_name = ""
        self.last_arguments: list[str] = []
        self.last_stdin = ""

    def run(self, call: AgentCommand, request: Request, prompt: str, summary: TurnSummary) -> ProcessEnd:
        self.last_name, *self.last_arguments = call.arguments
        self.last_stdin = prompt
        return self.run_function(call, request, prompt, summary) if self.run_function else ProcessEnd(code=0)
