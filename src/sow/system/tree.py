"""Families of processes: who descends from a child of ours or carries its mark, and how all of them end.

Agent CLIs start their tools in sessions of their own, so killing a group leaves the tools alive. A family is found by
descent (where the system lets us inherit orphans, theirs too), by the child's group, by whom we have seen below it
before, and by the mark in the environment, which outlives us.
"""

from __future__ import annotations

import os
import signal
import time

from sow.system import census as censuses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sow.system.census import Census, Process

MARK = "SOW_MARK"
PATIENCE = 5.0
PAUSE = 0.02
PR_SET_CHILD_SUBREAPER = 36


class Nursery:
    """The children that this process has started and not yet closed, and what must be told apart from theirs."""

    __slots__ = ("inherits", "looked", "name", "older", "shown", "table", "tasks")

    def __init__(self) -> None:
        self.tasks: dict[int, str] = {}
        self.table: dict[int, Process] = {}  # of the last look that several may share
        self.looked = float("-inf")
        self.older: set[int] = set()  # sessions that were there before; no child of ours can ever get into one
        self.inherits = False  # whether the system makes orphans of our children our own
        self.name = self.shown = ""  # our own, and the one that we show

    def open(self, task: str, census: Census) -> None:
        """Get ready for a child: its orphans will be ours, and all below us can see that we supervise."""
        if census.inherits and not self.older:
            table = census.everybody() if _has_children() else {}
            self.older = {os.getsid(0), *(table[pid].session for pid in below({os.getpid()}, table))}
            self.inherits = become_subreaper()
        self._show({*self.tasks.values(), task})

    def add(self, pid: int, task: str) -> None:
        self.tasks[pid] = task

    def close(self, pid: int = 0) -> None:
        """A child is gone, or was never born; with the last one our old name comes back."""
        self.tasks.pop(pid, None)
        if self.tasks:
            self._show(set(self.tasks.values()))
        elif self.name:
            censuses.wear(self.name)
            self.name = self.shown = ""

    def look(self, census: Census, after: float) -> dict[int, Process]:
        """Every live process at one moment after that time: one look serves all children that had ended by then."""
        if self.looked <= after:
            self.looked = time.monotonic()
            self.table = census.everybody()
        return self.table

    def strangers(self, census: Census) -> set[int] | None:
        """Our own children whom we did not start: live orphans of those that have ended; None where nobody can say.

        Those who have ended are collected: a run would gather thousands of them. What one of them had left becomes ours
        with its end, and is found by the next reading. A table of all processes can miss one that is just being born.
        """
        while self.inherits and (children := census.children()) is not None:
            found = {pid for pid in children - self.tasks.keys() if not self._was_here_before(pid)}
            alive = {pid for pid in found if not _collect(pid)}
            if alive or not found:
                return alive
        return None

    def _was_here_before(self, pid: int) -> bool:
        """Whether a child is none of an agent's: an errand of ours, or a job of the shell that has become us."""
        try:
            return os.getsid(pid) in self.older
        except ProcessLookupError:  # gone, where nobody is let wait for children
            return True

    def orphans(self, table: dict[int, Process]) -> set[int]:
        """Those whom we inherited: neither started by us nor by whoever was here before us."""
        mine = {pid for pid, each in table.items() if each.parent == os.getpid() and each.session not in self.older}
        return mine - set(self.tasks)

    def _show(self, tasks: set[str]) -> None:
        badge = censuses.badge(tasks.pop() if len(tasks) == 1 else "")
        if badge != self.shown:
            before = censuses.wear(badge)
            self.name, self.shown = self.name or before, badge


NURSERY = Nursery()


def _has_children() -> bool:
    """Whether there are any already, as when a shell with jobs has become us; nearly always there are none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return False


def _collect(pid: int) -> bool:
    """Whether a child has ended; it is gone then."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def become_subreaper() -> bool:
    """Let orphans of our children become ours, where the system has that."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def below(roots: Iterable[int], table: dict[int, Process]) -> set[int]:
    """Every process below these, but for those that we ourselves started on the way."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), ()) if pid not in found and pid != os.getpid()]
        found.update(new)
        waiting += new
    return found


def working_in(folder: str) -> dict[int, str]:
    """Every live process but ours whose working folder is this one or below it, with its name."""
    place = os.path.realpath(folder)
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            where = os.readlink(f"/proc/{name}/cwd") if name.isdigit() and int(name) != os.getpid() else ""
            if where and f"{where}/".startswith(f"{place}/"):
                with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                    found[int(name)] = file.read().strip()
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def relatives(root: int, table: dict[int, Process]) -> dict[int, int]:
    """Everybody below a live child or in its group, and when each was born, so that they are known again later."""
    group = {pid for pid, each in table.items() if each.group == root}
    return {pid: table[pid].born for pid in (group | below({root, *group}, table)) - {root}}


def family(
    root: int,
    mark: str,
    known: dict[int, int],
    census: Census,
    *,
    since: int = 0,
    table: dict[int, Process] | None = None,
) -> set[int]:
    """All that a child started: those below it, in its group, with its mark, and whoever was seen with it before.

    Nobody who was born before the child (`since`) can have its mark, which is new and random.
    """
    table = census.everybody() if table is None else table
    found = {pid for pid, born in known.items() if pid in table and abs(table[pid].born - born) <= census.slack}
    found |= census.marked(MARK, mark, [pid for pid, each in table.items() if each.born >= since]) if mark else set()
    if root not in table:  # a live process with its number is another one, with a group of its own
        found |= {pid for pid, each in table.items() if each.group == root}
    strangers = NURSERY.strangers(census) or set()
    if census.inherits and set(NURSERY.tasks) == {root}:  # while several work, nobody can say whose an orphan is
        found |= NURSERY.orphans(table) | strangers
    elif mark and strangers:
        found |= census.marked(MARK, mark, strangers)
    return (found | below({root, *found}, table)) - {os.getpid(), root}


def signal_one(pid: int, number: int, *, group: bool = False) -> None:
    """Send a signal to a process, or to the group that it leads; one that is gone is no error."""
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def end(pids: Collection[int]) -> None:
    """Kill these processes for good.

    All are stopped before the first of them dies: an agent whose command was killed a moment before it would go on
    with its next step, and could hand in.
    """
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            signal_one(pid, number)


def sweep(root: int, mark: str, known: dict[int, int], census: Census | None = None, *, since: int = 0) -> int:
    """Kill what is left of a family until nothing is; returns how many there were."""
    census = census or censuses.here()
    swept: set[int] = set()
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        left = family(root, mark, known, census, since=since)
        if not left:
            break
        swept |= left
        end(left)
        time.sleep(PAUSE)
    reap(swept)
    return len(swept)


def living(marks: Iterable[str], census: Census | None = None) -> set[str]:
    """Those of some marks that a live process carries."""
    census = census or censuses.here()
    everybody = census.everybody()
    return {mark for mark in marks if census.marked(MARK, mark, everybody)}


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
