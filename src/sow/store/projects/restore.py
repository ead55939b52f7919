"""Restores state files from backup copies during a run, if a stash or a clean removed or reset them."""

from __future__ import annotations

import os

from sow.domain.documents.state import ProjectState
from sow.domain.task import DEFAULT_PHASE
from sow.errors import SowError
from sow.store.files import set_aside, state_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import make_folders
from sow.store.files.state_file import REVISION, revision
from sow.store.formats.yaml_text import has_conflict, scalar
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.project import WrongBranch, removed
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder

UNREADABLE = f"{REVISION}{1 << 60}\n"  # the text of a file that exists but cannot be read; newer than any other


def check_branch(home: Home, branch: str) -> None:
    """Raises while another branch than the project's is checked out."""
    current = home.checkout.branch()
    if current != branch:
        location = f"on {current}" if current else "on no branch"
        raise WrongBranch(
            f"{home.root} is {location}, and the run belongs to {branch}",
            projects.other_branch_hint(home, branch, has_run=True),
        )


def reconcile(folder: TaskFolder, project_id: str) -> tuple[str, bool]:
    """Restores a task of a run under the lock: only what sow wrote has an equal copy, and only that counts.

    Returns the path of an edit by hand that was set aside, if any, and whether something was missing or reset. If
    another process works on the task, an edit is left to the end of that turn.
    """
    home, name, path, memory = folder.home, folder.id, folder.state_path, folder.home.memory
    text = home.read_or(UNREADABLE, path)
    if text == state_file.load_backup(home, project_id, name) and (
        memory is None or text in (None, memory.texts.get(name))
    ):
        return "", _restore_rest(folder, project_id)
    is_idle = not home.task_holder(name)
    forged = memory.restore(name, path) if memory is not None and is_idle else ""
    edited, restored = restore_file(home, project_id, name, path, edits=is_idle, newer=True)
    return edited or forged, _restore_rest(folder, project_id) or restored


def restore_task(folder: TaskFolder, project_id: str) -> bool:
    """Restores a task's state, notes and description if they are missing or older than the copy; under the lock."""
    _, restored = restore_file(folder.home, project_id, folder.id, folder.state_path)
    return _restore_rest(folder, project_id) or restored


def _restore_rest(folder: TaskFolder, project_id: str) -> bool:
    """Restores the files without a revision, which can only be missing."""
    restored = False
    paths = {
        state_file.notes_key(folder.id): folder.notes_path,
        state_file.description_key(folder.id): folder.description_path,
    }
    for name, path in paths.items():
        if not os.path.lexists(path):
            restored = restore_file(folder.home, project_id, name, path)[1] or restored
    return restored


def keep_description(folder: TaskFolder, project_id: str) -> None:
    """Keeps a copy of a task's description, unless there is an equal one."""
    name, text = state_file.description_key(folder.id), folder.home.read_or(UNREADABLE, folder.description_path)
    if text is not None and text != state_file.load_backup(folder.home, project_id, name):
        state_file.save_backup(folder.home, project_id, name, text)


def restore_project(home: Home, project_id: str) -> bool:
    """Restores the project's own state."""
    return restore_file(home, project_id, "project", projects.path(home))[1]


def restore_run(home: Home) -> list[str]:
    """Before a run: restores the project of this branch if its run has not ended; returns what was restored."""
    copy = state_file.project_backup_path(home, home.checkout.branch())
    project_id = os.path.basename(os.path.dirname(copy))
    run = run_folder.backup_copy(home, project_id) if copy else None
    if run is None or run["run"]["status"] == "ended" or _is_over(home, project_id):
        return []
    with home.lock():
        restored = ["project"] if restore_project(home, project_id) else []
        project = projects.load_anywhere(home)
        restored += [ident for ident in run["run"]["tasks"] if restore_task(_folder(home, project, ident), project_id)]
        if run_folder.restore(home, run):
            restored.append("run")
    return restored


def _is_over(home: Home, project_id: str) -> bool:
    """Returns whether another project has begun here since, or this one was removed on purpose."""
    text = home.read_or(UNREADABLE, projects.path(home))
    return (text is not None and f"\nproject_id: {scalar(project_id)}\n" not in text) or project_id in removed(home)


def _folder(home: Home, project: ProjectState, ident: str) -> TaskFolder:
    """Returns a task's folder; for a missing one, the folder it would have in the plan's phase."""
    try:
        return task_folders.find(home, project, ident)
    except SowError:
        names = [phase["name"] for phase in project["phases"]]
        return TaskFolder(home, DEFAULT_PHASE if DEFAULT_PHASE in names else names[-1], ident)


def restore_file(
    home: Home, owner: str, name: str, path: str, *, edits: bool = False, newer: bool = False
) -> tuple[str, bool]:
    """Restores a file from its copy under the lock, if it is missing or older.

    With `edits` also one that was edited by hand: with the same revision, or (`newer`) with a newer one than sow's
    newest. Returns the path of the edit, which is set aside, and whether the file was missing or older. A merge
    conflict is left to the person who resolves it.
    """
    copy, text = state_file.load_backup(home, owner, name), home.read_or(UNREADABLE, path)
    aside_path = ""
    if copy is None or text == copy or (text is not None and has_conflict(text)):
        return "", False
    if text is not None and (ahead := revision(text) - revision(copy)) >= 0:
        if not edits or not copy or (ahead and (not newer or state_file.is_stale_backup(home, owner, name))):
            return "", False
        is_readable = text != UNREADABLE
        aside_path = set_aside.save_copy(home, name, text) if is_readable else set_aside.move_broken(home, path)
    make_folders(home.disk, home.root, os.path.dirname(home.relative(path)).split("/"))  # may be missing
    home.replace(path, copy)
    return aside_path, not aside_path
