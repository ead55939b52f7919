"""Keeps refs below refs/sow/keep for every commit of a worker, before anything is moved or removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from sow.errors import SystemFailure
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import Worktree
from sow.system import git, plain_file

KEEP = "refs/sow/keep"
OBJECT = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
STASHED = re.compile(r"\t(?:WIP on|On) (.+?): ")
LARGEST = 64 << 20
# Names in git's record of a worktree that hold no commit ids, such as indexes and submodule repositories.
NO_NAMES = ("index", "sow-", "modules", "gitdir", "commondir", "config", "locked", "info")


class KeptCommits:
    """The pins of one task, of a run's integration branch, or of another named thing in a run."""

    def __init__(self, repository: Repository, run: str, name: str) -> None:
        self.repository = repository
        self.prefix = f"{KEEP}/{run}/{name}"

    def all(self) -> dict[str, str]:
        """Returns every pin with its commit."""
        return self.repository.refs(f"{self.prefix}/")

    def get(self, name: str) -> str:
        """Returns the commit that is pinned under this name, or ""."""
        return self.all().get(f"{self.prefix}/{name}", "")

    def pin(self, name: str, commit: str) -> None:
        """Pins a commit under a name. The commit pinned there before stays reachable."""
        old = self.get(name)
        if old and self.repository.is_ancestor(commit, old):
            return
        self.replace(name, commit)

    def replace(self, name: str, commit: str) -> None:
        """Pins a commit under a name, even if the name has a newer commit now."""
        old = self.get(name)
        if old and not self.repository.is_ancestor(old, commit):
            self.keep_numbered(name, old)
        if old != commit:
            self.repository.set_ref(f"{self.prefix}/{name}", commit, old, why="kept")

    def keep_numbered(self, name: str, commit: str) -> str:
        """Pins a commit under the next free number after a name, unless it is pinned already. Returns the ref."""
        refs = self.all()
        for ref, pinned in refs.items():
            if pinned == commit and ref != f"{self.prefix}/{name}":
                return ref
        number = 1
        while f"{self.prefix}/{name}-{number}" in refs:
            number += 1
        self.repository.set_ref(f"{self.prefix}/{name}-{number}", commit, "", why="kept")
        return f"{self.prefix}/{name}-{number}"

    def pin_tree(self, name: str, tree: str, parent: str, message: str) -> str:
        """Pins a tree as a commit beside a name. An equal tree on the same parent is pinned once."""
        for ref, commit in self.all().items():
            if self.repository.tree_of(commit) == tree and self.repository.parents(commit) == [parent]:
                return ref
        return self.keep_numbered(name, self.repository.commit_tree(tree, [parent], message))

    def keep_unreachable(self, name: str, commits: Iterable[str], *, excluding: Iterable[str]) -> list[str]:
        """Pins the tips of commits that are neither pinned nor contained in `excluding`. Returns the new refs."""
        reached = set(excluding)
        commits = [commit for commit in commits if commit not in reached]
        if not commits:
            return []
        tips = self.repository.tips_not_in(commits, excluding=[*reached, *self.all().values()])
        return [self.keep_numbered(name, tip) for tip in tips]


def commits_in(worktree: Worktree, branch: str) -> list[str]:
    """Lists every commit that a worktree has stood on or works with: HEADs, logs and unfinished operations."""
    common = worktree.repository.home.checkout.common
    oids = [oid for path in _files(worktree.git_dir) for oid in OBJECT.findall(_read(path))]
    oids += OBJECT.findall(_read(f"{common}/logs/{branch}"))
    oids += _stashed(_read(f"{common}/logs/refs/stash"), branch.removeprefix("refs/heads/"))
    oids += [worktree.repository.find_commit(branch)]
    return worktree.repository.only_commits(dict.fromkeys(oid for oid in oids if oid))


def _files(record: str) -> list[str]:
    """Lists git's files about a worktree that can contain commit ids."""
    paths = []
    for folder, folders, names in os.walk(record):
        folders[:] = [name for name in folders if not name.startswith(NO_NAMES)]
        paths += [f"{folder}/{name}" for name in names if not name.startswith(NO_NAMES)]
    return paths


def _stashed(log: str, branch: str) -> list[str]:
    """Returns the stashes made on the branch. All worktrees share one stash, so a worker's are among the user's."""
    names = (branch, branch.rpartition("/")[2])
    lines = [line for line in log.splitlines() if (match := STASHED.search(line)) and match[1] in names]
    return [line.split()[1] for line in lines]


def _read(path: str) -> str:
    try:
        return plain_file.read(path, LARGEST).decode("utf-8", "replace")
    except OSError as error:
        if error.errno in git.NO_FILE:
            return ""
        raise SystemFailure(f"cannot read {path}: {error.strerror}", "fix that and run the command again") from None
