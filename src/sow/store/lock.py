"""The short lock: one writer at a time in a checkout, for the milliseconds of one change. It dies with its holder.

It is a lock on a folder, so that there is no file that somebody could delete under its holder: a second one would be
made, and two would write at once.
"""

from __future__ import annotations

import fcntl
import os
import time

from sow.errors import Waiting
from sow.store.disk import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

PATIENCE = 30.0
PAUSE = 0.001
LONGEST_PAUSE = 0.02


def open_lock(path: str, flags: int) -> int:
    """A descriptor of the folder or file that is locked."""
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise failure("lock", path, error) from None


def try_lock(descriptor: int, path: str) -> bool:
    """Take the lock if nobody has it, and if what is locked is still at that path."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise failure("lock", path, error) from None
    try:
        return os.fstat(descriptor).st_ino == os.stat(path).st_ino
    except FileNotFoundError:
        return False


def is_locked(descriptor: int) -> bool:
    """Whether somebody else has the lock on this file; nothing is kept."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


class Lock:
    """`with Lock(folder):` holds it; a second writer waits."""

    __slots__ = ("descriptor", "path", "patience")

    def __init__(self, path: str, *, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self.descriptor = -1

    def __enter__(self) -> Lock:
        give_up = time.monotonic() + self.patience
        pause = PAUSE
        while True:
            self.descriptor = open_lock(self.path, os.O_RDONLY | os.O_DIRECTORY)
            if try_lock(self.descriptor, self.path):
                return self
            os.close(self.descriptor)
            if time.monotonic() > give_up:
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
