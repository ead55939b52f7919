"""Reads the stamp of a file; a different stamp means that the file was changed or replaced."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int]


def stamp(path: str) -> Stamp | None:
    """Returns inode, size and time of the last change; None if there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)
