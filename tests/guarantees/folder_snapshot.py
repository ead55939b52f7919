"""A snapshot of a folder, to prove that nothing changed and to restore it."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

Facts = tuple[int, ...]


class Picture:
    """The content of a folder at one moment, without git's own files, and without locks by default."""

    def __init__(self, folder: Path, *, locks: bool = False) -> None:
        self.folder = folder
        self.locks = locks
        self.seen = _entries(folder, locks)
        self.files = {path: Path(path).read_bytes() for path, facts in self.seen.items() if stat.S_ISREG(facts[0])}

    def changes(self) -> list[str]:
        """Returns the paths that were added, removed or written since."""
        now = _entries(self.folder, self.locks)
        return sorted(path for path in self.seen.keys() | now.keys() if self.seen.get(path) != now.get(path))

    def bring_back(self) -> None:
        """Undoes changes of files and folders."""
        changed = self.changes()
        for path in (Path(item) for item in changed):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for path in changed:
            if path in self.seen and not os.path.lexists(path):
                Path(path).write_bytes(self.files[path]) if path in self.files else os.mkdir(path)
        self.seen = _entries(self.folder, self.locks)


def _entries(folder: Path, locks: bool) -> dict[str, Facts]:
    """Returns every path below the folder with its content and time."""
    entries: dict[str, Facts] = {}
    waiting = [os.fspath(folder)]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(facts.st_mode):
                entries[entry.path] = (facts.st_mode, facts.st_ino)
                ours = f"{entry.path}/sow" if entry.name == ".git" else entry.path
                waiting += [ours] if os.path.isdir(ours) and not os.path.islink(ours) else []
            elif locks or not entry.name.endswith(".lock"):
                entries[entry.path] = (facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns)
    return entries
