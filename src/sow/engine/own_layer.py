"""Whether a folder that an agent CLI would obey holds nothing but what `sow install` writes there."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.disk import Disk, is_folder, read_text

MAX_FILE = 64 << 10


def is_only_ours(root: str, folder: str) -> bool:
    """Whether every file below it is, letter for letter, one of this version's layer: such files steer nobody."""
    if not is_folder(f"{root}/{folder}"):
        return False
    from sow.agents.layer import LAYERS, layer

    ours = {each.path: each.text for name in LAYERS for each in layer(name, user=False).pieces if not each.block}
    for place, below, names in os.walk(f"{root}/{folder}"):
        if any(os.path.islink(f"{place}/{name}") for name in below):
            return False
        for name in names:
            path = f"{place}/{name}"
            wanted = ours.get(path.removeprefix(f"{root}/"))
            if wanted is None or _text(path) != wanted:
                return False
    return True


def _text(path: str) -> str:
    try:
        return read_text(Disk(), path, MAX_FILE)
    except (OSError, SowError):
        return ""
