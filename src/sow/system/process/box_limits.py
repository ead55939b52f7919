"""Takes from a program in a box what bubblewrap leaves it: the kernel's keys, and sockets without a file.

The keys of a login session (such as Kerberos tickets) pass on to every program that it starts. A socket without a file,
such as that of an X server or of an older session bus, belongs to a network, and a box may share the machine's network.
"""

from __future__ import annotations

import os
import struct
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
    descriptor = os.memfd_create("filter")
    os.write(descriptor, b"".join(struct.pack("HBBI", *step) for step in program))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@cache
def leave_other_sockets() -> Callable[[], None] | None:
    """Returns what a new process calls so that it reaches no socket without a file but its own; None on an older Linux.

    It may gain no privileges afterwards, and neither may the programs that it becomes.
    """
    import ctypes

    library = ctypes.CDLL(None)
    if library.syscall(MAKE_RULES, None, ctypes.c_size_t(0), 1) < SCOPES_SINCE:
        return None
    wanted = struct.pack("QQQ", 0, 0, OTHER_SOCKETS)
    rules = library.syscall(MAKE_RULES, wanted, ctypes.c_size_t(len(wanted)), 0)
    if rules < 0:
        return None

    def obey() -> None:
        library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        library.syscall(OBEY_RULES, rules, 0)

    return obey
