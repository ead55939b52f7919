"""What somebody edited or broke by hand is set aside and not thrown away: its author may want to read it."""

from __future__ import annotations

import os

from sow.store.disk import failure, make_folders, sync_folder
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

ASIDE = "set_aside"


def keep(home: Home, name: str, text: str) -> str:
    """Keep what a file said, on this machine alone; returns where it is."""
    path = f"{home.folder('local', 'edited')}/{name}-{clock.stamp()}-{os.urandom(2).hex()}.yaml"
    home.replace(path, text)
    return home.relative(path)


def set_aside(home: Home, folder: str, path: str) -> str:
    """Move a file into set_aside/ of a folder under a new name, and say where it is; nothing where it is missing."""
    place = make_folders(home.disk, home.root, (*home.relative(folder).split("/"), ASIDE))
    target = f"{place}/{clock.stamp()}_{os.path.basename(path)}"
    number = 1
    while os.path.lexists(target):
        number += 1
        target = f"{place}/{clock.stamp()}-{number}_{os.path.basename(path)}"
    try:
        home.disk.replace(path, target)
        sync_folder(home.disk, place)
        sync_folder(home.disk, os.path.dirname(path))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise failure("set aside", path, error) from None
    return home.relative(target)
