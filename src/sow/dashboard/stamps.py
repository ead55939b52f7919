"""The stamp of a file: where it is another one, the file was changed or replaced."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int]


def stamp(path: str) -> Stamp | None:
    """Inode, size and time of the last change; None where there is no file."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return (facts.st_ino, facts.st_size, facts.st_mtime_ns)
