"""Reads, writes and locks files with one method per system call, so that a test can fail or kill each call.

A checkout is locked for milliseconds. A project, task or session is claimed for as long as the claim's holder lives.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from sow.errors import InvalidFile, SystemFailure, Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from sow.errors import SowError

MAX_READ = 4 << 20
FILE_MODE = 0o644
IRREGULAR = "put a regular file there, or restore it from git"
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files on this machine",
    errno.ELOOP: "it is a symbolic link",
    errno.EIO: "the disk reports an error",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
}


COUNTS_STEPS = "SOW_TEST_KILL_AT" in os.environ  # True only in tests that kill sow at a numbered step


def _cross(step: str) -> None:
    from sow.system import clock

    clock.crash_point(step)


def crash_counted(step: str) -> None:
    """Reports that the next step changes something outside this process. Tests count these steps."""
    if COUNTS_STEPS:
        _cross(step)


def system_error(action: str, path: str, error: OSError) -> SystemFailure:
    """Builds the error for a failed system call: the action, the path, the reason and a hint."""
    reason = REASONS.get(error.errno or 0, os.strerror(error.errno or 0))
    return SystemFailure(f"cannot {action} {path}: {reason}", "fix that and run the command again")


class report_failure:  # noqa: N801 (it is used like a function)
    """Turns a failed system call in its `with` block into an error with the action and the path."""

    __slots__ = ("action", "path")

    def __init__(self, action: str, path: str) -> None:
        self.action = action
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OSError):
            raise system_error(self.action, self.path, error) from None


class Disk:
    """Calls the real file system."""

    def open(self, path: str, flags: int) -> int:
        """Opens a file, and refuses a symbolic link at the end of the path."""
        if COUNTS_STEPS and flags & os.O_CREAT:
            _cross(f"create {path}")
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)

    def write(self, descriptor: int, data: bytes) -> int:
        if COUNTS_STEPS:
            _cross("write")
        return os.write(descriptor, data)

    def set_mode(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, source: str, target: str) -> None:
        if COUNTS_STEPS:
            _cross(f"replace {target}")
        os.replace(source, target)

    def remove(self, path: str) -> None:
        if COUNTS_STEPS:
            _cross(f"remove {path}")
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        if COUNTS_STEPS and not os.path.lexists(path):
            _cross(f"make {path}")
        os.mkdir(path, 0o755)

    def read(self, path: str, limit: int = MAX_READ) -> bytes:
        """Returns the bytes of a regular file that is not larger than the limit."""
        descriptor = self.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            size = _readable_size(descriptor, path, limit)
            # Reading exactly the file's size needs a smaller buffer than the limit. Bytes added meanwhile are not read.
            data = os.read(descriptor, size)
            while len(data) < size and (chunk := os.read(descriptor, size - len(data))):
                data += chunk
        finally:
            os.close(descriptor)
        return data


def _readable_size(descriptor: int, path: str, limit: int) -> int:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        raise InvalidFile(f"{path} is not a regular file", IRREGULAR)
    if info.st_size > limit:
        raise InvalidFile(f"{path}: larger than {limit >> 10} KiB", "keep it smaller, or restore it from git")
    return info.st_size


class PrivateDisk(Disk):
    """Creates files and folders that only the user can read."""

    def open(self, path: str, flags: int) -> int:
        if COUNTS_STEPS and flags & os.O_CREAT:
            _cross(f"create {path}")
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def make_folder(self, path: str) -> None:
        if COUNTS_STEPS and not os.path.lexists(path):
            _cross(f"make {path}")
        os.mkdir(path, 0o700)


def read_text(disk: Disk, path: str, limit: int = MAX_READ, *, torn: bool = False) -> str:
    """Reads a file as text. A missing file raises FileNotFoundError, which the caller handles.

    With `torn`, invalid UTF-8 is replaced: an interrupted append may leave half a character at the end of a file.
    """
    try:
        data = disk.read(path, limit)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _read_error(path, error) from None
    try:
        text = data.decode("utf-8", "replace" if torn else "strict")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidFile(f"{path}:{line}: not UTF-8", "save it as UTF-8, or restore it from git") from None
    return text.removeprefix("\ufeff")


def _read_error(path: str, error: OSError) -> SowError:
    if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, or a socket
        return InvalidFile(f"{path} is not a regular file", IRREGULAR)
    return system_error("read", path, error)


def list_folder(folder: str) -> list[str]:
    """Returns the sorted names in a folder; an empty list if the folder is missing."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise system_error("read", folder, error) from None


def free_path(stem: str, ending: str = "") -> str:
    """Returns a path that does not exist: the stem as it is, or with -2, -3, … appended."""
    path, number = f"{stem}{ending}", 1
    while os.path.lexists(path):
        number += 1
        path = f"{stem}-{number}{ending}"
    return path


