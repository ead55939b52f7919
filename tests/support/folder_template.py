"""A folder that is made once, kept in memory, and written for each test."""

from __future__ import annotations

import os
from pathlib import Path


class FolderTemplate:
    """The folders, files and links below a folder."""

    def __init__(self, root: Path) -> None:
        self.folders = [(".", root.stat().st_mode)]
        self.files: list[tuple[str, bytes, int, tuple[int, int]]] = []
        self.links: list[tuple[str, str]] = []
        for path in sorted(root.rglob("*")):
            name, state = str(path.relative_to(root)), path.lstat()
            if path.is_symlink():
                self.links.append((name, os.readlink(path)))
            elif path.is_dir():
                self.folders.append((name, state.st_mode))
            else:
                self.files.append((name, path.read_bytes(), state.st_mode, (state.st_atime_ns, state.st_mtime_ns)))

    def write(self, root: Path) -> Path:
        """Writes the folder with the same contents, modes and times."""
        for name, mode in self.folders:
            os.mkdir(os.path.join(root, name) if name != "." else root, mode & 0o777)
        for name, data, mode, times in self.files:
            path = os.path.join(root, name)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o777)
            try:
                os.write(file, data)
                os.fchmod(file, mode & 0o777)
                os.utime(file, ns=times)
            finally:
                os.close(file)
        for name, target in self.links:
            os.symlink(target, os.path.join(root, name))
        return root
