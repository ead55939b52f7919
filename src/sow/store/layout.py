"""The .sow/ folder of a repository: what `sow init` makes and keeps as it is when it is there."""

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
    """Make what is missing below .sow/; returns what was made."""
    made: list[str] = []
    for folder in ("knowledge/adrs", "knowledge/designs", "local"):
        missing = not os.path.lexists(f"{home.sow}/{folder}")
        home.folder(*folder.split("/"))
        if missing:
            made.append(f".sow/{folder}/")
    files = {
        ".gitignore": IGNORED,
        "config.yaml": yaml_text.dump({"schema_version": VERSION, "artifacts": ARTIFACTS}),
        "knowledge/adrs/README.md": f"# Decision records\n\n{KEEP}",
        "knowledge/designs/README.md": f"# Designs\n\n{KEEP}",
    }
    check(home)
    for name, text in files.items():
        if create_file(home.disk, f"{home.sow}/{name}", text):
            made.append(f".sow/{name}")
    create_file(home.disk, f"{home.sow}/local/.gitignore", ALL)
    return made


def check(home: Home) -> None:
    """Refuse a .sow folder in which something else is in the place of one of our files."""
    for name in FILES:
        _refuse_odd(f"{home.sow}/{name}")


def _refuse_odd(path: str) -> None:
    """A folder or a link where a file belongs is somebody's: say so instead of working around it."""
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise InvalidFile(f"{path} is not a regular file", "move it away and run 'sow init' again")
