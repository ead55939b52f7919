"""A server in a process of our own, forked from this one, that ends with it."""

from __future__ import annotations

import gc
import os
import signal
import time

from sow.system.caller import process_queries, set_process_name
from sow.system.process.process_tree import CHILDREN, kill_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

END_SECONDS = 2.0  # for the work that is under way when the server is closed
PAUSE = 0.0001
LONGEST_PAUSE = 0.02
STANDARD_STREAMS = 3


class ForkedServer:
    """A process that serves until `close`, or until this process ends: then its lifeline can be read."""

    __slots__ = ("_ended", "_lifeline", "pid")

    def __init__(self, name: str, kept: set[int], serve: Callable[[int], None]) -> None:
        """Forks; the child keeps the descriptors `kept` and its lifeline, and never returns from `serve`."""
        self._ended = False
        lifeline, self._lifeline = os.pipe()
        everything = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # no handler of ours in the child
        try:
            self.pid = os.fork()
            if not self.pid:
                _live(name, {*kept, lifeline}, lifeline, serve)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, everything)
            os.close(lifeline)
        CHILDREN.own_sessions.add(self.pid)

    def close(self) -> bool:
        """Ends the server and waits for the work that is under way, some seconds at most; False if it was closed."""
        if self._lifeline < 0:
            return False
        os.close(self._lifeline)
        self._lifeline = -1
        give_up, pause = time.monotonic() + END_SECONDS + 1, PAUSE
        while not self.has_ended():
            if time.monotonic() > give_up:
                self.kill()
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)
        CHILDREN.own_sessions.discard(self.pid)
        return True

    def kill(self) -> None:
        """Kills the server, and all that it started."""
        table = process_queries().all_processes()
        kill_all([self.pid, *(pid for pid, process in table.items() if process.session == self.pid)])

    def has_ended(self) -> bool:
        """Returns whether its process has ended."""
        try:
            self._ended = self._ended or os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            self._ended = True
        return self._ended


def _live(name: str, kept: set[int], lifeline: int, serve: Callable[[int], None]) -> None:
    """Is the whole life of the server's process, which never returns to the code of the supervisor."""
    try:
        _leave_supervisor(name, kept)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        serve(lifeline)
    finally:
        kill_group(os.getpid())  # the children that did not end, and this process
        os._exit(1)


def _leave_supervisor(name: str, kept: set[int]) -> None:
    """Gives up what belongs to the supervisor: its terminal, signals, descriptors and children."""
    os.setsid()
    gc.disable()  # no object of the supervisor may close a descriptor whose number is used again
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(STANDARD_STREAMS):
        os.dup2(null, stream)
    close_others(kept)
    os.chdir("/")
    set_process_name(name)
    CHILDREN.forget()


def close_others(kept: set[int]) -> None:
    """Closes all descriptors but the standard streams and those to keep."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= STANDARD_STREAMS and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:  # the descriptor of the listing itself
                continue


def lead_group(pid: int) -> None:
    """Gives a child a group of its own, unless it has ended; both it and its parent do that, as soon as they can."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        return


def kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
