"""Runs a command of an executor as a process, outside of sow's own runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Event

from sow.errors import SystemFailure
from sow.system.process.exit_code import ending_text
from sow.system.process.program import run_with_input


class DefaultCommandRunner:
    """Runs each command as a process whose output goes to ours, or line by line to `on_line`."""

    def __init__(
        self, *, environment: Mapping[str, str] | None = None, on_line: Callable[[str], None] | None = None
    ) -> None:
        self.environment = dict(environment or {})  # added to the variables of this process
        self.on_line = on_line

    def run(
        self, name: str, args: Sequence[str], stdin: str, *, timeout: float | None = None, cancel: Event | None = None
    ) -> None:
        """Runs a program to its end; every process that it started is gone then."""
        code = run_with_input(
            [name, *args],
            environment={**os.environ, **self.environment},
            given=stdin,
            timeout=timeout,
            cancel=cancel,
            on_line=self.on_line,
        )
        if code:
            raise SystemFailure(f"{name} {ending_text(code)}", "its output says why")
