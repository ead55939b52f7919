"""Describes each agent CLI in a module of its own: its command line and its output. Starts no process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.command_runner import CommandRunner
    from sow.executors.executor import Executor
    from sow.executors.mock import MockCommandRunner, MockExecutor

__all__ = ["CommandRunner", "Executor", "MockCommandRunner", "MockExecutor"]
MODULES = {
    "CommandRunner": "command_runner",
    "Executor": "executor",
    "MockCommandRunner": "mock",
    "MockExecutor": "mock",
}


def __getattr__(name: str) -> object:
    """Imports an exported name on first use, so that a worker's start does not pay for it."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"sow.executors.{MODULES[name]}"), name)
