"""Locks a folder, so that only one process at a time changes the state of a checkout.

The lock is held for milliseconds and ends with its process. It is on a folder and not on a file: if somebody deleted
a lock file while it was held, the next process would make a second one, and both would write.
"""

from __future__ import annotations

import fcntl
import os
import time

from sow.errors import Waiting
from sow.store.files.disk import system_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

MAX_WAIT = 30.0
PAUSE = 0.001
LONGEST_PAUSE = 0.02


def open_lock(path: str, flags: int) -> int:
    """Opens the folder or file to lock, and returns its descriptor."""
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise system_error("lock", path, error) from None


def try_lock(descriptor: int, path: str) -> bool:
    """Takes the lock. Returns False if it is held, or if the path now names another file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise system_error("lock", path, error) from None
    try:
        return os.fstat(descriptor).st_ino == os.stat(path).st_ino
    except FileNotFoundError:
        return False


def is_locked(descriptor: int) -> bool:
    """Returns True if another process holds the lock on this file. Takes nothing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


class Lock:
    """Holds the lock inside a `with` block; a second writer waits."""

    __slots__ = ("descriptor", "path", "patience")

    def __init__(self, path: str, *, patience: float = MAX_WAIT) -> None:
        self.path = path
        self.patience = patience
        self.descriptor = -1

    def __enter__(self) -> Lock:
        deadline = time.monotonic() + self.patience
        pause = PAUSE
        while True:
            self.descriptor = open_lock(self.path, os.O_RDONLY | os.O_DIRECTORY)
            if try_lock(self.descriptor, self.path):
                return self
            os.close(self.descriptor)
            if time.monotonic() > deadline:
                raise Waiting(
                    f"another sow has held {self.path} for {self.patience:.0f} seconds",
                    "end that process ('fuser' names it), then run the command again",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)
