"""Another process of this machine that is no child of ours: whether it lives, a polite word to it, and its end."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

PAUSE = 0.05


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, but alive
        return True
    return pid > 0


def lock_owners(descriptor: int) -> set[int] | None:
    """The processes that the system's table names as owners of a lock on this file; None where there is no table."""
    inode = f":{os.fstat(descriptor).st_ino}"
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    # A row that begins with an arrow after its number is one who waits.
    return {int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(inode)} - {0}


class Peer:
    """One process, held so that a later one with the same number is never meant."""

    __slots__ = ("descriptor", "pid")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptor = _open(pid)

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def interrupt(self) -> None:
        """Send what Ctrl-C sends, to this process only; one that ignores that gets SIGTERM, a stopped one goes on."""
        import signal

        for number in (signal.SIGTERM if _ignores(self.pid, signal.SIGINT) else signal.SIGINT, signal.SIGCONT):
            try:
                if self.descriptor >= 0:
                    signal.pidfd_send_signal(self.descriptor, number)
                else:
                    os.kill(self.pid, number)
            except ProcessLookupError:
                if number != signal.SIGCONT:  # it has ended between the two
                    raise

    def ended(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it came."""
        import select
        import time

        if self.descriptor >= 0:
            waiting = select.poll()
            waiting.register(self.descriptor, select.POLLIN)
            return bool(waiting.poll(int(seconds * 1000)))
        give_up = time.monotonic() + seconds
        while is_alive(self.pid):
            if time.monotonic() > give_up:
                return False
            time.sleep(PAUSE)
        return True


def _ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal, as one does that a script started with `&`; unknown counts as yes."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            masks = [line.split()[1] for line in file if line.startswith("SigIgn:")]
    except OSError:
        return True
    return not masks or bool(int(masks[0], 16) >> (number - 1) & 1)


def _open(pid: int) -> int:
    """A handle on the process, where the system has such; -1 elsewhere."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # macOS, or an old kernel: its number has to do
        return -1
