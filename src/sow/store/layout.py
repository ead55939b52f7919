"""Makes the files and folders of a repository's .sow/ folder; `sow init` keeps those that exist."""

from __future__ import annotations

import os

from sow.errors import InvalidFile
from sow.store import yaml_text
from sow.store.disk import create_file
from sow.store.home import Home
from sow.store.schema import VERSION

ARTIFACTS = {"adrs": ".sow/knowledge/adrs", "designs": ".sow/knowledge/designs"}
IGNORED = "# Written by sow init: what belongs to this machine alone\n/local/\n/sinks/\n/repos/\n*.tmp\n"
ALL = "# Written by sow init: no stash and no clean takes what is here, even where .sow/.gitignore was taken\n*\n"
FILES = (".gitignore", "config.yaml", "knowledge/adrs/README.md", "knowledge/designs/README.md")
KEEP = "Documents of this kind outlive a project: they stay when it is cleaned up.\n"


def lay_out(home: Home) -> list[str]:
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
    create_file(home.disk, f"{home.sow}/local/.gitignore", ALL)
    return created_paths


def check(home: Home) -> None:
    """Refuses a .sow folder in which a link or a folder has the name of one of our files."""
    for name in FILES:
        _refuse_odd(f"{home.sow}/{name}")


def _refuse_odd(path: str) -> None:
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise InvalidFile(f"{path} is not a regular file", "move it away and run 'sow init' again")
