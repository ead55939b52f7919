"""What somebody who was killed was about to put in place: nobody will, and no commit should hold it."""

from __future__ import annotations

import os

from sow.store.disk import remove_quietly, remove_tree_quietly
from sow.system.peer import is_alive

HEX = frozenset("0123456789abcdef")
OTHERS = ("task_output", "set_aside")  # what lies there is not written by us


def sweep(folder: str) -> int:
    """Remove what interrupted writes left below a folder; returns how many there were. To be called under the lock."""
    files, trees = [], []
    for place, folders, names in os.walk(folder):
        files += [f"{place}/{name}" for name in names if _is_dead(name)]
        trees += [f"{place}/{name}" for name in folders if _is_dead(name)]
        folders[:] = [name for name in folders if name not in OTHERS and not _is_dead(name)]
    for path in files:
        remove_quietly(path)
    for path in trees:
        remove_tree_quietly(path)
    return len(files) + len(trees)


def _is_dead(name: str) -> bool:
    """Whether this is .NAME.PID.RANDOM.tmp of a process that is no more."""
    parts = name.split(".")
    if len(parts) < 5 or parts[0] or parts[-1] != "tmp" or len(parts[-2]) != 8 or not HEX.issuperset(parts[-2]):
        return False
    return parts[-3].isascii() and parts[-3].isdigit() and len(parts[-3]) < 10 and not is_alive(int(parts[-3]))
