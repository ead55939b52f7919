"""Holds executors by name, and makes them from the user's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sow.errors import SowError, suggestion
from sow.executors import settings
from sow.executors.executor import CliExecutor
from sow.executors.executor_types import adapter
from sow.executors.interface import CommandRunner, Executor


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
            adapter(entry.type),
            runner,
            binary=settings.program(entry.type, entry.settings),
            yolo_mode=bool(entry.settings.get("yolo_mode", False)),
            model=str(entry.settings.get("model", "")),
            custom_args=entry.custom_args,
            settings=entry.settings,
        )
        registry.register(name, executor)
    return registry
