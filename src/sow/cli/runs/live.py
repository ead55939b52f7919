"""Shows a run live: as a block at the bottom of a terminal, as plain lines, or as a stream of JSON."""

from __future__ import annotations

import atexit
import json as json_module
import os
import sys
import time

from sow.cli.output import ESCAPED
from sow.cli.runs.live_lines import RunView
from sow.domain.runs.journal_entry import JournalEntry
from sow.reports import event_text
from sow.reports.live_run import LiveRun
from sow.system import terminal
from sow.system.live_block import StatusBlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any, TextIO

PAUSE = 0.1  # seconds between redraws
RECENT = 12  # lines shown of what happened before the view started


class Live:
    """Receives every journal entry (`tell`) and the time (`tick`); `close` restores the terminal.

    The zero of the clock does not matter, but `tick` must be given times of the same clock.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        json: bool = False,
        clock: Callable[[], float] = time.monotonic,
        expected: Mapping[str, float] | None = None,
    ) -> None:
        self.stream = stream or sys.stdout
        self.form = "json" if json else "block" if _can_draw(self.stream) else "lines"
        self._clock = clock
        self._live_run = LiveRun(expected)
        self._block = StatusBlock(self.stream)
        rich = (self.stream.encoding or "").lower().startswith("utf")
        self._view = RunView(colours=terminal.use_colour(self.stream), rich=rich)
        self._above: list[str] = []
        self._changed = False
        self._drawn = float("-inf")
        self._second = -1
        self._over = False

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def load_past(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Reads the entries of earlier calls of the run without printing them."""
        for data in entries:
            self._live_run.add(JournalEntry(data), self._clock())
        self._live_run.running.clear()
        self._live_run.started = None

    @property
    def closed(self) -> bool:
        """Whether the output is closed, such as a pipe without a reader."""
        return self._over

    def catch_up(self, entries: Iterable[tuple[dict[str, Any], float]]) -> None:
        """Shows earlier entries, each with its time; on a terminal only the last lines."""
        for entry, now in entries:
            self._take(entry, now)
        self._above = self._above[-RECENT:]
        self.tick(self._clock())

    def tell(self, entry: dict[str, Any]) -> None:
        """Shows a journal entry, now or with the next redraw."""
        now = self._clock()
        self._take(entry, now)
        self.tick(now)

    def _take(self, entry: dict[str, Any], now: float) -> None:
        if self._over:
            return
        if self.form == "json":
            self._say(self._document(entry))
            return
        record = JournalEntry(entry)
        if record.event == "run_started":  # the elapsed time of a continued run is that of its last call
            self._live_run.started = None
        self._live_run.add(record, now)
        line = event_text.timed_line(
            record, self._live_run, record.t if record.t is not None else self._live_run.elapsed(now)
        )
        if self.form == "block":
            self._above += [line] if line and record.event in event_text.LASTING_EVENTS else []
            self._changed = True
        elif line:
            self._say(line)

    def _document(self, entry: dict[str, Any]) -> str:
        ascii_only = (self.stream.encoding or "").lower() != "utf-8"
        text = json_module.dumps(entry, ensure_ascii=ascii_only).translate(ESCAPED)
        return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate becomes an escape

    def tick(self, now: float) -> None:
        """Redraws the block if something changed or a second has passed; cheap otherwise."""
        if self.form != "block" or self._over or self._live_run.started is None or now - self._drawn < PAUSE:
            return
        second = int(self._live_run.elapsed(now))
        if not self._changed and second == self._second:
            return
        if not self._block.drawn:
            atexit.register(self.close)
        columns, rows = self._block.size()
        lines = self._view.lines(self._live_run, now, columns, rows - 1)
        above, self._above = self._above, []
        self._drawn, self._second, self._changed = now, second, False
        self._guard(lambda: self._block.draw(above, lines))

    def ring_bell(self) -> None:
        """Rings the bell of the terminal; does nothing for JSON output."""
        if self.form != "json" and self.stream.isatty() and not self._over:
            self._guard(lambda: self._send("\a"))

    def close(self) -> None:
        """Removes the block and restores the cursor; printed lines stay."""
        if self._over:
            return
        self._over = True
        atexit.unregister(self.close)
        if self.form == "block":
            self._guard(lambda: self._block.close(self._above))

    def _say(self, text: str) -> None:
        self._guard(lambda: self._send(f"{text}\n"))

    def _send(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def _guard(self, write: Callable[[], None]) -> None:
        """Ends the view, but not the run, if the output is closed."""
        try:
            write()
        except (OSError, ValueError):
            self._over = True
            self._silence()

    def _silence(self) -> None:
        """Redirects the stream to /dev/null, so that flushing its buffer at exit cannot fail."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return


def _can_draw(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
