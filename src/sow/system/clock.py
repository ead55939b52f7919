"""The door to the clock."""

from __future__ import annotations

import time


def now() -> str:
    """The time as our files have it: UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def epoch() -> int:
    """The time as completion-drive notes have it."""
    return int(time.time())


def stamp() -> str:
    """The time as part of a file's name."""
    return time.strftime("%Y%m%d_%H%M%S", time.gmtime())
