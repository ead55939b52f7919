"""Files that somebody who was killed was about to put in place: nobody will, and no commit should hold them."""

from __future__ import annotations

import os

from sow.store.disk import remove_quietly
from sow.system.peer import is_alive

HEX = frozenset("0123456789abcdef")
OTHERS = ("task_output", "set_aside")  # what lies there is not written by us


def sweep(folder: str) -> int:
    """Remove what interrupted writes left below a folder; returns how many there were. To be called under the lock."""
    left = [
        f"{place}/{name}"
        for place, folders, names in os.walk(folder)
        for name in _own(folders, names)
        if _is_dead(name)
    ]
    for path in left:
        remove_quietly(path)
    return len(left)


def _own(folders: list[str], names: list[str]) -> list[str]:
    """The names in a folder; what belongs to agents is not gone into."""
    folders[:] = [name for name in folders if name not in OTHERS]
    return names


def _is_dead(name: str) -> bool:
    """Whether this is .NAME.PID.RANDOM.tmp of a process that is no more."""
    parts = name.split(".")
    if len(parts) < 5 or parts[0] or parts[-1] != "tmp" or len(parts[-2]) != 8 or not HEX.issuperset(parts[-2]):
        return False
    return parts[-3].isascii() and parts[-3].isdigit() and len(parts[-3]) < 10 and not is_alive(int(parts[-3]))
