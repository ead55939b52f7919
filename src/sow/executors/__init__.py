"""One small file per agent CLI: what command to run, how to read what it says. No process is started here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.command_runner import CommandRunner
    from sow.executors.executor import Executor
    from sow.executors.mock import MockCommandRunner, MockExecutor

__all__ = ["CommandRunner", "Executor", "MockCommandRunner", "MockExecutor"]
PLACES = {
    "CommandRunner": "command_runner",
    "Executor": "executor",
    "MockCommandRunner": "mock",
    "MockExecutor": "mock",
}


def __getattr__(name: str) -> object:
    """What the package exports, loaded when somebody asks for it: a worker's start pays for none of it."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"sow.executors.{PLACES[name]}"), name)
