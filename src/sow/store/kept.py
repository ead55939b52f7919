"""The last good copy of every state file, in the git folder: no stash, switch, clean or careless worker reaches it."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.disk import read_text, remove_quietly, replace_file
from sow.store.yaml_text import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def keep(home: Home, project_id: str, name: str, text: str) -> None:
    """Remember the text; the state itself is safe already, so a failure here is no failure of the change."""
    path = _path(home, project_id, name)
    if home.memory is not None:
        home.memory.wrote(name, text)
    else:
        home.vouch(name, text)
    try:
        replace_file(home.disk, f"{home.kept(project_id)}/{file_name(name)}", text, durable=False)
        home.unkept.discard(path)
    except SowError:
        home.unkept.add(path)


def is_behind(home: Home, project_id: str, name: str) -> bool:
    """Whether a copy is known to be older than what we wrote last."""
    return _path(home, project_id, name) in home.unkept


def of_notes(task: str) -> str:
    """The name of the copy of a task's notes."""
    return f"{task}-notes"


def of_description(task: str) -> str:
    """The name of the copy of a task's description."""
    return f"{task}-description"


def project_copy(home: Home, branch: str) -> str:
    """The last good copy of the state of this branch's project: the path, or nothing."""
    owner = owner_on(home, branch, "project")
    return _path(home, owner, "project") if owner else ""


def owner_on(home: Home, branch: str, name: str) -> str:
    """The project or the workflow of this branch whose copy of that name is the newest: its id, or nothing."""
    folder = f"{home.checkout.common}/sow"
    found = []
    for owner in os.listdir(folder) if os.path.isdir(folder) else ():
        copy = _path(home, owner, name)
        try:
            if f"branch: {scalar(branch)}\n" in read_text(home.disk, copy):
                found.append((os.path.getmtime(copy), owner))
        except (OSError, SowError):
            continue
    return max(found)[1] if found else ""


def forget(home: Home, project_id: str, name: str) -> None:
    """Drop a copy: what it stands for has been put away."""
    remove_quietly(_path(home, project_id, name))


def recall(home: Home, project_id: str, name: str) -> str | None:
    """The last good text, if there is one that can be read."""
    try:
        return read_text(home.disk, _path(home, project_id, name))
    except (FileNotFoundError, SowError):
        return None


def stamp(home: Home, project_id: str, name: str) -> tuple[int, int]:
    """Which copy it is: every one that is kept is a new file."""
    try:
        facts = os.stat(_path(home, project_id, name))
    except OSError:
        return (0, 0)
    return (facts.st_ino, facts.st_mtime_ns)


def folder(home: Home, project_id: str) -> str:
    """Where the copies of a project are."""
    return f"{home.checkout.common}/sow/{project_id}"


def names(home: Home, project_id: str) -> set[str]:
    """The files of all copies of a project."""
    try:
        return set(os.listdir(folder(home, project_id)))
    except FileNotFoundError:
        return set()


def file_name(name: str) -> str:
    """The file of a copy."""
    return f"{name}.yaml"


def _path(home: Home, project_id: str, name: str) -> str:
    return f"{folder(home, project_id)}/{file_name(name)}"
