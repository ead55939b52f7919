"""Defines the interfaces that callers of executors use: an executor, and a runner for its commands."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Protocol, runtime_checkable

from sow.agents.agent import Agent


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
