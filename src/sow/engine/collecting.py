"""Collects everything a worker left in its worktree into one commit.

The worker's index and branch are not trusted: the files are read into our own index. The worker's commits are pinned
first, so that every later step can move or undo them.
"""

from __future__ import annotations

import os

from sow.engine.differences import changed_paths
from sow.engine.gathering import Gathering
from sow.engine.pins import LARGEST, Pins, commits_in
from sow.engine.place import INDEX, Place
from sow.errors import SowError
from sow.system import linked, plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ABORTS = {
    "rebase": (["rebase", "--abort"], ["rebase", "--quit"]),
    "merge": (["merge", "--abort"], ["merge", "--quit"]),
    "cherry-pick": (["cherry-pick", "--abort"], ["cherry-pick", "--quit"]),
    "revert": (["revert", "--abort"], ["revert", "--quit"]),
    "bisect": (["bisect", "reset"], ["bisect", "reset", "HEAD"]),
}


class Collected:
    """The result of one turn in git: a commit, its base, the changed paths and remarks about what was wrong."""

    __slots__ = ("base", "commit", "paths", "remarks", "tree")

    def __init__(self, *, commit: str, tree: str, base: str, paths: list[str], remarks: list[str]) -> None:
        self.commit = commit
        self.tree = tree
        self.base = base
        self.paths = paths
        self.remarks = remarks


