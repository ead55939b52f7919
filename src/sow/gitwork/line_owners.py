"""Finds the task that wrote or removed a line: by `git blame`, and by what the runs recorded as merged.

Commit messages are never read. A line that a person wrote, that a revert brought back or whose commit was rewritten has
no owner, because no run recorded its commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sow.domain.documents.state import Run, RunMerge
from sow.gitwork.line_map import Place, map_lines
from sow.gitwork.repository import Repository

# No list of commits to skip and no program of the repository changes the answer.
OPTIONS = ("-c", "blame.ignoreRevsFile=", "-c", "blame.markIgnoredLines=false")
MAX_COMMITS = "--max-count=10000"  # of one merge


class LineOwners:
    """The tasks that wrote the lines of a commit."""

    def __init__(self, repository: Repository, runs: Iterable[Run], head: str) -> None:
        self.repository = repository
        self.head = repository.commit_of(head)
        merges = [merge for run in runs for merge in run.get("merges", ())]
        self.merges: Sequence[RunMerge] = [merge for merge in merges if merge["commit"] != merge["parent"]]
        self.by_commit = {merge["commit"]: merge["task"] for merge in self.merges}
        self.looked_up = False  # whether the commits below merge commits are known, too

    def files(self) -> set[str]:
        """Returns the files of the commit."""
        return {
            path for path in self.repository.git("ls-tree", "-r", "-z", "--name-only", self.head).split("\0") if path
        }

    def moved(self, commit: str, place: Place) -> Place | None:
        """Returns where a line of another commit is in this one, or None if it was changed or is gone."""
        if not commit or commit == self.head:
            return place
        if not self.repository.find_commit(commit):
            return None
        old, new = self.repository.tree_of(commit), self.repository.tree_of(self.head)
        return map_lines(self.repository, old, new, [place])[place]

    def owner(self, place: Place) -> str:
        """Returns the task that wrote a line, or "" if no task did."""
        path, line = place
        arguments = ["blame", "--no-textconv", "--porcelain", "-L", f"{line},{line}", self.head, "--", path]
        done = self.repository.run_git(arguments, options=OPTIONS)
        commit = done.out.partition(" ")[0] if not done.code else ""
        if commit and commit not in self.by_commit and not self.looked_up:
            self._look_up()
        return self.by_commit.get(commit, "")

    def remover(self, commit: str, place: Place) -> str:
        """Returns the task whose merge removed or changed a line of an earlier commit, or "" if no task did."""
        if not commit:
            return ""
        old = self.repository.tree_of(commit)
        for merge in self.merges:
            if not self.repository.is_ancestor(merge["commit"], self.head):
                continue
            before, after = (self.repository.tree_of(merge[side]) for side in ("parent", "commit"))
            if self._has(old, before, place) and not self._has(old, after, place):
                return merge["task"]
        return ""

    def _has(self, old: str, tree: str, place: Place) -> bool:
        return map_lines(self.repository, old, tree, [place])[place] is not None

    def _look_up(self) -> None:
        """Finds the commits of workers that came with each merge, as with `history: full`."""
        self.looked_up = True
        own_commits = set(self.repository.only_commits(merge["commit"] for merge in self.merges))
        for merge in self.merges:
            if merge["commit"] in own_commits and len(self.repository.parents(merge["commit"])) > 1:
                commits = self.repository.git("rev-list", MAX_COMMITS, merge["commit"], f"^{merge['parent']}")
                for commit in commits.split():
                    self.by_commit.setdefault(commit, merge["task"])
