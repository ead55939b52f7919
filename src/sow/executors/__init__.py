"""Describes each agent CLI in a module of its own, and runs turns through one interface."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.adapter import GIVEN as GIVEN
    from sow.executors.adapter import Adapter as Adapter
    from sow.executors.adapter import AgentCommand as AgentCommand
    from sow.executors.adapter import Capabilities as Capabilities
    from sow.executors.adapter import Event as Event
    from sow.executors.adapter import Request as Request
    from sow.executors.library import ClaudeExecutor as ClaudeExecutor
    from sow.executors.library import CliExecutor as CliExecutor
    from sow.executors.library import CommandRunner as CommandRunner
    from sow.executors.library import CursorExecutor as CursorExecutor
    from sow.executors.library import DefaultCommandRunner as DefaultCommandRunner
    from sow.executors.library import Executor as Executor
    from sow.executors.library import ExecutorRegistry as ExecutorRegistry
    from sow.executors.library import MockCommandRunner as MockCommandRunner
    from sow.executors.library import MockExecutor as MockExecutor
    from sow.executors.library import load_executors as load_executors

# module → the names that it exports here
EXPORTS = {
    "adapter": ("GIVEN", "Adapter", "AgentCommand", "Capabilities", "Event", "Request"),
    "library": (
        "ClaudeExecutor", "CliExecutor", "CommandRunner", "CursorExecutor", "DefaultCommandRunner", "Executor",
        "ExecutorRegistry", "MockCommandRunner", "MockExecutor", "load_executors",
    ),
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Imports an exported name on first use, so that a worker's start does not pay for it."""
    module = next((module for module, names in EXPORTS.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"sow.executors.{module}"), name)
