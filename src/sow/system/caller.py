"""Identifies the caller of `sow` among the processes of this machine: a person, the orchestrator or a worker."""

from __future__ import annotations

import os
import sys

from sow.domain.inputs import is_member, is_task_id
from sow.domain.task import ORCHESTRATOR, PERSON, WORKER, Actor
from sow.errors import SowError
from sow.system import clock
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class ProcessTable(Protocol):
        """The process queries that find a child's process tree; `inherits`: whether its orphans become our children."""

        inherits: bool
        slack: int  # how far two start times of the same process may differ

        def start_time(self, pid: int) -> int: ...

        def all_processes(self) -> dict[int, Process]: ...

        def children(self) -> set[int] | None: ...

        def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]: ...


# A sow that supervises a turn sets its process name to this prefix and the task's id, or a digest if that is
# too long. Only the process itself can change its name, and all its descendants can read it, even those that
# removed every mark and left their parents.
SUPERVISOR_PREFIX = "sow-turn-"
LONGEST_NAME = 15
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGEST = 5
CHUNK = 1 << 16


class Process:
    """One process at the time of the query."""

    __slots__ = ("alive", "group", "name", "parent", "session", "start_time")

    def __init__(self, *, name: str, alive: bool, parent: int, group: int, session: int, born: int) -> None:
        self.name = name
        self.alive = alive
        self.parent = parent
        self.group = group
        self.session = session
        self.start_time = born  # a pid with another start time is another process


class ProcTable:
    """The process queries on a system with /proc."""

    __slots__ = ()

    inherits = True
    slack = 0

    def process(self, pid: int) -> Process | None:
        """Returns one process, or None if it has ended."""
        head, _, tail = _read(f"/proc/{pid}/stat").rpartition(b")")  # a name may contain brackets and blanks
        facts = tail.split()
        if len(facts) < 20:
            return None
        return Process(
            name=head.partition(b"(")[2].decode("utf-8", "replace"),
            alive=facts[0] not in (b"Z", b"X"),
            parent=int(facts[1]),
            group=int(facts[2]),
            session=int(facts[3]),
            born=int(facts[19]),
        )

    def start_time(self, pid: int) -> int:
        """Returns the start time of a process, or zero if it is unknown."""
        process = self.process(pid)
        return process.start_time if process else 0

    def all_processes(self) -> dict[int, Process]:
        """Returns every live process."""
        processes = ((int(name), self.process(int(name))) for name in os.listdir("/proc") if name.isdigit())
        return {pid: process for pid, process in processes if process and process.alive}

    def children(self) -> set[int] | None:
        """Returns our children, including ended ones that were not reaped; None if the kernel does not tell.

        A child stays in this list until we reap it, and orphans are appended, so that no reading misses one.
        """
        pids: set[int] = set()
        for thread in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{thread}/children", "rb", buffering=0) as file:
                    pids.update(map(int, (file.read() or b"").split()))
            except OSError:  # a kernel without this file
                return None
        return pids

    def variable(self, pid: int, name: str) -> str:
        """Returns a variable of a process's initial environment, if it can be read."""
        _, _, rest = (b"\0" + _read(f"/proc/{pid}/environ")).partition(f"\0{name}=".encode())
        return rest.partition(b"\0")[0].decode("utf-8", "replace")

    def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]:
        """Returns the live processes, or those among some, that were started with this variable."""
        return {pid for pid in (self.all_processes() if among is None else among) if self.variable(pid, name) == value}


def process_queries() -> ProcessTable:
    """Returns the process queries for this machine."""
    if os.path.exists("/proc/self/stat"):
        return ProcTable()

    return PsTable()


def supervisor_name(worker: str) -> str:
    """Returns the process name of a sow that supervises this task or this agent of a workflow."""
    if not worker:
        return SUPERVISOR_PREFIX
    return SUPERVISOR_PREFIX + (
        worker if worker.isdigit() and len(SUPERVISOR_PREFIX + worker) <= LONGEST_NAME else _digest(worker)
    )


