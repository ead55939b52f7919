"""Reads and writes the project of a branch: .sow/project/state.yaml, its folders, and its memories for all agents."""

from __future__ import annotations

import os

from sow.domain import inputs
from sow.errors import InvalidFile, MergeConflict, SowError, Waiting
from sow.store.files import state_file
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, start_hint
from sow.store.files.disk import create_file, list_folder
from sow.store.formats import VERSION
from sow.store.formats.validation import CONFLICT_MARKS
from sow.store.validators.project import validate
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.documents.state import Phase, ProjectState
    from sow.store.files.checkout_home import Home

ADOPT = "sow project adopt"


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


def has_files(home: Home) -> bool:
    """Returns whether there is any file in .sow/project; git leaves empty folders when it switches branches."""
    is_folder = os.path.isdir(home.project) and not os.path.islink(home.project)
    return any(names for _, _, names in os.walk(home.project)) if is_folder else os.path.lexists(home.project)


def load(home: Home) -> ProjectState:
    """Loads the project, if it belongs to the branch that is checked out."""
    project = load_anywhere(home)
    check_branch(home, project)
    return project


def check_branch(home: Home, project: ProjectState) -> None:
    """Raises unless the project's branch is checked out."""
    branch, current = project["branch"], home.checkout.branch()
    if current != branch:
        has_run = has_unfinished_run(home, project)
        raise (WrongBranch if has_run else SowError)(
            f"{home.relative(path(home))} belongs to branch {branch}"
            f"{', with an unfinished run' * has_run}, but {current or 'a detached HEAD'} is checked out",
            other_branch_hint(home, branch, has_run=has_run),
        )


def has_unfinished_run(home: Home, project: ProjectState) -> bool:
    """Returns whether the project has a run that has not ended."""
    from sow.store.runs.run_folder import unfinished_run

    return unfinished_run(home, project["project_id"]) is not None


class WrongBranch(Waiting):
    """Raised if the branch of a project with an unfinished run is not checked out: no state is written there."""


def other_branch_hint(home: Home, branch: str, *, has_run: bool = False) -> str:
    """Returns the way out where a project of another branch is checked out, which may have been renamed."""
    if not is_branch(home, branch):
        return f"there is no branch {branch}; if you renamed it to this one: {ADOPT}"
    if has_run:
        return f"git switch {branch}, then run the same command again"
    return f"git switch {branch}, or remove the project of another branch: sow project delete"


def is_branch(home: Home, name: str) -> bool:
    """Returns whether the repository has a branch of this name."""
    from sow.system import git

    command = ["rev-parse", "--verify", "--quiet", f"refs/heads/{name}"]
    return bool(git.run(command, cwd=home.root, check=False).strip())


def removed(home: Home) -> dict[str, str]:
    """Returns the latest copy of each project that was removed from this checkout, by project id."""
    return {project_id: copy for copy, project_id, _ in _copies(home)}


def removed_copy(home: Home, branch: str) -> str:
    """Returns the latest copy of the project that was removed from a branch, or ""."""
    return next((copy for copy, _, of_branch in reversed([*_copies(home)]) if of_branch == branch), "")


def _copies(home: Home) -> Iterator[tuple[str, str, str]]:
    """Yields the path, project id and branch of each removed project, oldest first.

    The copies are read as lines, because a removed project may be broken or of another version.
    """
    folder = f"{home.sow}/local/removed"
    for name in sorted(list_folder(folder)):
        try:
            lines = home.read(f"{folder}/{name}/state.yaml").split("\n")
        except (FileNotFoundError, SowError):  # the copy belongs to the user, who may have changed or removed it
            continue
        parts = (line.partition(": ") for line in lines)
        fields = {key: value.strip("\"' ") for key, _, value in parts}
        if "project_id" in fields:
            yield home.relative(f"{folder}/{name}"), fields["project_id"], fields.get("branch", "")


def adopt(home: Home, *, now: str) -> tuple[str, str]:
    """Moves the project and its unfinished run from a renamed branch to the current one; returns both names."""
    from sow.store.runs.run_folder import unfinished_run

    project, branch = load_anywhere(home), branch_for_project(home)
    old_branch = project["branch"]
    if branch == old_branch:
        raise SowError(f"the project belongs to {branch} already", "see 'sow status'")
    if is_branch(home, old_branch):
        raise SowError(f"the project belongs to {old_branch}, which is there", other_branch_hint(home, old_branch))
    run = unfinished_run(home, project["project_id"])
    if run is not None:
        run.run["branch"] = branch
        run.save()
    save(home, {**project, "branch": branch, "updated_at": now})
    return old_branch, branch


def _no_project(home: Home) -> SowError:
    branch = home.checkout.branch()
    copy = removed_copy(home, branch) if branch else ""
    if copy:
        hint = f"bring it back: mv {copy} .sow/project"
        return SowError(f"{home.root} has no project: the one of {branch} was removed", hint)
    return SowError(f"{home.root} has no project", start_hint(home))


