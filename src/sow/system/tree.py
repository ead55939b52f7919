"""Families of processes: who descends from a child of ours or carries its mark, and how all of them end.

Agent CLIs start their tools in sessions of their own, so killing a group leaves the tools alive. A family is found in
two ways: by descent (as a subreaper we inherit orphans) and by the mark in its environment (which outlives us).
"""

from __future__ import annotations

import os
import signal
import time

PATIENCE = 5.0
PAUSE = 0.02
PR_SET_CHILD_SUBREAPER = 36
STARTED: set[int] = set()  # the children that we started ourselves; any other child of ours is an orphan of theirs


def become_subreaper() -> bool:
    """Let orphans of our children become ours, where the system has that."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # macOS: groups and marks have to do
        return False


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def marked(mark: str) -> set[int]:
    """Every live process that has the mark in its environment."""
    wanted = f"SOW_MARK={mark}".encode()
    found = set()
    for pid in _processes():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0") and _state(pid) != "Z":
                    found.add(pid)
        except OSError:  # ended meanwhile, or another user's: not ours
            continue
    return found - {os.getpid()}


def descendants(root: int) -> set[int]:
    """Every live process below this one."""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        children.setdefault(_parent(pid), []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return {pid for pid in found if _state(pid) not in ("Z", "")}


def births(pids: set[int]) -> dict[int, str]:
    """When each process was born: a number that comes again later is another process."""
    return {pid: born for pid in pids if (born := _born(pid))}


def _born(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def family(root: int, mark: str, known: dict[int, str]) -> set[int]:
    """All that a child started: its descendants, all with its mark, and those who were seen below it before."""
    seen = {pid for pid, born in known.items() if _born(pid) == born and _state(pid) != "Z"} | _orphans(root)
    below = {pid for each in seen for pid in descendants(each)}
    return (descendants(root) | marked(mark) | seen | below) - {os.getpid(), root}


def _orphans(root: int) -> set[int]:
    """Orphans without a mark that we inherited: while several workers run, nobody can say whose they are."""
    if {root} != STARTED:
        return set()
    return {pid for pid in descendants(os.getpid()) if _parent(pid) == os.getpid()} - STARTED


def signal_one(pid: int, number: int, *, group: bool = False) -> None:
    """Send a signal to a process, or to the group that it leads; one that is gone is no error."""
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def end(pids: set[int]) -> None:
    """Kill these processes for good."""
    for pid in pids:
        signal_one(pid, signal.SIGKILL)


def sweep(root: int, mark: str, known: dict[int, str]) -> int:
    """Kill what is left of a family until nothing is; returns how many there were."""
    count = 0
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        left = family(root, mark, known)
        if not left:
            break
        count += len(left)
        end(left)
        reap(left)
        time.sleep(PAUSE)
    return count


def sweep_mark(mark: str) -> int:
    """The same for a family whose parent is gone: after a crash of ours the mark is all that is left."""
    return sweep(-1, mark, {}) if mark else 0


def reap(pids: set[int]) -> None:
    """Collect the orphans that we inherited, so that they do not stay as zombies."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
