"""Reads the clock and formats times."""

from __future__ import annotations

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
