"""Reads and writes the project of a branch: .sow/project/state.yaml and its folders."""

from __future__ import annotations

import os

from sow.domain import inputs
from sow.errors import InvalidFile, SowError
from sow.store.files import backup, state_file
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES
from sow.store.files.disk import make_folders
from sow.store.formats import VERSION
from sow.store.validators.project import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Phase, ProjectState
    from sow.store.files.checkout_home import Home


def path(home: Home) -> str:
    return f"{home.project}/state.yaml"


def branch_for_project(home: Home) -> str:
    """Returns the current branch, if it may have a project."""
    branch = home.checkout.branch()
    if not branch:
        raise SowError(f"HEAD is detached in {home.root}: a project lives on a branch", "git switch -c feature/NAME")
    if branch in FORBIDDEN_BRANCHES:
        raise SowError(f"no project on {branch}: a project lives on a feature branch", "git switch -c feature/NAME")
    return inputs.checked_line(branch, "the name of the branch", 255)


def exists(home: Home) -> bool:
    """Returns whether there is a project, or a task of a removed one.

    Empty folders and temporary files do not count: git leaves them when it switches to another branch.
    """
    tasks = os.walk(f"{home.project}/phases")
    return os.path.lexists(path(home)) or any(
        "state.yaml" in names and not folder.endswith(".tmp") for folder, _, names in tasks
    )


def load(home: Home) -> ProjectState:
    """Loads the project, if it belongs to the branch that is checked out."""
    project = load_anywhere(home)
    check_branch(home, project["branch"])
    return project


def check_branch(home: Home, branch: str) -> None:
    """Raises unless this branch is checked out."""
    current = home.checkout.branch()
    if current != branch:
        here = current or "a detached HEAD"
        raise SowError(
            f"{home.relative(path(home))} belongs to branch {branch}, but {here} is checked out",
            f"git switch {branch}, or remove the project of another branch: sow project delete",
        )


def load_anywhere(home: Home) -> ProjectState:
    """Loads the project, whatever branch is checked out."""
    try:
        project: ProjectState = state_file.read(home, path(home), validate)  # type: ignore[assignment]
    except FileNotFoundError:
        if exists(home):
            raise InvalidFile(f"{home.relative(path(home))} is missing", _restore_hint(home)) from None
        raise SowError(f"{home.root} has no project", 'start one: sow project new "NAME"') from None
    except InvalidFile as problem:
        raise InvalidFile(problem.message, _restore_hint(home)) from None
    return project


def _restore_hint(home: Home) -> str:
    """Returns a hint that says how to restore a project's state: from git, or from the backup copy."""
    copy = backup.project_backup_path(home, home.checkout.branch())
    from_git = f"restore it from git: git checkout -- {home.relative(path(home))}"
    return f"{from_git}\nor from the last good copy: cp {copy} {path(home)}" if copy else from_git


def check_can_create(home: Home) -> str:
    """Returns the branch of a new project; raises if it may not have one or has one already."""
    branch = branch_for_project(home)
    if exists(home):
        raise SowError(
            f"{home.relative(path(home))} exists: one project per branch",
            "see 'sow status', or remove it: sow project delete",
        )
    return branch


def create(home: Home, *, project_id: str, name: str, description: str, phases: list[Phase], now: str) -> ProjectState:
    """Creates a project on the current branch; raises if there is one."""
    branch = check_can_create(home)
    project: ProjectState = {
        "schema_version": VERSION,
        "revision": 0,
        "project_id": project_id,
        "name": home.redact(name),
        "description": description,
        "branch": branch,
        "phases": phases,
        "questions": 0,
        "created_at": now,
        "updated_at": now,
    }
    state_file.check(dict(project), "project", validate)
    for phase in phases:
        home.folder("project", "phases", phase["name"], "tasks")
    home.folder("project", "context")
    save(home, project)
    return project


def save(home: Home, project: ProjectState) -> None:
    """Writes the project and a backup copy."""
    written = state_file.write(home, path(home), project, validate)  # type: ignore[arg-type]
    backup.save(home, project["project_id"], "project", written)


def next_question(home: Home, project: ProjectState, now: str) -> int:
    """Returns a question number that was never used before."""
    project["questions"] += 1
    project["updated_at"] = now
    save(home, project)
    return project["questions"]


def add_phase_folder(home: Home, name: str) -> None:
    """Creates the folder of a phase's tasks."""
    make_folders(home.disk, home.project, ("phases", name, "tasks"))
