"""The interface that callers and tests see: an executor blocks until its turn has ended, and has shipped doubles."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from executors.sample_turn import SESSION, request
from sow.engine import DefaultCommandRunner
from sow.errors import SowError
from sow.executors import CommandRunner, Executor, MockCommandRunner, MockExecutor
from sow.executors.adapter import AgentCommand, Outcome, ProcessEnd, Request
from sow.executors.clis.claude import Claude
from sow.executors.clis.windsurf import Windsurf
from sow.executors.events import Event, TurnSummary

METHODS = ("spawn", "resume", "supports_resumption", "validate_availability")


def ended(call: AgentCommand, request: Request, prompt: str, story: TurnSummary) -> ProcessEnd:
    """A turn that went well."""
    story.add(Event("result", "all done", session=request.session))
    return ProcessEnd(code=0)


@pytest.mark.parametrize("method", METHODS)
def test_the_double_has_the_executors_methods(method: str) -> None:
    """MockExecutor can stand wherever an Executor does: each method takes the same arguments."""
    real, double = getattr(Executor, method), getattr(MockExecutor, method)
    assert inspect.signature(real) == inspect.signature(double)


def test_both_have_a_name() -> None:
    """The name is what configuration and messages call an executor."""
    assert Executor("claude-code", Claude(), MockCommandRunner()).name == "claude-code"
    assert (MockExecutor().name, MockExecutor(name="test-executor").name) == ("mock", "test-executor")


def test_runners_are_command_runners() -> None:
    """The double and the one that is used in earnest both fulfil the protocol, and another object does not."""
    assert isinstance(MockCommandRunner(), CommandRunner)
    assert issubclass(DefaultCommandRunner, CommandRunner)
    assert not isinstance(MockExecutor(), CommandRunner)


def test_spawn_runs_the_program_with_the_prompt_on_stdin() -> None:
    """The runner gets the program, the words of the adapter and the prompt; its end is the outcome."""
    runner = MockCommandRunner(ended)
    outcome, story = Executor("claude-code", Claude(), runner).spawn(request(), "test prompt")
    assert (runner.last_name, runner.last_stdin) == ("claude", "test prompt")
    assert runner.last_arguments[:3] == ["-p", "--session-id", SESSION]
    assert (outcome.kind, outcome.text, story.session) == ("done", "all done", SESSION)


def test_resume_goes_on_with_the_session() -> None:
    """A resume names the session, and the feedback is its prompt."""
    runner = MockCommandRunner(ended)
    outcome, _ = Executor("claude-code", Claude(), runner).resume(request(), "fix line 42")
    assert runner.last_arguments[:3] == ["-p", "--resume", SESSION]
    assert (runner.last_stdin, outcome.kind) == ("fix line 42", "done")


def test_a_failing_program_and_a_cancelled_turn_are_told() -> None:
    """What went wrong is an outcome and no exception: the state file still decides."""
    for ending, kind in (
        (ProcessEnd(code=1, stderr="no"), "failed"),
        (ProcessEnd(code=-2, stopped="interrupt"), "interrupted"),
        (ProcessEnd(code=-15, stopped="timeout"), "timeout"),
    ):
        runner = MockCommandRunner(lambda *_, ending=ending: ending)
        assert Executor("claude-code", Claude(), runner).spawn(request(), "x")[0].kind == kind


def test_an_executor_without_sessions_refuses_to_resume() -> None:
    """It says so when asked, and before anything runs."""
    runner = MockCommandRunner()
    executor = Executor("windsurf", Windsurf(), runner)
    assert not executor.supports_resumption()
    with pytest.raises(SowError, match='executor "windsurf" does not support session resumption'):
        executor.resume(request(), "go on")
    assert runner.last_name == ""


def test_availability_is_the_path_of_the_program(tmp_path: Path) -> None:
    """A program on PATH is found, and a missing one is said in the seed's words."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    executor = Executor("claude-code", Claude(), MockCommandRunner())
    assert executor.validate_availability({"PATH": str(tmp_path)}) == str(program)
    with pytest.raises(SowError, match="executor binary not found: claude"):
        executor.validate_availability({"PATH": str(tmp_path / "nowhere")})


def test_the_functions_of_a_double_are_called() -> None:
    """Each behaviour can be set, and gets what the caller gave."""
    heard: list[Any] = []

    def take(asked: Request, prompt: str) -> tuple[Outcome, TurnSummary]:
        heard.append((asked.role.name, prompt))
        return Outcome("limited"), TurnSummary()

    double = MockExecutor(spawn=take, resume=take, supports_resumption=lambda: False)
    assert double.spawn(request(), "first")[0].kind == double.resume(request(), "second")[0].kind == "limited"
    assert heard == [("implementer", "first"), ("implementer", "second")]
    assert not double.supports_resumption()


def test_a_double_without_functions_succeeds() -> None:
    """What is not set has a sensible answer."""
    double = MockExecutor()
    assert double.spawn(request(), "x")[0].kind == double.resume(request(), "x")[0].kind == "done"
    assert double.supports_resumption() and Path(double.validate_availability({})).exists()
    assert MockCommandRunner().run(AgentCommand(["program", "a"]), request(), "p", TurnSummary()).code == 0


def test_a_runner_double_remembers_its_last_call() -> None:
    """Name, arguments and stdin of the last call can be looked at."""
    runner = MockCommandRunner()
    runner.run(AgentCommand(["program", "a", "b"]), request(), "the prompt", TurnSummary())
    assert (runner.last_name, runner.last_arguments, runner.last_stdin) == ("program", ["a", "b"], "the prompt")


def test_the_exports_cost_a_start_nothing() -> None:
    """Neither the doubles nor `typing` are loaded by what a spawn imports of this package."""
    names = ["typing", "sow.executors.mock", "sow.executors.command_runner", "sow.engine.turns.runner"]
    code = f"import sys, sow.executors.executor, sow.engine; print([each for each in {names} if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_unknown_name_is_an_error() -> None:
    """A module that makes its names on demand still knows which it has."""
    import sow.engine
    import sow.executors

    for module in (sow.executors, sow.engine):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = module.no_such_name
