"""The boundaries between two steps that reach the outside: a test that counts them can kill us at each one."""

from __future__ import annotations

import os

VARIABLE = "SOW_TEST_KILL_AT"  # the number of the boundary before which we end
CROSSINGS = "SOW_TEST_CROSSINGS"  # a file that gets a line for each
SIGKILL = 9  # the `signal` module costs a hot verb more than this line


class Counter:
    """How many boundaries this process has crossed."""

    __slots__ = ("crossed",)

    def __init__(self) -> None:
        self.crossed = 0

    def cross(self, step: str) -> None:
        """Count one more and write it down; where a test wants it, that is the end, as by kill -9."""
        self.crossed += 1
        if CROSSINGS in os.environ:
            with open(os.environ[CROSSINGS], "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{self.crossed} {step}\n")
        if os.environ.get(VARIABLE) == str(self.crossed):
            os.kill(os.getpid(), SIGKILL)


COUNTER = Counter()


def cross(step: str = "") -> None:
    """Say that the next step reaches the outside."""
    COUNTER.cross(step)
