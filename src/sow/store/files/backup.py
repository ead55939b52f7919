"""Keeps a backup of every state file in the git folder, where stash, switch, clean and workers do not change it.

The backup replaces a state file that cannot be read.
"""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.disk import read_text, remove_quietly, replace_file
from sow.store.formats.yaml_text import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.errors import InvalidFile
    from sow.store.files.checkout_home import Home
    from sow.store.files.state_file import Validate


def save(home: Home, project_id: str, name: str, text: str) -> None:
    """Saves a backup. If that fails, the change still counts, because the state file itself is already written."""
    path = _path(home, project_id, name)
    if home.memory is not None:
        home.memory.remember(name, text)
    else:
        home.announce(name, text)
    try:
        replace_file(home.disk, f"{home.backup_folder(project_id)}/{file_name(name)}", text, durable=False)
        home.stale_backups.discard(path)
    except SowError:
        home.stale_backups.add(path)


def is_stale(home: Home, project_id: str, name: str) -> bool:
    """Returns True if the last write of a backup failed, so that it is older than its file."""
    return _path(home, project_id, name) in home.stale_backups


def notes_key(task: str) -> str:
    """Returns the backup name of a task's notes."""
    return f"{task}-notes"


def description_key(task: str) -> str:
    """Returns the backup name of a task's description."""
    return f"{task}-description"


def project_backup_path(home: Home, branch: str) -> str:
    """Returns the path of the backup of this branch's project; empty if there is none."""
    owner = newest_owner(home, branch, "project")
    return _path(home, owner, "project") if owner else ""


def newest_owner(home: Home, branch: str, name: str) -> str:
    """Returns the id of this branch's project or workflow with the newest backup of that name; empty if none."""
    folder = f"{home.checkout.common}/sow"
    owners = []
    for owner in os.listdir(folder) if os.path.isdir(folder) else ():
        copy = _path(home, owner, name)
        try:
            if f"branch: {scalar(branch)}\n" in read_text(home.disk, copy):
                owners.append((os.path.getmtime(copy), owner))
        except (OSError, SowError):
            continue
    return max(owners)[1] if owners else ""


def delete(home: Home, project_id: str, name: str) -> None:
    """Deletes a backup after its file was archived or removed."""
    remove_quietly(_path(home, project_id, name))


def load(home: Home, project_id: str, name: str) -> str | None:
    """Returns the text of a backup; None if it is missing or cannot be read."""
    try:
        return read_text(home.disk, _path(home, project_id, name))
    except (FileNotFoundError, SowError):
        return None


def last_good(home: Home, owner: str, name: str, validate: Validate) -> str | None:
    """Returns the backup copy, if this version of sow can read it."""
    try:
        text = load(home, owner, name)
        if text is not None:
            state_file.parse(text, f"the last good copy of {name}", validate)
    except SowError:  # torn, or of another version: the caller reports the broken file itself
        return None
    return text


def restore_last_good(home: Home, owner: str, name: str, path: str, validate: Validate, problem: InvalidFile) -> str:
    """Replaces a broken state file by its last good copy and moves it aside; raises the problem if there is no copy."""
    text = last_good(home, owner, name, validate) if owner else None
    if text is None:
        raise problem
    from sow.store.files import set_aside

    aside = set_aside.move_broken(home, path)
    home.replace(path, text)
    return f"{problem.message}; the last good state is back" + (f", the broken file is {aside}" if aside else "")


def version(home: Home, project_id: str, name: str) -> tuple[int, int]:
    """Returns the inode and the time of a backup. They change with each write, because a write makes a new file."""
    try:
        info = os.stat(_path(home, project_id, name))
    except OSError:
        return (0, 0)
    return (info.st_ino, info.st_mtime_ns)


def folder(home: Home, project_id: str) -> str:
    """Returns the folder with the backups of a project."""
    return f"{home.checkout.common}/sow/{project_id}"


def file_names(home: Home, project_id: str) -> set[str]:
    """Returns the file names of all backups of a project."""
    try:
        return set(os.listdir(folder(home, project_id)))
    except FileNotFoundError:
        return set()


def file_name(name: str) -> str:
    """Returns the file name of a backup."""
    return f"{name}.yaml"


def _path(home: Home, project_id: str, name: str) -> str:
    return f"{folder(home, project_id)}/{file_name(name)}"
