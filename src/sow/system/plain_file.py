"""Creates and reads files in folders where agents can write; each is created new, and only regular files are read.

An agent can plant a link, a second name of another file or a pipe under a name that sow will use. Writing through it
would change another file of the user, and reading it would copy a secret or wait forever.
"""

from __future__ import annotations

import errno
import os
import stat

from sow.system import clock

CHUNK = 1 << 20
ANEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def create(path: str, flags: int = os.O_WRONLY, mode: int = 0o600) -> int:
    """Creates a file, by default private; an existing one loses this name and is not changed."""
    clock.crash_point(f"create {path}")
    try:
        return os.open(path, flags | ANEW, mode)
    except FileExistsError:
        os.unlink(path)
    return os.open(path, flags | ANEW, mode)


def create_unnamed(folder: str, data: bytes = b"") -> int:
    """Creates a file on this folder's disk without a name, so that no other process can open it."""
    clock.crash_point(f"create a file in {folder}")
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except (AttributeError, OSError):  # macOS, or a file system without it: the file has a name for a moment
        path = f"{folder}/.{os.urandom(8).hex()}.tmp"
        descriptor = create(path, os.O_RDWR | os.O_APPEND)
        os.unlink(path)
    return _filled(descriptor, data)


def in_memory(name: str, data: bytes = b"") -> int:
    """Creates a file that is on no disk, on Linux; the name only shows what it is."""
    return _filled(os.memfd_create(name), data)


def _filled(descriptor: int, data: bytes) -> int:
    """Writes data into a new file, and goes back to its beginning."""
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def copy(descriptor: int, path: str) -> None:
    """Copies an open file from its beginning into a new one."""
    position, target = 0, create(path)
    clock.crash_point(f"write {path}")
    with open(target, "wb") as file:
        while data := os.pread(descriptor, CHUNK, position):
            file.write(data)
            position += len(data)


def write(path: str, text: str) -> None:
    """Writes a text into a new file."""
    create_with(path, text.encode("utf-8", "replace"))


def create_with(path: str, data: bytes, mode: int = 0o600) -> None:
    """Writes data into a new file."""
    descriptor = create(path, mode=mode)
    clock.crash_point(f"write {path}")
    with open(descriptor, "wb") as file:
        file.write(data)


def open_to_read(path: str) -> int:
    """Returns a descriptor of a regular file; raises OSError for anything else, and never waits for a pipe."""
    descriptor = os.open(path, READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def read(path: str, limit: int) -> bytes:
    """Returns the beginning of a regular file."""
    with open(open_to_read(path), "rb") as file:
        return file.read(limit)


def read_text(path: str, limit: int) -> str:
    """Returns the beginning of a regular file as text, or nothing if it is missing or another kind."""
    try:
        return read(path, limit).decode("utf-8", "replace")
    except OSError:
        return ""
