"""Finds and kills the process trees of our children: their descendants and all processes with their mark.

Agent CLIs start their tools in new sessions, so killing a group leaves the tools alive. A process tree is found by
descent (including orphans, if the system lets us inherit them), by the child's group, by the processes seen below it
before, and by the mark in the environment, which remains after a crash of ours.
"""

from __future__ import annotations

import os
import signal
import time

from sow.system.caller import process_queries, set_process_name, supervisor_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sow.system.caller import Process, ProcessTable

MARK = "SOW_MARK"
PATIENCE = 5.0
PAUSE = 0.02
PR_SET_CHILD_SUBREAPER = 36


class SupervisedChildren:
    """The children that this process has started and not yet closed, and the processes that are not theirs."""

    __slots__ = ("inherits", "looked", "name", "own_sessions", "sessions_before", "shown", "table", "tasks")

    def __init__(self) -> None:
        self.own_sessions: set[int] = set()  # sessions of our own server processes; no child of ours can enter one
        self.tasks: dict[int, str] = {}
        self.table: dict[int, Process] = {}  # the last process table, which several children may share
        self.looked = float("-inf")
        self.sessions_before: set[int] = set()  # sessions that existed before; no child of ours can enter one
        self.inherits = False  # whether orphans of our children become our own children
        self.name = self.shown = ""  # our original process name, and the one that we show

    def forget(self) -> None:
        """Starts anew in a forked process, which has no children yet."""
        SupervisedChildren.__init__(self)

    def open(self, task: str, process_table: ProcessTable) -> None:
        """Prepares for a child: inherits its orphans, and shows all descendants that we supervise."""
        if process_table.inherits and not self.sessions_before:
            table = process_table.all_processes() if _has_children() and self._has_others(process_table) else {}
            self.sessions_before = {os.getsid(0), *(table[pid].session for pid in descendants({os.getpid()}, table))}
            self.inherits = become_subreaper()
        self._show({*self.tasks.values(), task})

    def _has_others(self, process_table: ProcessTable) -> bool:
        children = process_table.children()
        return children is None or bool(children - self.own_sessions)

    def add(self, pid: int, task: str) -> None:
        self.tasks[pid] = task

    def close(self, pid: int = 0) -> None:
        """Removes a child that has ended or never started; after the last one our old process name is restored."""
        self.tasks.pop(pid, None)
        if self.tasks:
            self._show(set(self.tasks.values()))
        elif self.name:
            set_process_name(self.name)
            self.name = self.shown = ""

    def process_table(self, process_table: ProcessTable, after: float) -> dict[int, Process]:
        """Returns every live process at a moment after that time; one table serves all children that ended before."""
        if self.looked <= after:
            self.looked = time.monotonic()
            self.table = process_table.all_processes()
        return self.table

    def adopted_children(self, process_table: ProcessTable) -> set[int] | None:
        """Returns our children that we did not start: live orphans of ended children; None if the system cannot tell.

        Ended ones are reaped, because a run would collect thousands of them. When one ends, its own children become
        ours and the next reading finds them. A table of all processes can miss one that is just starting.
        """
        while self.inherits and (children := process_table.children()) is not None:
            adopted = {pid for pid in children - self.tasks.keys() if not self._is_ours(pid)}
            alive = {pid for pid in adopted if not _reap(pid)}
            if alive or not adopted:
                return alive
        return None

    def _is_ours(self, pid: int) -> bool:
        """Returns whether a child belongs to no agent: a program of ours, or a job of the shell that became us."""
        try:
            return os.getsid(pid) in self.sessions_before | self.own_sessions
        except ProcessLookupError:  # gone, because SIGCHLD is ignored
            return True

    def inherited(self, table: dict[int, Process]) -> set[int]:
        """Returns the inherited processes: started neither by us nor in a session that existed before."""
        children = {
            pid
            for pid, process in table.items()
            if process.parent == os.getpid() and process.session not in self.sessions_before | self.own_sessions
        }
        return children - set(self.tasks)

    def _show(self, tasks: set[str]) -> None:
        badge = supervisor_name(tasks.pop() if len(tasks) == 1 else "")
        if badge != self.shown:
            before = set_process_name(badge)
            self.name, self.shown = self.name or before, badge


