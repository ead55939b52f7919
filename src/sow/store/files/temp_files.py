"""Removes temporary files of killed processes, so that no commit contains them."""

from __future__ import annotations

import os

from sow.store.files.disk import remove_quietly, remove_tree_quietly
from sow.system.process.other_process import is_alive

HEX = frozenset("0123456789abcdef")
FOREIGN_FOLDERS = ("task_output", "set_aside")  # folders whose files sow does not write


def remove_temporary_files(folder: str) -> int:
    """Removes temporary files of interrupted writes below a folder, under the lock; returns how many."""
    files, trees = [], []
    for parent, folders, names in os.walk(folder):
        files += [f"{parent}/{name}" for name in names if _is_dead(name)]
        trees += [f"{parent}/{name}" for name in folders if _is_dead(name)]
        folders[:] = [name for name in folders if name not in FOREIGN_FOLDERS and not _is_dead(name)]
    for path in files:
        remove_quietly(path)
    for path in trees:
        remove_tree_quietly(path)
    return len(files) + len(trees)


def _is_dead(name: str) -> bool:
    """Returns whether this is .NAME.PID.RANDOM.tmp of a process that has ended."""
    parts = name.split(".")
    if len(parts) < 5 or parts[0] or parts[-1] != "tmp" or len(parts[-2]) != 8 or not HEX.issuperset(parts[-2]):
        return False
    return parts[-3].isascii() and parts[-3].isdigit() and len(parts[-3]) < 10 and not is_alive(int(parts[-3]))
