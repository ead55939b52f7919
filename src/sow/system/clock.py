"""Gives the time in the forms that sow writes, random ids, and the steps at which a test can kill a process."""

from __future__ import annotations

import os
import time

FORM = "%Y-%m-%dT%H:%M:%SZ"
_fixed: list[str] = []


def now() -> str:
    """Returns the time in the form of our files: UTC, whole seconds."""
    return _fixed[0] if _fixed else time.strftime(FORM, time.gmtime())


def fix(moment: str) -> None:
    """Makes `now` return this time in this process, which repeats what was done elsewhere at that time."""
    _fixed[:] = [moment]


def format_time(seconds: float) -> str:
    """Returns another time in the same form."""
    return time.strftime(FORM, time.gmtime(seconds))


def epoch_of(at: str) -> int | None:
    """Returns a time in the form of our files in seconds since 1970, or None if it is invalid."""
    import calendar  # slow to import; the hot verbs read no time

    try:
        return calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return None


def epoch() -> int:
    """Returns the time in the form of completion-drive notes."""
    return (epoch_of(_fixed[0]) if _fixed else None) or int(time.time())


def stamp() -> str:
    """Returns the time as part of a file name."""
    return time.strftime("%Y%m%d_%H%M%S", time.gmtime())


def local(seconds: float) -> str:
    """Returns a local time of day with its zone, and with the date if it is not today."""
    try:
        moment = time.localtime(seconds)
    except (OverflowError, ValueError, OSError):
        return "later"
    return time.strftime("%H:%M %Z" if time.localtime()[:3] == moment[:3] else "%Y-%m-%d %H:%M %Z", moment)


def uuid4() -> str:
    """Returns a random UUID, version 4."""
    number = bytearray(os.urandom(16))
    number[6] = number[6] & 0x0F | 0x40
    number[8] = number[8] & 0x3F | 0x80
    text = number.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


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
