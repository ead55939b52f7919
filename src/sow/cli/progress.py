"""Shows on the terminal that a slow step is running."""

from __future__ import annotations

import os
import signal
import sys
import time

from sow.domain.text import units
from sow.system import terminal
from sow.system.terminal import columns, escape_line


class Progress:
    """A line on the terminal that says what takes so long, from the first full second to the end of the step.

    A timer's signal draws it: a thread could hold a lock at the moment when a supervisor of a sandbox is forked.
    """

    def __init__(self, text: str) -> None:
        self.text = escape_line(text)
        self.is_shown = terminal.detail >= 0 and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()
        self.drawn = 0  # columns

    def __enter__(self) -> Progress:
        if self.is_shown:
            sys.stderr.flush()
            signal.signal(signal.SIGALRM, self._draw)
            signal.setitimer(signal.ITIMER_REAL, 1, 1)
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_shown:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            self.clear()

    def _draw(self, *_: object) -> None:
        seconds = time.monotonic() - self.started
        line = units.cut(f"{self.text} ({seconds:.0f}s)", columns() - 1)
        self._write(f"\r{line}")
        self.drawn = units.width_of(line)

    def clear(self) -> None:
        """Removes the line, so that another one can be printed in its place."""
        if self.drawn:
            self._write(f"\r{' ' * self.drawn}\r")
            self.drawn = 0

    def _write(self, text: str) -> None:
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding, "replace"))
