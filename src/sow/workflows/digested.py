"""Digests of files, each made once for as long as the file is the same."""

from __future__ import annotations

import hashlib
import os

from sow.system import plain_file

BLOCK = 1 << 20
Facts = tuple[int, int, int, int]


class Digested:
    """Remembers digests by inode, size and times; nobody can set back the time of an inode's last change."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, tuple[Facts, str]] = {}

    def digest(self, path: str) -> str:
        """The digest of a regular file; nothing for anything else."""
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            return ""
        with open(descriptor, "rb") as file:
            facts = os.fstat(file.fileno())
            seen = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
            before = self.known.get(path)
            if before is None or before[0] != seen:
                made = hashlib.sha256()
                while block := file.read(BLOCK):
                    made.update(block)
                before = self.known[path] = seen, made.hexdigest()
        return before[1]
