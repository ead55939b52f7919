"""The processes of this machine: who started whom, since when, and with which marks; from /proc, where there is one."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Census(Protocol):
        """What a family is found by; `inherits` says whether orphans of a child of ours become our own children."""

        inherits: bool
        slack: int  # how far two tellings of one birth may be apart

        def birth(self, pid: int) -> int: ...

        def everybody(self) -> dict[int, Process]: ...

        def children(self) -> set[int] | None: ...

        def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]: ...


# A sow that supervises a turn shows it in its own name, followed by the task's id, or by a digest of what is too long
# for it. Only the process itself can change that, and all who live below it can read it: those too who have taken off
# every mark and left their parents.
BADGE = "sow-turn-"
LONGEST_NAME = 15
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGEST = 5
CHUNK = 1 << 16


class Process:
    """One process as it was a moment ago."""

    __slots__ = ("alive", "born", "group", "name", "parent", "session")

    def __init__(self, *, name: str, alive: bool, parent: int, group: int, session: int, born: int) -> None:
        self.name = name
        self.alive = alive
        self.parent = parent
        self.group = group
        self.session = session
        self.born = born  # a number that comes again later with another birth is another process


class Proc:
    """The census of a system with /proc."""

    __slots__ = ()

    inherits = True
    slack = 0

    def one(self, pid: int) -> Process | None:
        """What is known of one process; nothing of one that is gone."""
        head, _, tail = _read(f"/proc/{pid}/stat").rpartition(b")")  # a name may have brackets and blanks in it
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

    def birth(self, pid: int) -> int:
        """When a process was born; zero where nobody can say."""
        found = self.one(pid)
        return found.born if found else 0

    def everybody(self) -> dict[int, Process]:
        """Every live process."""
        found = ((int(name), self.one(int(name))) for name in os.listdir("/proc") if name.isdigit())
        return {pid: process for pid, process in found if process and process.alive}

    def children(self) -> set[int] | None:
        """Whose parent we are, those among them who have ended and were not collected; None where nobody can say.

        Nobody leaves this list before we collect him, and orphans come at its end, so no reading of it misses one.
        """
        found: set[int] = set()
        for thread in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{thread}/children", "rb", buffering=0) as file:
                    found.update(map(int, (file.read() or b"").split()))
            except OSError:  # a kernel without it
                return None
        return found

    def variable(self, pid: int, name: str) -> str:
        """A variable in the environment with which a process was started, as far as it may be seen."""
        _, _, rest = (b"\0" + _read(f"/proc/{pid}/environ")).partition(f"\0{name}=".encode())
        return rest.partition(b"\0")[0].decode("utf-8", "replace")

    def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]:
        """Every live process, or each of some, that was started with this variable."""
        return {pid for pid in (self.everybody() if among is None else among) if self.variable(pid, name) == value}


def here() -> Census:
    """The census of this machine."""
    if os.path.exists("/proc/self/stat"):
        return Proc()
    from sow.system.ps import Ps

    return Ps()


def badge(worker: str) -> str:
    """The name that a sow shows while it supervises this task, or this agent of a workflow."""
    if not worker:
        return BADGE
    return BADGE + (worker if worker.isdigit() and len(BADGE + worker) <= LONGEST_NAME else _digest(worker))


def _digest(text: str) -> str:
    """Six letters that tell two names apart, the first of them no digit: FNV-1a, since hashlib is slow to load."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    shown = ""
    for _ in range(DIGEST):
        value, rest = divmod(value, len(LETTERS))
        shown += LETTERS[rest]
    return f"x{shown}"


def wear(name: str) -> str:
    """Show other processes a name of our choice; returns the one before, or nothing where no name is shown."""
    try:
        with open("/proc/self/comm", "r+b", buffering=0) as file:
            before = file.read().decode("utf-8", "replace").rstrip("\n")
            file.write(name[:LONGEST_NAME].encode())
            return before
    except OSError:
        return ""


def _read(path: str) -> bytes:
    """What /proc says; nothing about a process that hides its environment, has ended, or where there is no /proc."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = b""
        while more := os.read(descriptor, CHUNK):
            data += more
        return data
    except OSError:
        return b""
    finally:
        os.close(descriptor)