def sync_folder(disk: Disk, folder: str) -> None:
    """Makes the names in a folder durable."""
    _sync(disk, folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(disk: Disk, path: str, flags: int) -> None:
    descriptor = disk.open(path, flags)
    try:
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def sync_tree(disk: Disk, folder: str) -> None:
    """Makes all files and all names below a folder durable."""
    for current, _, names in os.walk(folder):
        for name in names:
            if not os.path.islink(f"{current}/{name}"):
                _sync(disk, f"{current}/{name}", os.O_RDONLY)
        sync_folder(disk, current)
    sync_folder(disk, os.path.dirname(folder))


def make_folders(disk: Disk, root: str, parts: Iterable[str]) -> str:
    """Makes root/part/part/… durably, and refuses a part that is a link or a file."""
    folder = root
    for part in parts:
        parent, folder = folder, f"{folder}/{part}"
        with report_failure("make", folder):
            if _make_folder(disk, folder):
                sync_folder(disk, parent)
    return folder


def _make_folder(disk: Disk, folder: str) -> bool:
    """Makes a folder. Returns True if its name may not be durable yet: it is new, or it is empty after a crash."""
    try:
        disk.make_folder(folder)
    except FileExistsError:
        if require_folder(folder).st_nlink > 2:  # it has subfolders; not every file system counts them
            return False
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    return True


def is_folder(path: str) -> bool:
    """Returns True for a folder, and False for a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def require_folder(folder: str) -> os.stat_result:
    """Returns the stat of a folder. Refuses a link or a file, because writing there could leave our root."""
    with report_failure("reach", folder):
        info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a folder"
        raise InvalidFile(f"{folder} is {kind}", "sow writes only to real folders: remove it and run 'sow init'")
    return info


def _temporary(path: str) -> str:
    folder, name = os.path.split(path)
    return f"{folder}/.{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"


def replace_file(disk: Disk, path: str, text: str, *, durable: bool = True, mode: int | None = None) -> None:
    """Replaces a file atomically: writes a temporary file, syncs it, renames it and syncs the folder."""
    temporary = _temporary(path)
    try:
        write_new(disk, temporary, text, durable=durable, mode=mode)
        disk.replace(temporary, path)
        if durable:
            sync_folder(disk, os.path.dirname(path))
    except OSError as error:
        remove_quietly(temporary)
        raise system_error("write", path, error) from None


def write_new(disk: Disk, path: str, text: str, *, durable: bool = True, mode: int | None = None) -> None:
    """Writes a file that does not exist yet. Its name becomes durable when its folder is synced."""
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        if mode is not None:
            disk.set_mode(descriptor, mode)
        write_all(disk, descriptor, text.encode("utf-8"))
        if durable:
            disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def write_all(disk: Disk, descriptor: int, data: bytes) -> None:
    """Writes all bytes, because one system call may write only a part."""
    while data:
        data = data[disk.write(descriptor, data) :]


def append_file(disk: Disk, path: str, text: str, *, durable: bool = True) -> None:
    """Appends a text in one write, so that entries of parallel writers never mix."""
    with report_failure("append to", path):
        descriptor = disk.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise InvalidFile(f"{path} is not a regular file", IRREGULAR)
            if info.st_nlink > 1:  # its other name may be a file of the user
                replace_file(disk, path, read_text(disk, path, info.st_size, torn=True) + text, durable=durable)
                return
            if not info.st_size:  # new, or empty after a crash: its name may not be durable
                sync_folder(disk, os.path.dirname(path))
            write_all(disk, descriptor, text.encode("utf-8"))
            if durable:
                disk.sync(descriptor)
        finally:
            disk.close(descriptor)


def move(disk: Disk, source: str, target: str) -> None:
    """Renames a file or a folder durably."""
    disk.replace(source, target)
    for folder in dict.fromkeys((os.path.dirname(target), os.path.dirname(source))):
        sync_folder(disk, folder)


def move_quietly(source: str, target: str) -> None:
    """Renames a file or a folder; a failure is ignored."""
    crash_counted(f"move to {target}")
    try:
        os.rename(source, target)
    except OSError:
        return


def remove_file(disk: Disk, path: str) -> None:
    """Removes a file durably."""
    disk.remove(path)
    sync_folder(disk, os.path.dirname(path))


def create_file(disk: Disk, path: str, text: str) -> bool:
    """Writes a new file. Returns False and changes nothing if the path exists."""
    if os.path.lexists(path):
        return False
    replace_file(disk, path, text)
    return True


def remove_tree_quietly(folder: str) -> None:
    """Removes a folder with its content, also a read-only one, and ignores errors. A link leads nowhere."""
    if not is_folder(folder):
        return
    try:
        crash_counted(f"remove {folder}")
        os.chmod(folder, 0o700)
        for entry in list(os.scandir(folder)):
            remove = remove_tree_quietly if entry.is_dir(follow_symlinks=False) else remove_quietly
            remove(entry.path)
        os.rmdir(folder)
    except OSError:
        return


def remove_quietly(path: str) -> None:
    """Removes a file, and ignores errors."""
    crash_counted(f"remove {path}")
    try:
        os.unlink(path)
    except OSError:
        return


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
