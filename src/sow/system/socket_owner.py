"""Which process is at the other end of a connection within this machine, from /proc, where there is one."""

from __future__ import annotations

import os
import socket
import sys

from sow.system import caller

NOBODY_SEEN = "the process that sent it cannot be seen"
LOOKS = 3
MAPPED = "0000000000000000FFFF0000"  # how an address of IPv4 stands in the table of IPv6


def refusal(client: tuple[str, int], server: tuple[str, int]) -> str:
    """Why what this client asks for is not a wish of the person whose process we are; empty where it is.

    Without /proc nobody can say: then the token and the cookie are all that is asked for.
    """
    if not os.path.exists("/proc/net/tcp"):
        return ""
    found = _row(client, server)
    if found is None:
        return NOBODY_SEEN
    owner, inode = found
    if owner not in (os.getuid(), 0):
        return "it comes from another user of this machine"
    holders = _holders(inode, owner)
    if not holders:
        return NOBODY_SEEN
    return "an agent sent it" if any(caller.is_agent(pid) for pid in holders) else ""


def is_foreign(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether another user owns the client's end; without /proc nobody can say, and it counts as ours."""
    if not os.path.exists("/proc/net/tcp"):
        return False
    found = _row(client, server)
    return found is None or found[0] not in (os.getuid(), 0)


def _row(client: tuple[str, int], server: tuple[str, int]) -> tuple[int, str] | None:
    """The user who owns the client's end of a connection, and its number; None once it is closed."""
    ends = _shown(client), _shown(server)
    for table, prefix in (("/proc/net/tcp", ""), ("/proc/net/tcp6", MAPPED)):
        wanted = [prefix + each for each in ends]
        for line in _lines(table):
            row = line.split()
            if row[1:3] == wanted and row[9] != "0":
                return int(row[7]), row[9]
    return None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readlines()[1:]
    except OSError:
        return []


def _shown(end: tuple[str, int]) -> str:
    """An address and a port as the tables show them."""
    number = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{number:08X}:{end[1]:04X}"


def _holders(inode: str, owner: int) -> set[int]:
    """Who has that end open; where it is one that hides its files (sshd does), everybody of that user who does."""
    hidden: set[int] = set()
    for _ in range(LOOKS):  # one that hands it on while we look is met at the next look
        found: set[int] = set()
        hidden = set()
        for name in os.listdir("/proc"):
            if name.isdigit():
                has = _has(name, f"socket:[{inode}]")
                (found if has else hidden if has is None and _user(name) == owner else set()).add(int(name))
        if found:
            return found
    return hidden


def _has(pid: str, link: str) -> bool | None:
    """Whether a process has this file open; None where it does not show its files."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(_target(f"{folder}/{name}") == link for name in os.listdir(folder))
    except PermissionError:
        return None
    except OSError:
        return False


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except PermissionError:
        raise
    except OSError:
        return ""


def _user(pid: str) -> int:
    """The user whose rights a process has; -1 where it is gone."""
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("Uid:"):
            return int(line.split()[2])
    return -1