def load_anywhere(home: Home) -> ProjectState:
    """Loads the project, whatever branch is checked out."""
    try:
        project: ProjectState = state_file.read(home, path(home), validate)  # type: ignore[assignment]
    except FileNotFoundError:
        if exists(home):
            raise InvalidFile(f"{home.relative(path(home))} is missing", _restore_hint(home)) from None
        refuse_pulled_delivery(home)
        raise _no_project(home) from None
    except MergeConflict:
        raise
    except InvalidFile as problem:
        raise InvalidFile(problem.message, _restore_hint(home)) from None
    return project


def _restore_hint(home: Home) -> str:
    """Returns a hint that says how to restore a project's state: from git, or from the backup copy."""
    copy = state_file.project_backup_path(home, home.checkout.branch())
    from_git = f"restore it from git: git checkout -- {home.relative(path(home))}"
    return f"{from_git}\nor from the last good copy: cp {copy} {path(home)}" if copy else from_git


def check_can_create(home: Home) -> str:
    """Returns the branch of a new project; raises if it may not have one or has one already."""
    branch = branch_for_project(home)
    refuse_pulled_delivery(home)
    if exists(home):
        raise SowError(
            f"{home.relative(path(home))} exists: one project per branch",
            "see 'sow status', or remove it: sow project delete",
        )
    return branch


def refuse_pulled_delivery(home: Home) -> None:
    """Raises if the state files are gone because somebody pulled the commit without them that `sow deliver` pushed."""
    from sow.store.runs.run_folder import all_folders
    from sow.system import git

    if exists(home):
        return
    for folder in reversed(all_folders(home)):
        delivery = folder.run.get("delivery")
        if delivery is None or delivery["state"] != "open" or delivery["branch"] != home.checkout.branch():
            continue
        source, head = delivery.get("source"), delivery.get("head")
        ancestor = ["merge-base", "--is-ancestor", str(head), "HEAD"]
        if source and head and not git.run_unchecked(ancestor, cwd=home.root).code:
            raise SowError(
                f"the project's files are gone from {delivery['branch']}: the commit that sow deliver pushed has none, "
                "and it was pulled",
                f"restore them: git checkout {source[:12]} -- {home.relative(home.project)}",
            )


def create(home: Home, *, project_id: str, name: str, description: str, phases: list[Phase], now: str) -> ProjectState:
    """Creates a project on the current branch; raises if there is one."""
    from sow.store import layout

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
        add_phase_folder(home, phase["name"])
    home.folder("project", "context")
    layout.create_attributes(home)
    save(home, project)
    return project


def save(home: Home, project: ProjectState) -> None:
    """Writes the project and a backup copy."""
    written = state_file.write(home, path(home), project, validate)  # type: ignore[arg-type]
    state_file.save_backup(home, project["project_id"], "project", written)


def next_question(home: Home, project: ProjectState, now: str) -> int:
    """Returns a question number that was never used before."""
    project["questions"] += 1
    project["updated_at"] = now
    save(home, project)
    return project["questions"]


def add_phase_folder(home: Home, name: str) -> None:
    """Creates the folder of a phase's tasks, with a file by which git keeps it in a clone."""
    folder = home.folder("project", "phases", name, "tasks")
    create_file(home.disk, f"{os.path.dirname(folder)}/.gitkeep", "")


MEMORY_HEAD = "## "


def memory_path(home: Home) -> str:
    return f"{home.project}/context/memories.md"


def add_memory(home: Home, text: str, *, by: str, now: str) -> str:
    """Appends one memory, and returns the path of the file."""
    home.folder("project", "context")
    body = "\n".join(
        f"\\{line}" if _marked(line) else line for line in escape_control(home.redact(text)).strip().split("\n")
    )
    home.append(memory_path(home), f"\n{MEMORY_HEAD}{now} · {escape_control(by)}\n\n{body}\n")
    return home.relative(memory_path(home))


def read_memories(home: Home) -> list[str]:
    """Returns every memory, oldest first."""
    return [text for _, text in memory_entries(home)]


def memory_entries(home: Home) -> list[tuple[str, str]]:
    """Returns the heading (time and author) and the text of every memory, oldest first."""
    try:
        text = home.read(memory_path(home), torn=True)
    except FileNotFoundError:
        return []
    parts = [part.split("\n") for part in f"\n{text}".split(f"\n{MEMORY_HEAD}")[1:]]
    return [(head, "\n".join(map(_unescape, lines)).strip()) for head, *lines in parts]


def _marked(line: str) -> bool:
    """Returns True if a line looks like a head or a mark of a conflict, with or without backslashes before it."""
    return line.lstrip("\\").startswith((MEMORY_HEAD, *CONFLICT_MARKS))


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _marked(line) else line
