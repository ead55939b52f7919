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


def drop_state_commits(home: Home) -> list[str]:
    """Takes commits with only project state off the branch, and the project out of the commits above; returns them.

    Only commits that are on no other branch, tag or remote are changed, without merges and signatures. Files are not
    touched; the project is removed from the index.
    """
    branch = home.checkout.branch()
    if not branch or any(os.path.lexists(f"{home.checkout.git}/{name}") for name in UNFINISHED_OPERATIONS):
        return []
    with home.lock():
        own = _own_commits(home, branch)
        touching = git.run(["rev-list", "HEAD", f"^{own[-1][1]}", "--", PROJECT], cwd=home.root).split() if own else []
        state = [i for i, (commit, _) in enumerate(own) if commit in touching and _has_only_state(home, commit)]
        if not state:
            return []
        above, (_, tip) = own[: state[-1]], own[state[-1]]
        kept_project = _entry(home, tip, PROJECT)
        for number, (commit, _) in reversed([*enumerate(above)]):
            tip = tip if number in state else _moved(home, commit, tip, kept_project)
        command = ["update-ref", "-m", "sow: drop state commits", f"refs/heads/{branch}", tip, own[0][0]]
        git.run(command, cwd=home.root)
        git.run(["reset", "--quiet", "--", PROJECT], cwd=home.root)
    return [own[number][0] for number in state]


def is_saved(home: Home) -> bool:
    """Returns whether the branch has files of a project."""
    return bool(git.run(["ls-tree", "--name-only", "HEAD", "--", PROJECT], cwd=home.root, check=False).strip())


def commit_removal(home: Home) -> None:
    """Commits that the project's files are gone; what the user has staged stays staged."""
    _refuse_under_way(home)
    _check_identity(home)
    command = ["commit", "--quiet", "--no-verify", "--message=Clean up the project", "--only", "--", PROJECT]
    git.run(command, cwd=home.root)


def _own_commits(home: Home, branch: str) -> list[tuple[str, str]]:
    """Lists the commits at the end of the branch that can be replaced, newest first, each with its parent."""
    others = [f"--exclude={branch}", "--branches", "--remotes", "--tags"]
    listed = git.run(["log", "--format=%H %P%n%G?", "HEAD", "--not", *others], cwd=home.root, check=False).split("\n")
    own: list[tuple[str, str]] = []
    for revs, signature in zip(listed[::2], listed[1::2], strict=False):
        commit, *parents = revs.split()
        if len(parents) != 1 or signature != "N" or (own and own[-1][1] != commit):
            break
        own.append((commit, parents[0]))
    return own


def _has_only_state(home: Home, commit: str) -> bool:
    listed = git.run(["diff-tree", "--no-commit-id", "--name-only", "-r", "-z", commit], cwd=home.root)
    paths = [path for path in listed.split("\0") if path]
    return bool(paths) and all(path.startswith(f"{PROJECT}/") for path in paths)


def _entry(home: Home, commit: str, path: str) -> str:
    """Returns the line of `git ls-tree` for a path, or nothing."""
    return git.run(["ls-tree", commit, "--", path], cwd=home.root).strip()


def _moved(home: Home, commit: str, parent: str, project: str) -> str:
    """Writes a commit again on another parent, with this entry as its project, and returns the new commit."""
    folder, _, name = PROJECT.partition("/")
    inner = _tree(home, f"{commit}:{folder}", name, project.replace(PROJECT, name))
    outer = _tree(home, f"{commit}:", folder, f"040000 tree {inner}\t{folder}" if inner else "")
    head, _, message = git.run(["cat-file", "commit", commit], cwd=home.root).partition("\n\n")
    lines = [line for line in head.split("\n") if not line.startswith(("tree ", "parent "))]
    text = "\n".join((f"tree {outer}", f"parent {parent}", *lines)) + f"\n\n{message}"
    return git.run(["hash-object", "-t", "commit", "-w", "--stdin"], cwd=home.root, input=text).strip()


def _tree(home: Home, tree: str, name: str, entry: str) -> str:
    """Writes a tree with another entry of this name, or without it; returns nothing for an empty tree."""
    listed = git.run(["ls-tree", "-z", tree], cwd=home.root, check=False)
    lines = [line for line in listed.split("\0") if line and line.partition("\t")[2] != name]
    lines += [entry] if entry else []
    if not lines:
        return ""
    return git.run(["mktree", "-z"], cwd=home.root, input="".join(f"{line}\0" for line in lines)).strip()


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
