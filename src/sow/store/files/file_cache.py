"""Keeps what was made of files, until one of the files changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Fingerprint = tuple[int, int, int]
NEVER = object()  # the mark of a value that must be made again


def fingerprint(path: str) -> Fingerprint | None:
    """Returns inode, size and time of the last change; None if there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


class FileCache(dict[str, Value], Generic[Value]):
    """Values by name. Each has a mark, such as the fingerprint of its file, and is made again if the mark changes."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, object] = {}

    def refresh(self, name: str, mark: object, make: Callable[[], Value]) -> bool:
        """Makes a value again if its mark changed; returns whether it did."""
        if name in self and self.marks[name] == mark:
            return False
        self[name] = make()
        self.marks[name] = mark
        return True

    def current(self, name: str, mark: object, make: Callable[[], Value]) -> Value:
        """Returns a value, made again if its mark changed."""
        self.refresh(name, mark, make)
        return self[name]

    def keep_only(self, names: Iterable[str]) -> set[str]:
        """Drops all other values; returns their names."""
        gone = self.keys() - set(names)
        for name in gone:
            del self[name], self.marks[name]
        return gone

    def invalidate(self) -> None:
        """Lets every value be made again; until then the old ones are shown."""
        self.marks = dict.fromkeys(self, NEVER)
