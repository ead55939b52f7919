"""Committing the project's state, and nothing else of the user's."""

from __future__ import annotations

import os

from sow.errors import Failed
from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

OURS = (".sow/project", ".sow/.gitignore", ".sow/config.yaml", ".sow/knowledge")


def save_project(home: Home, message: str) -> str:
    """Commit what is ours; what the user has staged stays staged. Returns the commit, or nothing."""
    paths = [path for path in OURS if os.path.lexists(f"{home.root}/{path}")]
    ignored = git.run(["check-ignore", "--", ".sow/project/state.yaml"], cwd=home.root, check=False).strip()
    if ignored:
        raise Failed(
            ".sow/project is ignored by git: it cannot be saved",
            "take it out of .gitignore: a project is committed on its branch",
        )
    with home.lock():
        if not git.run(["status", "--porcelain", "--untracked-files=all", "--", *paths], cwd=home.root).strip():
            return ""
        git.run(["add", "--", *paths], cwd=home.root)
        git.run(["commit", "--quiet", "--no-verify", f"--message={message}", "--only", "--", *paths], cwd=home.root)
    return git.run(["rev-parse", "--short", "HEAD"], cwd=home.root).strip()
