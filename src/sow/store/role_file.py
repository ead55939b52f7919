"""Creates a role's file in the repository, and never replaces one."""

from __future__ import annotations

from sow.errors import SowError
from sow.store.disk import create_file, make_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def create(home: Home, folder: str, name: str, text: str) -> str:
    """Creates the file; returns its path in the repository."""
    parent = make_folders(home.disk, home.root, tuple(folder.split("/")))
    if not create_file(home.disk, f"{parent}/{name}.md", text):
        raise SowError(f"{folder}/{name}.md is there already", "edit it, or choose another name")
    return f"{folder}/{name}.md"
