"""Locks a checkout for milliseconds, and claims a project, task or session for as long as its holder lives.

A lock is held for milliseconds and ends with its process. It is on a folder and not on a file: if somebody deleted
a lock file while it was held, the next process would make a second one, and both would write.
"""

from __future__ import annotations

import os
import time

from sow.errors import SystemFailure, Waiting
from sow.store.files.disk import crash_counted, report_failure, system_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

MAX_WAIT = 30.0
PAUSE = 0.001
LONGEST_PAUSE = 0.02


def _fcntl() -> ModuleType:
    """Returns the module for file locks, which Windows does not have."""
    try:
        import fcntl
    except ImportError:
        raise SystemFailure(
            "this system has no file locks", "run sow on Linux, on macOS, or in WSL on Windows"
        ) from None
    return fcntl


def open_lock(path: str, flags: int) -> int:
    """Opens the folder or file to lock, and returns its descriptor."""
    with report_failure("lock", path):
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def share(path: str) -> int:
    """Takes a shared lock on a folder, and returns its descriptor; the lock ends when the descriptor is closed."""
    fcntl = _fcntl()
    descriptor = open_lock(path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def try_lock(descriptor: int, path: str) -> bool:
    """Takes the lock. Returns False if it is held, or if the path now names another file."""
    fcntl = _fcntl()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise system_error("lock", path, error) from None
    try:
        return os.fstat(descriptor).st_ino == os.stat(path).st_ino
    except FileNotFoundError:
        return False


def is_locked(descriptor: int) -> bool:
    """Returns True if another process holds the lock on this file. Takes nothing."""
    fcntl = _fcntl()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


class Lock:
    """Holds the lock inside a `with` block; a second writer waits."""

    __slots__ = ("descriptor", "path", "patience")

    def __init__(self, path: str, *, patience: float = MAX_WAIT) -> None:
        self.path = path
        self.patience = patience
        self.descriptor = -1

    def __enter__(self) -> Lock:
        deadline = time.monotonic() + self.patience
        pause = PAUSE
        while True:
            self.descriptor = open_lock(self.path, os.O_RDONLY | os.O_DIRECTORY)
            if try_lock(self.descriptor, self.path):
                return self
            os.close(self.descriptor)
            if time.monotonic() > deadline:
                raise Waiting(
                    f"another sow has held {self.path} for {self.patience:.0f} seconds",
                    "end that process ('fuser' names it), then run the command again",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


PATIENCE = 0.2  # seconds; a process that only checks a claim holds it for a moment
CLAIM_PAUSE = 0.01


class Claim:
    """Holds a claim inside a `with` block; refused while another live process holds it."""

    __slots__ = ("descriptor", "holder", "name", "path", "purpose")

    def __init__(self, folder: str, name: str, *, purpose: str) -> None:
        self.path = f"{folder}/claim-{name}.lock"
        self.name = name
        self.purpose = purpose
        self.descriptor = -1
        self.holder = b""

    def __enter__(self) -> Claim:
        descriptor = self._open()
        deadline = time.monotonic() + PATIENCE
        while not try_lock(descriptor, self.path):
            if time.monotonic() > deadline:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise claimed_error(self.name, holder)
            time.sleep(CLAIM_PAUSE)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.holder = f"pid {os.getpid()} on {os.uname().nodename} since {started} ({self.purpose})\n".encode()
        crash_counted(f"claim {self.path}")
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, self.holder, 0)
        except OSError as error:
            os.close(descriptor)
            raise system_error("claim", self.path, error) from None
        self.descriptor = descriptor
        return self

    def _open(self) -> int:
        """Opens the claim's file. If it is hard-linked, it may be a user's file, so the free claim gets a new file."""
        descriptor = open_lock(self.path, os.O_RDWR | os.O_CREAT)
        if os.fstat(descriptor).st_nlink < 2 or not try_lock(descriptor, self.path):
            return descriptor
        crash_counted(f"remove {self.path}")
        os.unlink(self.path)
        os.close(descriptor)
        return open_lock(self.path, os.O_RDWR | os.O_CREAT)

    def record_run(self, run: str) -> None:
        """Records the run that the holder works on. The run claim is also taken for other work, which records none."""
        crash_counted(f"name a run in {self.path}")
        with report_failure("claim", self.path):
            os.pwrite(self.descriptor, f"run {run}\n".encode(), len(self.holder))

    def __exit__(self, *_: object) -> None:
        crash_counted(f"release {self.path}")
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


def read_claim(descriptor: int) -> tuple[str, str]:
    """Reads a claim's file: the holder, and the run that the holder works on."""
    holder_line, _, run_line = os.pread(descriptor, 500, 0).decode("utf-8", "replace").partition("\n")
    return holder_line.strip(), run_line.strip().removeprefix("run ")


def _holder(descriptor: int) -> str:
    return read_claim(descriptor)[0] or "a process that is just starting"


def claimed_error(name: str, holder: str) -> Waiting:
    """Builds the refusal for a claim that another process holds."""
    if name == "run":
        process, _, purpose = holder.removesuffix(")").partition(" (")
        problem = f"{purpose or 'another command'} is in progress ({process})"
        return Waiting(
            problem, "follow it (sow watch), stop it (sow runs stop), or run the command again after its end"
        )
    label = name.replace("task-", "task ", 1)
    return Waiting(f"{label} is claimed by {holder}", "wait for it to end, or stop it, then run the command again")


def holder_of(folder: str, name: str) -> str:
    """Returns the holder of a claim; empty if it is this process or nobody."""
    path = f"{folder}/claim-{name}.lock"
    if not os.path.isfile(path):
        return ""
    descriptor = open_lock(path, os.O_RDONLY)
    holder = "" if try_lock(descriptor, path) else _holder(descriptor)
    os.close(descriptor)
    return "" if holder.startswith(f"pid {os.getpid()} on {os.uname().nodename} ") else holder


def claim_times(folder: str) -> dict[str, int]:
    """Returns the tasks that were ever claimed here, with the time when each claim was last taken or released."""
    claim_times = {}
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        if entry.name.startswith("claim-task-") and entry.name.endswith(".lock"):
            claim_times[entry.name[11:-5]] = entry.stat(follow_symlinks=False).st_mtime_ns
    return claim_times


class Holder:
    """Describes the process that holds a claim, and its run. `confirmed` is True if the system confirms the holder."""

    __slots__ = ("confirmed", "host", "line", "pid", "run")

    def __init__(self, line: str, run: str, owners: set[int] | None) -> None:
        self.run = run
        self.line = line or "a process that is just starting"
        fields = line.split()
        has_pid = fields[:1] == ["pid"] and len(fields) > 3 and fields[1].isascii() and fields[1].isdigit()
        self.pid = int(fields[1][:9]) if has_pid else 0
        self.host = fields[3] if has_pid else ""
        self.confirmed = has_pid and (self.pid in owners if owners is not None else _is_alive(self.pid))


def holder(folder: str, name: str) -> Holder | None:
    """Returns the current holder of a claim."""
    path = f"{folder}/claim-{name}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise system_error("read", path, error) from None
    try:
        line, run = read_claim(descriptor)
        from sow.system.process.other_process import lock_owners  # here, because few calls ask who holds a claim

        owners = lock_owners(descriptor)
        # A holder that ends normally empties the file. Trying the lock could block a process that takes the claim, so
        # it is the last resort, for a holder that was killed or that the table of locks does not show.
        if not owners and not (line and is_locked(descriptor)):
            return None
        return Holder(line, run, owners)
    finally:
        os.close(descriptor)


def _is_alive(pid: int) -> bool:
    from sow.system.process.other_process import is_alive

    return is_alive(pid)
