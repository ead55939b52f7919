"""Makes the files and folders of a repository's .sow/ folder; `sow init` keeps those that exist."""

from __future__ import annotations

import os

from sow.errors import InvalidFile, SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import create_file, make_folders
from sow.store.formats import VERSION, yaml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home

ARTIFACTS = {"adrs": ".sow/knowledge/adrs", "designs": ".sow/knowledge/designs"}
IGNORED = "# Written by sow init: what belongs to this machine alone\n/local/\n/sinks/\n/repos/\n*.tmp\n"
IGNORE_ALL = (
    "# Written by sow init: no stash and no clean takes what is here, even where .sow/.gitignore was taken\n*\n"
)
FILES = (".gitignore", "config.yaml", "knowledge/adrs/README.md", "knowledge/designs/README.md")
KEEP = "Documents of this kind outlive a project: they stay when it is cleaned up.\n"


def create_missing(home: Home) -> list[str]:
    """Makes the missing files and folders below .sow/, and returns the paths it made."""
    created_paths: list[str] = []
    for folder in ("knowledge/adrs", "knowledge/designs", "local"):
        is_missing = not os.path.lexists(f"{home.sow}/{folder}")
        home.folder(*folder.split("/"))
        if is_missing:
            created_paths.append(f".sow/{folder}/")
    files = {
        ".gitignore": IGNORED,
        "config.yaml": yaml_text.dump({"schema_version": VERSION, "artifacts": ARTIFACTS}),
        "knowledge/adrs/README.md": f"# Decision records\n\n{KEEP}",
        "knowledge/designs/README.md": f"# Designs\n\n{KEEP}",
    }
    check(home)
    for name, text in files.items():
        if create_file(home.disk, f"{home.sow}/{name}", text):
            created_paths.append(f".sow/{name}")
    create_file(home.disk, f"{home.sow}/local/.gitignore", IGNORE_ALL)
    return created_paths


def check(home: Home) -> None:
    """Refuses a .sow folder in which a link or a folder has the name of one of our files."""
    for name in FILES:
        _require_regular_file(f"{home.sow}/{name}")


def _require_regular_file(path: str) -> None:
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise InvalidFile(f"{path} is not a regular file", "move it away and run 'sow init' again")


def create(home: Home, folder: str, name: str, text: str) -> str:
    """Creates the file; returns its path in the repository."""
    parent = make_folders(home.disk, home.root, tuple(folder.split("/")))
    if not create_file(home.disk, f"{parent}/{name}.md", text):
        raise SowError(f"{folder}/{name}.md is there already", "edit it, or choose another name")
    return f"{folder}/{name}.md"
