"""Marks a running check on disk, so that after a crash of sow its processes can be ended."""

from __future__ import annotations

import os

from sow.store.files.disk import open_lock, try_lock
from sow.system import clock
from sow.system.process import process_tree

ENDING = ".mark"
LONGEST = 64


class CheckMark:
    """`with CheckMark(path):` a file that holds the mark and is locked while this process lives."""

    def __init__(self, path: str) -> None:
        self.path = f"{path}{ENDING}"
        self.mark = clock.uuid4().replace("-", "")
        self.descriptor = -1

    def __enter__(self) -> CheckMark:
        clock.crash_point(f"create {self.path}")
        self.descriptor = open_lock(self.path, os.O_RDWR | os.O_CREAT)
        try_lock(self.descriptor, self.path)
        clock.crash_point(f"write {self.path}")
        os.pwrite(self.descriptor, self.mark.encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        _remove(self.path)
        os.close(self.descriptor)


def remarks_on_left_checks(folder: str) -> list[str]:
    """Ends what checks of dead runs left running; returns a remark if there was anything."""
    count = end_left_checks(folder)
    return [f"an earlier check was cut off; processes of it that had to be ended: {count}"] if count else []


def end_left_checks(folder: str) -> int:
    """Ends what is left of every check below a folder whose runner is dead; returns the number of processes."""
    marks = [f"{parent}/{name}" for parent, _, names in os.walk(folder) for name in names if name.endswith(ENDING)]
    return sum(_sweep(path) for path in marks if os.path.isfile(path) and not os.path.islink(path))


def _sweep(path: str) -> int:
    descriptor = open_lock(path, os.O_RDWR)
    try:
        if not try_lock(descriptor, path):
            return 0
        swept = process_tree.kill_marked(os.pread(descriptor, LONGEST, 0).decode("ascii", "replace"))
        _remove(path)
    finally:
        os.close(descriptor)
    return swept


def _remove(path: str) -> None:
    clock.crash_point(f"remove {path}")
    try:
        os.unlink(path)
    except FileNotFoundError:  # the user may have removed it
        return
