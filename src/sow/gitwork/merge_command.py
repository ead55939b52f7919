"""Returns the command that merges a finished branch by hand."""

from __future__ import annotations

import shlex

from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, Home
from sow.store.projects import project as projects
from sow.store.state_commit import COMMIT_REMOVAL, is_saved
from sow.system import git


def merge_command(home: Home, branch: str) -> str:
    """Returns the command that merges a branch into the main branch; "" if there is no main branch, or nothing new."""
    main = next((name for name in FORBIDDEN_BRANCHES if name != branch and projects.is_branch(home, name)), "")
    if not main or not branch:
        return ""
    new = git.run(["rev-list", "-n1", f"refs/heads/{main}..refs/heads/{branch}"], cwd=home.root, check=False)
    return f"git switch {main} && git merge {shlex.quote(branch)}" if new.strip() else ""


def command_after_removal(home: Home) -> str:
    """Returns the next command if the project of the current branch was removed, and its work is not merged."""
    branch = home.checkout.branch()
    if not branch or not projects.removed_copy(home, branch):
        return ""
    merge = merge_command(home, branch)
    return f"{COMMIT_REMOVAL} && {merge}" if merge and is_saved(home) else merge
