"""The long lock: who runs this project, task or session now. It dies with its holder, and names it while it lives."""

from __future__ import annotations

import os
import time

from sow.errors import Waiting
from sow.store.disk import counted, failure
from sow.store.lock import open_lock, try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


PATIENCE = 0.2  # who only looks whether a claim is held has it for a moment
PAUSE = 0.01


class Claim:
    """`with Claim(folder, "project"):` is refused while another live process has it."""

    __slots__ = ("descriptor", "holder", "name", "path", "purpose")

    def __init__(self, folder: str, name: str, *, purpose: str) -> None:
        self.path = f"{folder}/claim-{name}.lock"
        self.name = name
        self.purpose = purpose
        self.descriptor = -1
        self.holder = b""

    def __enter__(self) -> Claim:
        descriptor = self._open()
        give_up = time.monotonic() + PATIENCE
        while not try_lock(descriptor, self.path):
            if time.monotonic() > give_up:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise taken(self.name, holder)
            time.sleep(PAUSE)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.holder = f"pid {os.getpid()} on {os.uname().nodename} since {started} ({self.purpose})\n".encode()
        counted(f"claim {self.path}")
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, self.holder, 0)
        except OSError as error:
            os.close(descriptor)
            raise failure("claim", self.path, error) from None
        self.descriptor = descriptor
        return self

    def _open(self) -> int:
        """The claim's file; one with a second name, which may be a file of the user's, loses this one if it is free."""
        descriptor = open_lock(self.path, os.O_RDWR | os.O_CREAT)
        if os.fstat(descriptor).st_nlink < 2 or not try_lock(descriptor, self.path):
            return descriptor
        counted(f"remove {self.path}")
        os.unlink(self.path)
        os.close(descriptor)
        return open_lock(self.path, os.O_RDWR | os.O_CREAT)

    def work_on(self, run: str) -> None:
        """Name the run that is worked on, for those who look at it: a claim of runs is had for other work too."""
        counted(f"name a run in {self.path}")
        try:
            os.pwrite(self.descriptor, f"run {run}\n".encode(), len(self.holder))
        except OSError as error:
            raise failure("claim", self.path, error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        counted(f"let go of {self.path}")
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


def said(descriptor: int) -> tuple[str, str]:
    """What a claim's file says: who has it, and the run that they work on."""
    first, _, second = os.pread(descriptor, 500, 0).decode("utf-8", "replace").partition("\n")
    return first.strip(), second.strip().removeprefix("run ")


def _holder(descriptor: int) -> str:
    return said(descriptor)[0] or "a process that is just starting"


def taken(name: str, holder: str) -> Waiting:
    """The refusal of what somebody else runs now."""
    shown = name.replace("task-", "task ", 1)
    stop = "stop it (sow runs stop)" if name == "run" else "stop it"
    return Waiting(f"{shown} is claimed by {holder}", f"wait for it to end, or {stop}, then run the command again")


def holder_of(folder: str, name: str) -> str:
    """Who has a claim now, unless it is this process; nothing where nobody has it."""
    path = f"{folder}/claim-{name}.lock"
    if not os.path.isfile(path):
        return ""
    descriptor = open_lock(path, os.O_RDONLY)
    holder = "" if try_lock(descriptor, path) else _holder(descriptor)
    os.close(descriptor)
    return "" if holder.startswith(f"pid {os.getpid()} on {os.uname().nodename} ") else holder


def traces(folder: str) -> dict[str, int]:
    """The tasks that were ever claimed here, and when each claim was last taken or given back."""
    found = {}
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        if entry.name.startswith("claim-task-") and entry.name.endswith(".lock"):
            found[entry.name[11:-5]] = entry.stat(follow_symlinks=False).st_mtime_ns
    return found