def _digest(text: str) -> str:
    """Returns six letters that tell two names apart, the first not a digit: FNV-1a, since hashlib is slow to load."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    letters = ""
    for _ in range(DIGEST):
        value, rest = divmod(value, len(LETTERS))
        letters += LETTERS[rest]
    return f"x{letters}"


def set_process_name(name: str) -> str:
    """Sets the name of this process; returns the old name, or nothing if names are not supported."""
    try:
        with open("/proc/self/comm", "r+b", buffering=0) as file:
            before = file.read().decode("utf-8", "replace").rstrip("\n")
            file.write(name[:LONGEST_NAME].encode())
            return before
    except OSError:
        return ""


def _read(path: str) -> bytes:
    """Returns the bytes of a /proc file; empty if it is hidden, the process has ended, or there is no /proc."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = b""
        while chunk := os.read(descriptor, CHUNK):
            data += chunk
        return data
    except OSError:
        return b""
    finally:
        os.close(descriptor)


COLUMNS = ("pid", "ppid", "pgid", "stat", "lstart")
PATIENCE = 10  # seconds
LAYOUT = "%a %b %d %H:%M:%S %Y"


class PsTable:
    """The process queries with `ps`: start times in seconds, environments of our own user, and no sessions."""

    __slots__ = ()

    inherits = False
    slack = 2

    def start_time(self, pid: int) -> int:
        """Returns zero: the start time is not worth a call of `ps`."""
        return 0

    def all_processes(self) -> dict[int, Process]:
        """Returns every live process."""
        options = [word for column in COLUMNS for word in ("-o", f"{column}=")]
        processes = {}
        for line in _output(["ps", "-A", *options]).splitlines():
            pid, parent, group, state, *born = line.split()
            if not state.startswith("Z"):
                numbers = {"parent": int(parent), "group": int(group), "session": 0, "born": _seconds(born)}
                processes[int(pid)] = Process(name="", alive=True, **numbers)
        return processes

    def children(self) -> None:
        """Returns None: orphans of our children do not become ours here."""

    def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]:
        """Returns the live processes, or those among some, that were started with this variable."""
        with_environment = "axEww" if sys.platform == "darwin" else "axeww"
        rows = (line.split() for line in _output(["ps", with_environment, "-o", "pid=", "-o", "command="]).splitlines())
        pids = {int(row[0]) for row in rows if f"{name}={value}" in row[1:]}
        return pids if among is None else pids.intersection(among)


def _seconds(fields: list[str]) -> int:
    import time  # here, because only a machine without /proc needs it

    return int(time.mktime(time.strptime(" ".join(fields), LAYOUT)))


