"""Runs long work as generators that yield while a process runs and receive there the request to stop.

One thread steps many generators, so that one place decides and writes; `run_to_end` steps a single one.
"""

from __future__ import annotations

import os
import select
import signal
import time

from sow.system.process import process_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, TypeVar

    from sow.system.process.steps import Steps as Steps

    T = TypeVar("T")

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
CONTINUE = True  # yielded by a step that waits only for a step of the others
SHORTEST = 0.005
LONGEST = 0.1
BELL = 4096


class Interrupts:
    """Counts Ctrl-C and similar signals instead of raising; a signal that the caller ignores stays ignored."""

    __slots__ = ("_before", "_bell", "_bell_before", "always_count", "waiting")

    def __init__(self, *, patient: bool = True) -> None:
        self.always_count = patient  # wait for a step even if no child runs
        self.waiting = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        self._bell = os.pipe()
        os.set_blocking(self._bell[1], False)
        self._bell_before = signal.set_wakeup_fd(self._bell[1], warn_on_full_buffer=False)
        for number in (*STOPPING_SIGNALS, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _wake if number == signal.SIGCHLD else self._note)
        return self

    def sleep(self, seconds: float) -> bool:
        """Waits for a time or until a signal comes, such as the end of a child; returns whether one came."""
        got_signal = bool(select.select([self._bell[0]], [], [], seconds)[0])
        if got_signal:
            os.read(self._bell[0], BELL)
        return got_signal

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.always_count and not process_tree.CHILDREN.name:  # no child has to be stopped first
            raise KeyboardInterrupt
        self.waiting += 1

    def take(self) -> str:
        """Returns `interrupt` for one signal that came, else an empty text."""
        if not self.waiting:
            return ""
        self.waiting -= 1
        return "interrupt"

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._bell_before)
        for descriptor in self._bell:
            os.close(descriptor)


def _wake(number: int, frame: FrameType | None) -> None:
    """Does nothing: the end of a child only has to wake the loop."""


def run_to_end(steps: Steps[T], tick: Callable[[float], None] | None = None, *, patient: bool = False) -> T:
    """Takes all steps of one generator and returns its result. `tick` is called with the time between the steps.

    With `patient`, Ctrl-C waits for a step also if no child runs.
    """
    with Interrupts(patient=patient) as interrupts:
        pause = SHORTEST
        try:
            soon = next(steps)
            while True:
                interrupts.sleep(0 if soon else pause)
                pause = min(pause * 1.5, LONGEST)
                if tick is not None:
                    tick(time.monotonic())
                soon = steps.send(interrupts.take())
        except StopIteration as end:
            result: T = end.value
            return result
