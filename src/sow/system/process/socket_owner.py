"""Finds the process at the other end of a local connection, from /proc, if there is one."""

from __future__ import annotations

import os
import socket
import sys

from sow.system import caller

NOBODY_SEEN = "the process that sent it cannot be seen"
LOOKS = 3
MAPPED = "0000000000000000FFFF0000"  # the prefix of an IPv4 address in the table of IPv6


def refusal(client: tuple[str, int], server: tuple[str, int]) -> str:
    """Returns why a request of this client does not come from our user; empty if it does.

    Without /proc it cannot be known: then only the token and the cookie are checked.
    """
    if not os.path.exists("/proc/net/tcp"):
        return ""
    connection = _find_connection(client, server)
    if connection is None:
        return NOBODY_SEEN
    owner, inode = connection
    if owner not in (os.getuid(), 0):
        return "it comes from another user of this machine"
    holders = _holders(inode, owner)
    if not holders:
        return NOBODY_SEEN
    return "an agent sent it" if any(caller.is_agent(pid) for pid in holders) else ""


def is_foreign(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Returns whether another user owns the client's end; without /proc it counts as ours."""
    if not os.path.exists("/proc/net/tcp"):
        return False
    connection = _find_connection(client, server)
    return connection is None or connection[0] not in (os.getuid(), 0)


def _find_connection(client: tuple[str, int], server: tuple[str, int]) -> tuple[int, str] | None:
    """Returns the user and the inode of the client's end of a connection, or None if it is closed."""
    addresses = _table_form(client), _table_form(server)
    for table, prefix in (("/proc/net/tcp", ""), ("/proc/net/tcp6", MAPPED)):
        expected = [prefix + address for address in addresses]
        for line in _lines(table):
            row = line.split()
            if row[1:3] == expected and row[9] != "0":
                return int(row[7]), row[9]
    return None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readlines()[1:]
    except OSError:
        return []


def _table_form(end: tuple[str, int]) -> str:
    number = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{number:08X}:{end[1]:04X}"


def _holders(inode: str, owner: int) -> set[int]:
    """Returns the processes that have the socket open; if none shows it, all of that user that hide their files."""
    hidden: set[int] = set()
    for _ in range(LOOKS):  # if the socket is passed on meanwhile, the next look finds it
        holders: set[int] = set()
        hidden = set()
        for name in os.listdir("/proc"):
            if name.isdigit():
                holds = _has_open(name, f"socket:[{inode}]")
                (holders if holds else hidden if holds is None and _user(name) == owner else set()).add(int(name))
        if holders:
            return holders
    return hidden


def _has_open(pid: str, link: str) -> bool | None:
    """Returns whether a process has this file open; None if it hides its files."""
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
    """Returns the effective user of a process, or -1 if it is gone."""
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("Uid:"):
            return int(line.split()[2])
    return -1
