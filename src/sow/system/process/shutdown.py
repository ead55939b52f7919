"""Shuts the process down on a signal: asks the work in progress to stop, and waits for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TICK = 0.05
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class GracefulShutdown:
    """The work in progress in this process, each with the event that asks it to stop."""

    def __init__(self) -> None:
        self.stops: set[threading.Event] = set()

    def watch(self) -> None:
        """Handles Ctrl-C and similar signals from now on, even while a thread waits for input that never comes."""
        for number in SIGNALS:
            signal.signal(number, self._leave)

    @contextmanager
    def during(self, stop: threading.Event) -> Iterator[None]:
        """Makes a shutdown wait until the block ends."""
        self.stops.add(stop)
        try:
            yield
        finally:
            self.stops.discard(stop)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        for stop in list(self.stops):
            stop.set()
        threading.Thread(target=self._wait, args=(128 + number,), daemon=True).start()

    def _wait(self, code: int) -> None:
        while self.stops:
            time.sleep(TICK)
        os._exit(code)
