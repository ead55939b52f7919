"""Sets aside files that somebody edited or broke by hand, so that their author can still read them."""

from __future__ import annotations

import os

from sow.store.files.checkout_home import Home
from sow.store.files.disk import free_path, make_folders, system_error
from sow.system import clock

ASIDE = "set_aside"


def save_copy(home: Home, name: str, text: str) -> str:
    """Saves the text of a file on this machine only, and returns the path."""
    path = f"{home.folder('local', 'edited')}/{name}-{clock.stamp()}-{os.urandom(2).hex()}.yaml"
    home.replace(path, text)
    return home.relative(path)


def set_aside(home: Home, folder: str, path: str) -> str:
    """Moves a file into set_aside/ of a folder, and returns the new path; empty if the file is missing."""
    aside_folder = make_folders(home.disk, home.root, (*home.relative(folder).split("/"), ASIDE))
    return _move(home, path, free_path(f"{aside_folder}/{clock.stamp()}", f"_{os.path.basename(path)}"))


def move_broken(home: Home, path: str) -> str:
    """Renames a broken state file within its folder, and returns the new path; empty if the file is missing."""
    return _move(home, path, f"{os.path.dirname(path)}/state.broken-{clock.stamp()}-{os.urandom(2).hex()}.yaml")


def _move(home: Home, path: str, target: str) -> str:
    try:
        home.move(path, target)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise system_error("set aside", path, error) from None
    return home.relative(target)