def _output(arguments: list[str]) -> str:
    """The output of `ps`; empty if it fails or does not end."""
    import subprocess  # as above

    clock.crash_point("start ps")
    try:
        return subprocess.run(
            arguments,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            start_new_session=True,  # Ctrl-C on our terminal is not meant for it
            check=False,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""


MAX_NAME = 64
MOST_READS = 10
AGENT_MARKS = ("SOW_TASK", "SOW_AGENT")
# Variables that an agent CLI sets for the commands of its session.
SESSION_MARKS = ("CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "CURSOR_AGENT")
ASKS = "SOW_ASKS"  # set by the layer of `sow install claude`, whose rules make Claude Code ask the person

_known: list[Actor] = []  # the caller, if the process knows it; then nothing else counts


def set_actor(caller: Actor) -> None:
    """Makes an actor the caller in this process, which runs a command for a worker that it knows by its socket."""
    _known[:] = [caller]


def actor(environment: Mapping[str, str]) -> Actor:
    """Returns the caller; a worker that removes or changes its marks is still a worker.

    Without marks of sow, a call in the session of an agent CLI is the orchestrator's.
    """
    if _known:
        return _known[0]
    role = environment.get("SOW_AGENT", "")
    task, supervised = _task(environment.get("SOW_TASK", ""))
    if task and not (is_task_id(task) or is_member(task)):
        raise SowError(
            f"SOW_TASK is {task!r}, which is not a task id",
            "unset SOW_TASK, or set it to an id such as 010, or to an agent of a workflow",
        )
    if task or supervised:
        return Actor(kind=WORKER, name=_name(role) or "worker", task=task)
    if role == ORCHESTRATOR or any(environment.get(mark) for mark in SESSION_MARKS):
        return Actor(kind=ORCHESTRATOR, name=ORCHESTRATOR)
    return _person(environment)


def _person(environment: Mapping[str, str]) -> Actor:
    return Actor(kind=PERSON, name=_name(environment.get("USER") or environment.get("LOGNAME") or "") or PERSON)


def require_non_worker(environment: Mapping[str, str], act: str) -> Actor:
    """Returns the caller if it may approve, answer or complete; raises for a worker."""
    caller = actor(environment)
    if caller.is_worker:
        raise SowError(
            f"a worker may not {act}", "set your task to needs_review or paused; the orchestrator or a person decides"
        )
    return caller


def require_person(environment: Mapping[str, str], act: str, *, asked: bool = False) -> Actor:
    """Returns the caller if it is a person; raises for a worker or the orchestrator.

    If the layer makes Claude Code ask about this command (`asked`), a call in its session has the person's consent.
    """
    caller = require_non_worker(environment, act)
    if caller.kind == PERSON:
        return caller
    if asked and environment.get("CLAUDECODE") and environment.get(ASKS):
        return _person(environment)
    hint = "the person runs it in a terminal of their own"
    if asked and environment.get("CLAUDECODE"):
        hint += "; to be asked in this session, they run: sow install claude, and open Claude Code again"
    raise SowError(f"the {caller.kind} may not {act}", hint)


def _name(text: str) -> str:
    """Returns a name for the head of a log entry: short, on one line, without the dot between fields."""
    return escape_line(text).replace("·", "-")[:MAX_NAME].strip()


def _task(own: str) -> tuple[str, bool]:
    """Returns the task or agent of this process, and whether it is supervised; the outermost ancestor counts."""
    task, supervised, marked = own, False, False
    proc = ProcTable()
    for pid, process in _ancestors(proc):
        mark = proc.variable(pid, "SOW_TASK")
        task, marked = mark or task, marked or bool(mark)
        is_supervisor = process.name.startswith(SUPERVISOR_PREFIX)
        if is_supervisor:
            task = _task_from_name(process.name, task, marked=marked)
        supervised = supervised or is_supervisor or bool(mark)
    return task, supervised


def _task_from_name(name: str, task: str, *, marked: bool) -> str:
    """Returns the task or agent that a supervisor's name means, or nothing if it is another than claimed.

    The name holds a task's id or a digest of an agent's name. A name for many tasks holds neither: then the mark of a
    process above counts, and for an agent only that.
    """
    suffix = name.removeprefix(SUPERVISOR_PREFIX)
    if is_task_id(suffix):
        return suffix
    if name == SUPERVISOR_PREFIX:
        return task if marked or not is_member(task) else ""
    return task if name == supervisor_name(task) else ""


def is_agent(pid: int) -> bool:
    """Returns whether a process is an agent's: it or an ancestor has a mark or supervises a turn, or it is gone."""
    proc = ProcTable()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        process.name.startswith(SUPERVISOR_PREFIX) or any(proc.variable(ancestor, name) for name in AGENT_MARKS)
        for ancestor, process in ancestors
    )


def is_supervised(pid: int) -> bool:
    """Returns whether a process is below a turn of a worker or a judge, even without marks, or has ended.

    A sow that supervises a turn itself is not, unless it is below another turn.
    """
    proc = ProcTable()
    ancestors = _ancestors(proc, pid)
    return not ancestors or any(
        (ancestor != pid and process.name.startswith(SUPERVISOR_PREFIX)) or bool(proc.variable(ancestor, "SOW_TASK"))
        for ancestor, process in ancestors
    )


def _ancestors(proc: ProcTable, start: int = 0) -> list[tuple[int, Process]]:
    """Returns all ancestors of this process, or a process and its ancestors.

    If an ancestor ends meanwhile, its children get another parent, so the list is read again.
    """
    ancestors: list[tuple[int, Process]] = []
    for _ in range(MOST_READS):
        ancestors.clear()
        pid = start or os.getppid()
        while pid and (process := proc.process(pid)):
            ancestors.append((pid, process))
            pid = process.parent
        if not pid:
            break
    return ancestors
