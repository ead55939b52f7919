"""Caches digests of files for as long as the files are unchanged."""

from __future__ import annotations

import hashlib
import os

from sow.system import plain_file

BLOCK = 1 << 20
Facts = tuple[int, int, int, int]


class Digested:
    """Digests by inode, size and times; nobody can set back an inode's change time."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, tuple[Facts, str]] = {}

    def digest(self, path: str) -> str:
        """Return the digest of a regular file; empty for anything else."""
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            return ""
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            cached = self.known.get(path)
            if cached is None or cached[0] != version:
                hasher = hashlib.sha256()
                while block := file.read(BLOCK):
                    hasher.update(block)
                cached = self.known[path] = version, hasher.hexdigest()
        return cached[1]
