"""Pins: refs under refs/sow/keep that hold every commit which a worker made, before anything is moved or removed."""

from __future__ import annotations

import os
import re

from sow.errors import Failed
from sow.system import linked, plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.engine.place import Place
    from sow.engine.repository import Repository

KEEP = "refs/sow/keep"
OBJECT = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
STASHED = re.compile(r"\t(?:WIP on|On) (.+?): ")
LARGEST = 64 << 20
# What a record of git holds besides names of commits: indexes, and the repositories of submodules.
NO_NAMES = ("index", "sow-", "modules", "gitdir", "commondir", "config", "locked", "info")


class Pins:
    """The pins of one task, of a run's integration branch, or of something else with a name in a run."""

    __slots__ = ("prefix", "repository")

    def __init__(self, repository: Repository, run: str, name: str) -> None:
        self.repository = repository
        self.prefix = f"{KEEP}/{run}/{name}"

    def all(self) -> dict[str, str]:
        """Every pin, and its commit."""
        return self.repository.refs(f"{self.prefix}/")

    def get(self, name: str) -> str:
        """The commit that is pinned under this name, or nothing."""
        return self.all().get(f"{self.prefix}/{name}", "")

    def pin(self, name: str, commit: str) -> None:
        """Pin a commit under a name; what was pinned there stays pinned, as its ancestor or beside it."""
        old = self.get(name)
        if old and self.repository.is_ancestor(commit, old):
            return
        self.replace(name, commit)

    def replace(self, name: str, commit: str) -> None:
        """The same, where the name must stand for this commit."""
        old = self.get(name)
        if old and not self.repository.is_ancestor(old, commit):
            self.pin_beside(name, old)
        if old != commit:
            self.repository.set_ref(f"{self.prefix}/{name}", commit, old, why="kept")

    def pin_beside(self, name: str, commit: str) -> str:
        """Pin a commit under the next free number behind a name, unless it is pinned already."""
        there = self.all()
        for ref, pinned in there.items():
            if pinned == commit and ref != f"{self.prefix}/{name}":
                return ref
        number = 1
        while f"{self.prefix}/{name}-{number}" in there:
            number += 1
        self.repository.set_ref(f"{self.prefix}/{name}-{number}", commit, "", why="kept")
        return f"{self.prefix}/{name}-{number}"

    def pin_tree(self, name: str, tree: str, parent: str, message: str) -> str:
        """Pin a state of files as a commit beside a name; the same state on the same parent is kept once."""
        for ref, commit in self.all().items():
            if self.repository.tree_of(commit) == tree and self.repository.parents(commit) == [parent]:
                return ref
        return self.pin_beside(name, self.repository.commit_tree(tree, [parent], message))

    def pin_found(self, name: str, commits: Iterable[str], *, apart: Iterable[str]) -> list[str]:
        """Pin every line of commits that is neither pinned yet nor contained in those apart; the refs made."""
        tips = self.repository.heads_of(commits, apart=[*apart, *self.all().values()])
        return [self.pin_beside(name, tip) for tip in tips]


def commits_in(place: Place, branch: str) -> list[str]:
    """Every commit that a worktree has ever stood on or works with: its HEADs, logs and unfinished operations."""
    common = place.repository.home.checkout.common
    found = [oid for path in _files(place.record) for oid in OBJECT.findall(_read(path))]
    found += OBJECT.findall(_read(f"{common}/logs/{branch}"))
    found += _stashed(_read(f"{common}/logs/refs/stash"), branch.removeprefix("refs/heads/"))
    found += [place.repository.find(branch)]
    return place.repository.only_commits(dict.fromkeys(each for each in found if each))


def _files(record: str) -> list[str]:
    """Git's files about a worktree in which names of commits can be."""
    found = []
    for folder, folders, names in os.walk(record):
        folders[:] = [each for each in folders if not each.startswith(NO_NAMES)]
        found += [f"{folder}/{name}" for name in names if not name.startswith(NO_NAMES)]
    return found


def _stashed(log: str, branch: str) -> list[str]:
    """What was stashed on the branch: a stash belongs to the whole repository, so a worker's lies among the user's."""
    names = (branch, branch.rpartition("/")[2])
    lines = [line for line in log.splitlines() if (said := STASHED.search(line)) and said[1] in names]
    return [line.split()[1] for line in lines]


def _read(path: str) -> str:
    try:
        return plain_file.read(path, LARGEST).decode("utf-8", "replace")
    except OSError as error:
        if error.errno in linked.NO_FILE:
            return ""
        raise Failed(f"cannot read {path}: {error.strerror}", "mend that and run the command again") from None
