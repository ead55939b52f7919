"""Commits the state of the project and of the workflow, and nothing else of the user's."""

from __future__ import annotations

import os

from sow.errors import SystemFailure, Waiting
from sow.store.files.checkout_home import Home
from sow.system import git

PROJECT = ".sow/project"
OURS = (PROJECT, ".sow/.gitignore", ".sow/config.yaml", ".sow/knowledge", ".sow/sinks/index.json")
WORKFLOWS = ("orchestration/state.yaml", "orchestration/archive")  # one of these shows that the folder is sow's
COMMIT_REMOVAL = "git commit -m 'Clean up the project' -- :/.sow/project"
UNFINISHED_OPERATIONS = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}


def save_project(home: Home, message: str) -> str:
    """Commits sow's files; what the user has staged stays staged. Returns the commit, or nothing."""
    _refuse_ignored(home)
    _refuse_under_way(home)
    with home.lock():
        paths = _paths(home)
        if not git.run(
            ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty", "--", *paths], cwd=home.root
        ).strip():
            return ""
        _check_identity(home)
        git.run(["add", "--sparse", "--", *paths], cwd=home.root)
        tracked = [path for path in paths if git.run(["ls-files", "--", path], cwd=home.root)]
        git.run(["commit", "--quiet", "--no-verify", f"--message={message}", "--only", "--", *tracked], cwd=home.root)
    return git.run(["rev-parse", "--short", "HEAD"], cwd=home.root).strip()


def drop_state_commits(home: Home) -> int:
    """Drops commits with only project state from the end of the branch; returns how many.

    Only commits that are on no other branch, tag or remote are dropped. Files are not touched; the project is removed
    from the index.
    """
    branch = home.checkout.branch()
    if not branch or any(os.path.lexists(f"{home.checkout.git}/{name}") for name in UNFINISHED_OPERATIONS):
        return 0
    dropped = 0
    with home.lock():
        while parent := _parent_of_state(home, branch):
            head = git.run(["rev-parse", "HEAD"], cwd=home.root).strip()
            command = ["update-ref", "-m", "sow: drop a state commit", f"refs/heads/{branch}", parent, head]
            git.run(command, cwd=home.root)
            dropped += 1
        if dropped:
            git.run(["reset", "--quiet", "--", PROJECT], cwd=home.root)
    return dropped


def is_saved(home: Home) -> bool:
    """Returns whether the branch has files of a project."""
    return bool(git.run(["ls-tree", "--name-only", "HEAD", "--", PROJECT], cwd=home.root, check=False).strip())


def commit_removal(home: Home) -> None:
    """Commits that the project's files are gone; what the user has staged stays staged."""
    _refuse_under_way(home)
    _check_identity(home)
    command = ["commit", "--quiet", "--no-verify", "--message=Clean up the project", "--only", "--", PROJECT]
    git.run(command, cwd=home.root)


def _parent_of_state(home: Home, branch: str) -> str:
    """Returns the parent of the branch's last commit, if that commit only has project state and is nowhere else."""
    revs = git.run(["rev-list", "--parents", "--max-count=1", "HEAD"], cwd=home.root, check=False).split()
    if len(revs) != 2:
        return ""
    listed = git.run(["diff-tree", "--no-commit-id", "--name-only", "-r", "-z", revs[0]], cwd=home.root)
    paths = [path for path in listed.split("\0") if path]
    if not paths or not all(path.startswith(f"{PROJECT}/") for path in paths):
        return ""
    query = ["for-each-ref", "--format=%(refname)", f"--contains={revs[0]}", "refs/heads", "refs/remotes", "refs/tags"]
    others = set(git.run(query, cwd=home.root).split()) - {f"refs/heads/{branch}"}
    return "" if others else revs[1]


def _paths(home: Home) -> list[str]:
    paths = [path for path in OURS if os.path.lexists(f"{home.root}/{path}")]
    if any(os.path.lexists(f"{home.root}/{path}") for path in WORKFLOWS):
        paths.append("orchestration")
    ignored = git.run(["check-ignore", "--", *paths], cwd=home.root, check=False).splitlines()
    return [path for path in paths if path not in ignored]


def _refuse_ignored(home: Home) -> None:
    """Raises for ignored project files before anything is committed: a commit without them would lose them."""
    command = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", ".sow/project"]
    ignored = [path for path in git.run(command, cwd=home.root).split("\0") if path and ".tmp" not in path]
    if ignored:
        raise SystemFailure(
            f"{ignored[0]} is ignored by git: it cannot be saved",
            "take it out of .gitignore: a project is committed on its branch",
        )


def _refuse_under_way(home: Home) -> None:
    """Raises during a merge or revert: git commits no single paths in a merge, and a commit would end a revert."""
    for name, operation in UNFINISHED_OPERATIONS.items():
        if os.path.lexists(f"{home.checkout.git}/{name}"):
            raise Waiting(
                f"a {operation} is under way in {home.root}",
                f"end it first: git {operation} --continue, or git {operation} --abort",
            )


def _check_identity(home: Home) -> None:
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if not git.run(["var", name], cwd=home.root, check=False).strip():
            raise SystemFailure(
                "git does not know who you are: it makes no commit",
                'git config user.name "NAME" && git config user.email "ADDRESS"',
            )
