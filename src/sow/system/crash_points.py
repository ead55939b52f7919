"""Counts the steps that reach the outside, so that a test can kill the process at each one."""

from __future__ import annotations

import os

VARIABLE = "SOW_TEST_KILL_AT"  # the number of the step before which the process is killed
CROSSINGS = "SOW_TEST_CROSSINGS"  # a file that gets a line for each step
SIGKILL = 9  # importing `signal` would slow down a hot verb


class Counter:
    """The number of steps of this process so far."""

    __slots__ = ("crossed",)

    def __init__(self) -> None:
        self.crossed = 0

    def cross(self, step: str) -> None:
        """Counts and records a step; if a test asked for this number, the process kills itself."""
        self.crossed += 1
        if CROSSINGS in os.environ:
            with open(os.environ[CROSSINGS], "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{self.crossed} {step}\n")
        if os.environ.get(VARIABLE) == str(self.crossed):
            os.kill(os.getpid(), SIGKILL)


COUNTER = Counter()


def crash_point(step: str = "") -> None:
    """Announces that the next step reaches the outside."""
    COUNTER.cross(step)
