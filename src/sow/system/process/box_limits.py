"""Takes from a program in a box what bubblewrap leaves it: the kernel's keys, and sockets without a file.

The keys of a login session (such as Kerberos tickets) pass on to every program that it starts. A socket without a file,
such as that of an X server or of an older session bus, belongs to a network, and a box may share the machine's network.
"""

from __future__ import annotations

import _thread
import os
import struct

from sow.system import plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

# By the kernel's name of the machine: each kind of program that it runs, and its first and last call for keys.
KEY_CALLS = {
    "x86_64": ((0xC000003E, 248, 250), (0x40000003, 286, 288)),
    "aarch64": ((0xC00000B7, 217, 219), (0x40000028, 309, 311)),
}
LOAD, AND, EQUAL, GREATER, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
NUMBER, KIND = 0, 4  # of a system call, in what the kernel shows a filter
NO_X32 = 0xBFFFFFFF  # without the bit of another way to make the same calls
ALLOW, NOT_THERE = 0x7FFF0000, 0x00050026  # as in a kernel without keys
NO_NEW_PRIVILEGES = 38
MAKE_RULES, OBEY_RULES = 444, 446
SCOPES_SINCE = 6  # version of these rules
OTHER_SOCKETS = 1


def key_filter() -> int:
    """Returns a descriptor with the filter that refuses the calls for keys, or -1 for a machine that is not known."""
    kinds = KEY_CALLS.get(os.uname().machine, ())
    if not kinds:
        return -1
    program = [(LOAD, 0, 0, KIND)]
    for kind, first, last in kinds:
        program += [
            (EQUAL, 0, 6, kind),
            (LOAD, 0, 0, NUMBER),
            (AND, 0, 0, NO_X32),
            (AT_LEAST, 0, 2, first),
            (GREATER, 1, 0, last),
            (RETURN, 0, 0, NOT_THERE),
            (RETURN, 0, 0, ALLOW),
        ]
    program.append((RETURN, 0, 0, ALLOW))
    return plain_file.in_memory("filter", b"".join(struct.pack("HBBI", *step) for step in program))


class LimitedThread:
    """A thread whose new processes reach no socket without a file but their own.

    A process inherits this limit from the thread that starts it. So no code has to run between fork and exec, for which
    Python would copy this whole process. The thread never ends, because a box ends with the thread that started it.
    """

    __slots__ = ("_job", "_one", "_process", "_wanted")

    def __init__(self) -> None:
        self._process = os.getpid()
        self._one, self._wanted = _thread.allocate_lock(), _thread.allocate_lock()
        self._wanted.acquire()
        self._job: _Job
        _thread.start_new_thread(self._serve, ())

    @property
    def is_here(self) -> bool:
        """Returns whether this process has the thread: a forked one does not."""
        return self._process == os.getpid()

    def call(self, function: Callable[[], T]) -> T:
        """Calls a function in the thread, and returns its result or raises its error."""
        with self._one:
            self._job = job = _Job(function)
            self._wanted.release()
            job.done.acquire()
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _serve(self) -> None:
        while True:
            self._wanted.acquire()
            self._job.run()


class _Job:
    """A function that the thread calls, and its result or its error."""

    __slots__ = ("done", "error", "function", "result")

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.done = _thread.allocate_lock()
        self.done.acquire()
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:  # the caller raises it
            self.error = error
        finally:
            self.done.release()


_threads: list[LimitedThread | None] = []  # at most one, made when it is needed; None: this Linux has no such limit


def call_without_other_sockets(function: Callable[[], T]) -> T:
    """Calls a function whose new processes reach no socket without a file but their own.

    They may gain no privileges, and neither may the programs that they become. An older Linux has no such limit.
    """
    if not _threads or (_threads[0] is not None and not _threads[0].is_here):
        _threads[:] = [_limited_thread()]
    return function() if _threads[0] is None else _threads[0].call(function)


def _limited_thread() -> LimitedThread | None:
    import ctypes

    library = ctypes.CDLL(None)
    if library.syscall(MAKE_RULES, None, ctypes.c_size_t(0), 1) < SCOPES_SINCE:
        return None
    wanted = struct.pack("QQQ", 0, 0, OTHER_SOCKETS)
    rules = library.syscall(MAKE_RULES, wanted, ctypes.c_size_t(len(wanted)), 0)
    if rules < 0:
        return None

    def obey() -> bool:
        return not library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) and not library.syscall(OBEY_RULES, rules, 0)

    thread = LimitedThread()
    try:
        return thread if thread.call(obey) else None
    finally:
        os.close(rules)