class Collecting:
    """One collection, from the worktree as it is to the commit on the task's branch."""

    __slots__ = ("base", "branch", "head", "name", "pins", "place", "remarks", "repository")

    def __init__(self, worktree: Place, pins: Pins, *, name: str, branch: str, base: str) -> None:
        self.place = worktree
        self.repository = worktree.repository
        self.pins = pins
        self.name = name
        self.branch = branch
        self.base = base
        self.head = ""
        self.remarks: list[str] = []

    def pin(self) -> None:
        """Pin every commit of the worker. Nothing in the worktree changes."""
        self.head = self._find_head()
        self._pin_commits()
        self._pin_foreign()

    def secure(self) -> None:
        """Pin every commit of the worker, then end unfinished git operations. The files on disk stay."""
        self.pin()
        self.remarks += self.place.unlock()
        self._mend_index()
        for file, command in linked.under_way(self.place.record).items():
            if os.path.lexists(f"{self.place.record}/{file}"):
                self._abort(command)

    def _find_head(self) -> str:
        """Return the commit under the files. If the branch was deleted, it is the last commit that HEAD pointed to."""
        head = self.place.head()
        if head:
            return head
        self.remarks.append("HEAD stood on a branch that is not there")
        last = _last_line(f"{self.place.record}/logs/HEAD").split()
        commits = self.repository.only_commits(last[1:2])
        return commits[0] if commits else self.repository.find(self.branch) or self.base

    def _pin_commits(self) -> None:
        if self.head != self.base:
            self.pins.pin(self.name, self.head)
        merged = self.repository.refs("refs/remotes/", "refs/heads/sow/int/").values()
        excluding = [self.base, *merged, *filter(None, [self.repository.find("HEAD")])]
        refs = self.pins.pin_found(self.name, commits_in(self.place, self.branch), excluding=excluding)
        if refs:
            self.remarks.append(f"commits beside the task's branch are kept: {', '.join(refs)}")

    def _pin_foreign(self) -> None:
        """Fetch and pin the commits of a repository that somebody made in place of the worktree."""
        for number, folder in enumerate(self.place.found(), 1):
            target = f"{self.pins.prefix}/{self.name}-own-{number}"
            specs = [f"+refs/heads/*:{target}/*", f"+HEAD:{target}/HEAD"]
            args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]
            args += ["--", folder]
            results = [self.repository.attempt([*args, spec]) for spec in specs]
            if any(result.code for result in results):
                self.remarks.append(f"what was committed in {folder} could not be pinned: {results[0].words}")

    def _mend_index(self) -> None:
        """Replace the worktree's index by ours if git cannot read it."""
        if self.place.attempt(["ls-files", "--stage", "-z"]).code:
            self.remarks.append("the worktree's index could not be read: it was made anew")
            linked.copy(self.place.index, f"{self.place.record}/index")

    def _abort(self, command: str) -> None:
        """Abort an unfinished merge or rebase, after pinning the files as they are."""
        ref = self.pins.pin_tree(
            self.name, self._gather().tree(), self.head, f"What lay in the worktree when a {command} was given up"
        )
        soft, hard = ABORTS[command]
        # Without a refresh, git treats a file that was only touched as changed.
        self.place.attempt(["update-index", "-q", "--refresh"])
        if self.place.attempt(soft).code:
            self.place.attempt(hard)
        self.remarks.append(f"a {command} was under way: it was given up, and what was there is kept as {ref}")
        self.head = self._find_head()

    def _gather(self) -> Gathering:
        gathered = Gathering(self.place, base=self.base, head=self.head)
        self.remarks += [remark for remark in gathered.remarks if remark not in self.remarks]
        return gathered

    def snapshot(self) -> None:
        """Pin the files as they are if they differ from the commit."""
        tree = self._gather().tree()
        if tree != self.repository.tree_of(self.head):
            self.pins.pin_tree(self.name, tree, self.head, "What lay in the worktree before it was made anew")

    def commit(self, message: str) -> Collected:
        """Make the commit, pin it, and move the branch, HEAD and the index to it."""
        gathered = self._gather()
        everything = gathered.tree()
        gathered.leave_out()
        tree = gathered.tree()
        parent = self._parent()
        if everything != tree:
            ref = self.pins.pin_tree(self.name, everything, parent, "With files that are not the task's to change")
            self.remarks.append(f"the worker changed .sow/project or orchestration: left out, and kept as {ref}")
        gathered.remove_state()
        commit = self._commit(tree, parent, message)
        self.pins.replace(self.name, commit)
        self._settle(commit, gathered.index)
        paths = changed_paths(self.repository, self.base, commit)
        self._remark_links(paths)
        return Collected(commit=commit, tree=tree, base=self.base, paths=paths, remarks=self.remarks)

    def _parent(self) -> str:
        """Return the parent for the new commit: the worker's commit, or the base if that is not its ancestor."""
        if self.repository.is_ancestor(self.base, self.head):
            return self.head
        self.remarks.append(
            f"the worker's commits do not build on {self.base[:12]}: its files are taken as one commit on top of that"
        )
        return self.base

    def _commit(self, tree: str, parent: str, message: str) -> str:
        """Return a commit of this tree, reusing one that exists."""
        if self.repository.tree_of(parent) == tree:
            return parent
        pinned = self.pins.get(self.name)
        if pinned and self.repository.tree_of(pinned) == tree and self.repository.parents(pinned) == [parent]:
            return pinned
        return self.repository.commit_tree(tree, [parent], message)

    def _settle(self, commit: str, index: str) -> None:
        ref = self.place.branch()
        if ref != self.branch:
            position = ref.removeprefix("refs/heads/") or f"no branch, at {self.head[:12]}"
            self.remarks.append(f"the worker had switched to {position}")
        self.repository.set_ref(self.branch, commit, why="collected")
        if ref != self.branch:
            self.place.git("symbolic-ref", "-m", "sow: collected", "HEAD", self.branch)
        self.place.seal(index)

    def _remark_links(self, paths: Sequence[str]) -> None:
        """Remark on new links that lead out of the worktree."""
        for path in paths:
            file = f"{self.place.path}/{path}"
            if os.path.islink(file):
                target = os.path.normpath(os.path.join(os.path.dirname(file), os.readlink(file)))
                if not f"{target}/".startswith(f"{self.place.path}/"):
                    self.remarks.append(f"{path} is a link out of the worktree, to {os.readlink(file)}")


def collect(worktree: Place, pins: Pins, *, name: str, branch: str, base: str, message: str) -> Collected:
    """Collect a worker's changes into a commit on its branch, pinned under a name."""
    if not worktree.record or not os.path.exists(f"{worktree.record}/{INDEX}"):
        raise SowError(f"the worktree {worktree.name} was never prepared", "prepare it first")
    collecting = Collecting(worktree, pins, name=name, branch=branch, base=base)
    collecting.secure()
    return collecting.commit(message)


def _last_line(path: str) -> str:
    lines = plain_file.read_text(path, LARGEST).splitlines()
    return lines[-1] if lines else ""
