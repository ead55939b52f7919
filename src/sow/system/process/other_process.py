"""Checks, interrupts and waits for another process of this machine that is not our child."""

from __future__ import annotations

import os

PAUSE = 0.05


def is_alive(pid: int) -> bool:
    """Returns whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user, but alive
        return True
    return pid > 0


def lock_owners(descriptor: int) -> set[int] | None:
    """Returns the processes that own a lock on this file by the system's table; None if there is no table."""
    inode = f":{os.fstat(descriptor).st_ino}"
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    # A waiting process has an arrow after the number of its row.
    return {int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(inode)} - {0}


class OtherProcess:
    """Another process, held so that a later one with the same pid is never signalled."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptor = _open(pid)

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def interrupt(self) -> None:
        """Sends SIGINT to this process only, or SIGTERM if it ignores that; a stopped process continues."""
        import signal

        for number in (signal.SIGTERM if _ignores(self.pid, signal.SIGINT) else signal.SIGINT, signal.SIGCONT):
            try:
                if self.descriptor >= 0:
                    signal.pidfd_send_signal(self.descriptor, number)
                else:
                    os.kill(self.pid, number)
            except ProcessLookupError:
                if number != signal.SIGCONT:  # it ended after the first signal
                    raise

    def wait(self, seconds: float) -> bool:
        """Waits for its end for at most this time; returns whether it ended."""
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
    """Returns whether a process ignores a signal, as one started by a script with `&` does; unknown counts as yes."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            masks = [line.split()[1] for line in file if line.startswith("SigIgn:")]
    except OSError:
        return True
    return not masks or bool(int(masks[0], 16) >> (number - 1) & 1)


def _open(pid: int) -> int:
    """Returns a handle on the process, or -1 if the system has none."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # macOS, or an old kernel: only the pid is known
        return -1
