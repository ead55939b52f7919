"""Tells whether a folder that an agent CLI would obey holds only files that `sow install` writes."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.disk import Disk, is_folder, read_text

MAX_FILE = 64 << 10


def is_only_ours(root: str, folder: str) -> bool:
    """Tell whether every file below it equals a file of this version's layer exactly; such files steer nobody."""
    if not is_folder(f"{root}/{folder}"):
        return False
    from sow.agents.layer import LAYERS, layer

    ours = {piece.path: piece.text for name in LAYERS for piece in layer(name, user=False).pieces if not piece.block}
    for parent, folders, names in os.walk(f"{root}/{folder}"):
        if any(os.path.islink(f"{parent}/{name}") for name in folders):
            return False
        for name in names:
            path = f"{parent}/{name}"
            expected = ours.get(path.removeprefix(f"{root}/"))
            if expected is None or _text(path) != expected:
                return False
    return True


def _text(path: str) -> str:
    try:
        return read_text(Disk(), path, MAX_FILE)
    except (OSError, SowError):
        return ""
