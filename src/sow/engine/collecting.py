"""Collecting: what a worker left in its worktree becomes one commit, whatever the worker did there.

Nothing of a worker's own index or branch is relied on: the files are read into an index of ours. What the worker
committed is pinned first, so every later step may move or undo.
"""

from __future__ import annotations

import os

from sow.engine.differences import changed_paths
from sow.engine.gathering import Gathering
from sow.engine.pins import Pins, commits_in
from sow.engine.place import INDEX, Place
from sow.errors import SowError
from sow.system import linked

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
    """What one turn left in git: a commit on its base, the paths that differ, and what was odd."""

    __slots__ = ("base", "commit", "paths", "remarks", "tree")

    def __init__(self, *, commit: str, tree: str, base: str, paths: list[str], remarks: list[str]) -> None:
        self.commit = commit
        self.tree = tree
        self.base = base
        self.paths = paths
        self.remarks = remarks


class Collecting:
    """One collection, from the worktree as it was found to the commit on the task's branch."""

    __slots__ = ("base", "branch", "head", "name", "pins", "place", "remarks", "repository")

    def __init__(self, place: Place, pins: Pins, *, name: str, branch: str, base: str) -> None:
        self.place = place
        self.repository = place.repository
        self.pins = pins
        self.name = name
        self.branch = branch
        self.base = base
        self.head = ""
        self.remarks: list[str] = []

    def pin(self) -> None:
        """Pin all that the worker committed; nothing in the worktree changes."""
        self.head = self._find_head()
        self._pin_commits()
        self._pin_foreign()

    def secure(self) -> None:
        """Pin all that the worker committed, then end what it left unfinished; what it has on disk stays."""
        self.pin()
        self.remarks += self.place.unlock()
        self._mend_index()
        for told, command in linked.under_way(self.place.record).items():
            if os.path.lexists(f"{self.place.record}/{told}"):
                self._abort(command)

    def _find_head(self) -> str:
        """The commit under the files; of a deleted branch it is the last one that HEAD stood on."""
        head = self.place.head()
        if head:
            return head
        self.remarks.append("HEAD stood on a branch that is not there")
        last = _last_line(f"{self.place.record}/logs/HEAD").split()
        stood = self.repository.only_commits(last[1:2])
        return stood[0] if stood else self.repository.find(self.branch) or self.base

    def _pin_commits(self) -> None:
        if self.head != self.base:
            self.pins.pin(self.name, self.head)
        known = self.repository.refs("refs/remotes/", "refs/heads/sow/int/").values()
        apart = [self.base, *known, *filter(None, [self.repository.find("HEAD")])]
        made = self.pins.pin_found(self.name, commits_in(self.place, self.branch), apart=apart)
        if made:
            self.remarks.append(f"commits beside the task's branch are kept: {', '.join(made)}")

    def _pin_foreign(self) -> None:
        """Fetch and pin what was committed to a repository that somebody made in place of ours."""
        for number, folder in enumerate(self.place.found(), 1):
            target = f"{self.pins.prefix}/{self.name}-own-{number}"
            specs = [f"+refs/heads/*:{target}/*", f"+HEAD:{target}/HEAD"]
            words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]
            words += ["--", folder]
            done = [self.repository.attempt([*words, spec]) for spec in specs]
            if any(each.code for each in done):
                self.remarks.append(f"what was committed in {folder} could not be pinned: {done[0].words}")

    def _mend_index(self) -> None:
        """Give the worktree our index where its own cannot be read."""
        if self.place.attempt(["ls-files", "--stage", "-z"]).code:
            self.remarks.append("the worktree's index could not be read: it was made anew")
            linked.copy(self.place.index, f"{self.place.record}/index")

    def _abort(self, command: str) -> None:
        """Take an unfinished merge or rebase back, with what is there pinned as it is."""
        ref = self.pins.pin_tree(
            self.name, self._gather().tree(), self.head, f"What lay in the worktree when a {command} was given up"
        )
        soft, hard = ABORTS[command]
        self.place.attempt(["update-index", "-q", "--refresh"])  # git takes a file for changed that was only touched
        if self.place.attempt(soft).code:
            self.place.attempt(hard)
        self.remarks.append(f"a {command} was under way: it was given up, and what was there is kept as {ref}")
        self.head = self._find_head()

    def _gather(self) -> Gathering:
        gathered = Gathering(self.place, base=self.base, head=self.head)
        self.remarks += [each for each in gathered.remarks if each not in self.remarks]
        return gathered

    def snapshot(self) -> None:
        """Pin the files as they are beside the name, where they are no commit yet."""
        tree = self._gather().tree()
        if tree != self.repository.tree_of(self.head):
            self.pins.pin_tree(self.name, tree, self.head, "What lay in the worktree before it was made anew")

    def commit(self, message: str) -> Collected:
        """Make the commit, pin it, and let the branch, HEAD and the index stand on it."""
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
        """The commit to build on: the worker's own, unless it has left the line that it was given."""
        if self.repository.is_ancestor(self.base, self.head):
            return self.head
        self.remarks.append(
            f"the worker's commits do not build on {self.base[:12]}: its files are taken as one commit on top of that"
        )
        return self.base

    def _commit(self, tree: str, parent: str, message: str) -> str:
        """A commit of this tree, or the one that is there already."""
        if self.repository.tree_of(parent) == tree:
            return parent
        pinned = self.pins.get(self.name)
        if pinned and self.repository.tree_of(pinned) == tree and self.repository.parents(pinned) == [parent]:
            return pinned
        return self.repository.commit_tree(tree, [parent], message)

    def _settle(self, commit: str, index: str) -> None:
        """Let the branch, HEAD and the index stand on the commit."""
        stood = self.place.branch()
        if stood != self.branch:
            where = stood.removeprefix("refs/heads/") or f"no branch, at {self.head[:12]}"
            self.remarks.append(f"the worker had switched to {where}")
        self.repository.set_ref(self.branch, commit, why="collected")
        if stood != self.branch:
            self.place.git("symbolic-ref", "-m", "sow: collected", "HEAD", self.branch)
        self.place.seal(index)

    def _remark_links(self, paths: Sequence[str]) -> None:
        """Name new links that lead out of the worktree."""
        for path in paths:
            place = f"{self.place.path}/{path}"
            if os.path.islink(place):
                target = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
                if not f"{target}/".startswith(f"{self.place.path}/"):
                    self.remarks.append(f"{path} is a link out of the worktree, to {os.readlink(place)}")


def collect(place: Place, pins: Pins, *, name: str, branch: str, base: str, message: str) -> Collected:
    """What a worker left, as a commit on its branch that is pinned under a name."""
    if not place.record or not os.path.exists(f"{place.record}/{INDEX}"):
        raise SowError(f"the worktree {place.name} was never prepared", "prepare it first")
    work = Collecting(place, pins, name=name, branch=branch, base=base)
    work.secure()
    return work.commit(message)


def _last_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()[-1]
    except (OSError, IndexError):
        return ""
