"""Makes the files and folders of a repository's .sow/ folder; `sow init` keeps those that exist."""

from __future__ import annotations

import os
from contextlib import suppress

from sow.errors import InvalidFile, SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import create_file, make_folders
from sow.store.formats import VERSION, yaml_text
from sow.system import git

ARTIFACTS = {"adrs": ".sow/knowledge/adrs", "designs": ".sow/knowledge/designs"}
IGNORED = (
    "# Written by sow init: what belongs to this machine alone\n/local/\n/sinks/*\n!/sinks/index.json\n/repos/\n*.tmp\n"
)
IGNORE_ALL = (
    "# Written by sow init: no stash and no clean takes what is here, even where .sow/.gitignore was taken\n*\n"
)
ATTRIBUTES = "# Written by sow: git keeps both sides of these files\nlog.md merge=union\nmemories.md merge=union\n"
FILES = (".gitignore", "config.yaml", "knowledge/adrs/README.md", "knowledge/designs/README.md")
KEEP = "Documents of this kind outlive a project: they stay when it is cleaned up.\n"


def _default_files() -> dict[str, str]:
    return {
        ".gitignore": IGNORED,
        "config.yaml": yaml_text.dump({"schema_version": VERSION, "artifacts": ARTIFACTS}),
        "knowledge/adrs/README.md": f"# Decision records\n\n{KEEP}",
        "knowledge/designs/README.md": f"# Designs\n\n{KEEP}",
    }


def remove_defaults(home: Home) -> None:
    """Removes the files of `create_missing`, if git has none of them and .sow/ has no other files than .sow/local/."""
    defaults = {f"{home.sow}/{name}": text for name, text in _default_files().items()}
    paths: list[str] = []
    with home.lock():
        for folder, folders, names in os.walk(home.sow):
            folders[:] = [name for name in folders if f"{folder}/{name}" != f"{home.sow}/local"]
            paths += [f"{folder}/{name}" for name in names]
        if {*paths} != defaults.keys() or git.run(["ls-files", "--", ".sow"], cwd=home.root):
            return
        with suppress(InvalidFile):  # a file that cannot be read is not ours
            if all(home.read(path) == text for path, text in defaults.items()):
                for path in defaults:
                    home.remove(path)


def create_missing(home: Home) -> list[str]:
    """Makes the missing files and folders below .sow/, and returns the paths it made."""
    created_paths: list[str] = []
    for folder in ("knowledge/adrs", "knowledge/designs", "sinks", "local"):
        is_missing = not os.path.lexists(f"{home.sow}/{folder}")
        home.folder(*folder.split("/"))
        if is_missing:
            created_paths.append(f".sow/{folder}/")
    check(home)
    for name, text in _default_files().items():
        if create_file(home.disk, f"{home.sow}/{name}", text):
            created_paths.append(f".sow/{name}")
    ignored = home.read(f"{home.sow}/.gitignore")
    if "\n/sinks/\n" in ignored:  # of an older sow; the index says where sinks come from, and is committed
        home.replace(f"{home.sow}/.gitignore", ignored.replace("\n/sinks/\n", "\n/sinks/*\n!/sinks/index.json\n"))
        created_paths.append(".sow/.gitignore")
    if os.path.lexists(f"{home.project}/state.yaml") and create_attributes(home):
        created_paths.append(".sow/project/.gitattributes")
    create_file(home.disk, f"{home.sow}/local/.gitignore", IGNORE_ALL)
    return created_paths


def create_attributes(home: Home) -> bool:
    """Creates the file that lets git merge the logs of two people; returns whether it was missing."""
    return create_file(home.disk, f"{home.project}/.gitattributes", ATTRIBUTES)


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
