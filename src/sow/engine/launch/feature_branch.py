"""Creates and switches the feature branch of a project; sow never works on main."""

from __future__ import annotations

from sow.domain.inputs import is_branch_name
from sow.engine.runs.start import require_commit
from sow.errors import SowError, SystemFailure
from sow.gitwork.repository import branch_conflict_error
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, Home
from sow.system import git
from sow.system.terminal import err


def exists(home: Home, name: str) -> bool:
    return bool(git.run(["rev-parse", "--verify", "--quiet", f"refs/heads/{name}"], cwd=home.root, check=False).strip())


def branch_to_use(home: Home, name: str) -> str:
    """Returns the branch to work on: a new one on main or master, otherwise the current one."""
    branch = require_commit(home)
    if branch not in FORBIDDEN_BRANCHES:
        return branch
    if exists(home, name):
        raise SowError(f"sow does not run on {branch}, and there is a branch {name} already", f"git switch {name}")
    return name


def leave_main(home: Home, name: str) -> None:
    """Creates the branch and switches to it if the current branch is main or master."""
    branch = home.checkout.branch()
    if branch_to_use(home, name) == branch:
        return
    try:
        git.run(["switch", "--quiet", "--create", name], cwd=home.root)
    except SystemFailure as problem:
        parent = name.partition("/")[0]
        if "/" in name and exists(home, parent):
            raise branch_conflict_error(parent) from None
        message = f"sow does not run on {branch}, and branch {name} cannot be made: {problem.message}"
        raise SowError(message, "finish what is under way there, see 'git status'") from None
    err(f"note: switched to the new branch {name}, because sow does not run on {branch}")


def check_name(name: str) -> str:
    """Returns the name if a project may use it as its branch."""
    if not is_branch_name(name) or name in FORBIDDEN_BRANCHES:
        raise SowError(f"--branch {name!r:.80} is not a name for a feature branch", "such as: --branch feat/login")
    return name


def switch_to(home: Home, name: str) -> None:
    """Switches to a branch and creates it if it does not exist."""
    if require_commit(home) == name:
        return
    create = [] if exists(home, name) else ["--create"]
    try:
        git.run(["switch", "--quiet", *create, name], cwd=home.root)
    except SystemFailure as problem:
        raise SowError(f"cannot switch to branch {name}: {problem.message}", "see 'git status'") from None
    err(f"note: {'made' if create else 'switched to'} branch {name}")
