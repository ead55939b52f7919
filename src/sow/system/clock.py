"""The door to the clock."""

from __future__ import annotations

import time


def now() -> str:
    """The time as our files have it: UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def written(seconds: float) -> str:
    """Another moment in the same form."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def epoch() -> int:
    """The time as completion-drive notes have it."""
    return int(time.time())


def stamp() -> str:
    """The time as part of a file's name."""
    return time.strftime("%Y%m%d_%H%M%S", time.gmtime())


def local(seconds: float) -> str:
    """A moment as the clock on the wall shows it, on another day with its date."""
    try:
        moment = time.localtime(seconds)
    except (OverflowError, ValueError, OSError):
        return "later"
    today = time.localtime()[:3] == moment[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", moment)