CHILDREN = SupervisedChildren()


def _has_children() -> bool:
    """Returns whether there are children already, for example if a shell with jobs became us; this is rare."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return False


def _reap(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def become_subreaper() -> bool:
    """Makes orphans of our children our own children, if the system supports it."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def descendants(roots: Iterable[int], table: dict[int, Process]) -> set[int]:
    """Returns every process below these; does not descend into this process."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    descendants: set[int] = set()
    waiting = list(roots)
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), ()) if pid not in descendants and pid != os.getpid()]
        descendants.update(new)
        waiting += new
    return descendants


def processes_in_folder(folder: str) -> dict[int, str]:
    """Returns every live process except ours whose working folder is this one or below it, with its name."""
    root = os.path.realpath(folder)
    names = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            cwd = os.readlink(f"/proc/{name}/cwd") if name.isdigit() and int(name) != os.getpid() else ""
            if cwd and f"{cwd}/".startswith(f"{root}/"):
                with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                    names[int(name)] = file.read().strip()
        except OSError:  # ended meanwhile, or of another user
            continue
    return names


def descendants_and_group(root: int, table: dict[int, Process]) -> dict[int, int]:
    """Returns the pid and start time of everything below a live child or in its group."""
    group = {pid for pid, process in table.items() if process.group == root}
    return {pid: table[pid].start_time for pid in (group | descendants({root, *group}, table)) - {root}}


def process_tree(
    root: int,
    mark: str,
    seen_before: dict[int, int],
    process_table: ProcessTable,
    *,
    since: int = 0,
    table: dict[int, Process] | None = None,
) -> set[int]:
    """Returns everything that a child started: below it, in its group, with its mark, or seen with it before.

    A process older than the child (`since`) cannot have its mark, which is new and random.
    """
    table = process_table.all_processes() if table is None else table
    pids = {
        pid
        for pid, born in seen_before.items()
        if pid in table and abs(table[pid].start_time - born) <= process_table.slack
    }
    if mark:
        pids |= process_table.marked(MARK, mark, [pid for pid, process in table.items() if process.start_time >= since])
    if root not in table:  # a live process with this pid is another one, with its own group
        pids |= {pid for pid, process in table.items() if process.group == root}
    adopted = CHILDREN.adopted_children(process_table) or set()
    if process_table.inherits and set(CHILDREN.tasks) == {root}:  # else the owner of an orphan is unknown
        pids |= CHILDREN.inherited(table) | adopted
    elif mark and adopted:
        pids |= process_table.marked(MARK, mark, adopted)
    return (pids | descendants({root, *pids}, table)) - {os.getpid(), root}


def signal_one(pid: int, number: int, *, group: bool = False) -> None:
    """Sends a signal to a process, or to the group that it leads; ignores one that has ended."""
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_all(pids: Collection[int]) -> None:
    """Kills these processes.

    All are stopped before the first one dies: otherwise an agent whose command is killed first would continue with its
    next step, and could submit.
    """
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            signal_one(pid, number)


def kill_tree(
    root: int, mark: str, seen_before: dict[int, int], process_table: ProcessTable | None = None, *, since: int = 0
) -> int:
    """Kills the rest of a process tree until nothing is left; returns how many there were."""
    process_table = process_table or process_queries()
    swept: set[int] = set()
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        left = process_tree(root, mark, seen_before, process_table, since=since)
        if not left:
            break
        swept |= left
        kill_all(left)
        time.sleep(PAUSE)
    reap(swept)
    return len(swept)


def live_marks(marks: Iterable[str]) -> set[str]:
    """Returns those of some marks that a live process carries."""
    process_table = process_queries()
    everybody = process_table.all_processes()
    return {mark for mark in marks if process_table.marked(MARK, mark, everybody)}


def kill_marked(mark: str) -> int:
    """Kills a process tree whose root is gone: after a crash of ours only the mark is left."""
    return kill_tree(-1, mark, {}) if mark else 0


def reap(pids: set[int]) -> None:
    """Reaps the orphans that we inherited, so that they do not stay as zombies."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
