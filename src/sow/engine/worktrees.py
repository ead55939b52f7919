"""Manages the worktrees of a run: one per task at a fixed path, and one per judge."""

from __future__ import annotations

import os

from sow.domain.agent_files import is_agent_file
from sow.domain.ids import is_task_id
from sow.engine import differences, furnishing
from sow.engine.collecting import Collected, Collecting, collect
from sow.engine.home_look import HomeLook
from sow.engine.permissions import loosen
from sow.engine.pins import KEEP, Pins, commits_in
from sow.engine.place import SET_UP, Place
from sow.engine.refusal import Refused
from sow.engine.repository import Repository
from sow.engine.standing import stand
from sow.errors import SowError
from sow.system import linked, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.store.home import Home

AGAIN = "sow-again"  # exists while a worktree is made again
SHOWN = "sow-shown"  # the commit that a judge was shown, which is nobody's work
FOUND = "found"  # the name of pins for what was in a worktree before this run took it over


class Worktrees:
    """All worktrees of one run. Every commit of a worker stays reachable."""

    __slots__ = ("repository", "run")

    def __init__(self, home: Home, run: str, *, repository: Repository | None = None) -> None:
        self.run = run_name(run)
        self.repository = repository or Repository(home)

    def path(self, task: str) -> str:
        """Return the folder of a task's worktree, whether it exists or not."""
        return f"{self.repository.home.sow}/local/worktrees/{_name(task)}"

    def branch(self, task: str) -> str:
        """Return the branch of a task in this run."""
        return f"sow/task/{self.run}/{_name(task)}"

    def has_branch(self, task: str) -> bool:
        """Whether this run has started the task."""
        return bool(self.repository.find(self._ref(task)))

    def _ref(self, task: str) -> str:
        return f"refs/heads/{self.branch(task)}"

    def _pins(self, task: str) -> Pins:
        return Pins(self.repository, self.run, _name(task))

    def prepare(self, task: str, base: str, *, fresh: bool = False) -> str:
        """Make the worktree of a task at the base, or take the existing one over, and return its folder.

        With `fresh`, existing work is pinned and the worktree starts from the base again, unless it is there already.
        """
        with self.repository.held():
            base = self.repository.commit_of(base)
            worktree = Place(self.repository, _name(task))
            if fresh and not worktree.record and not os.path.lexists(worktree.path):
                self._move_branch(task, base)
            self._stand(worktree, task, base)
            if worktree.is_ready and self._starts_again(worktree, task, base, fresh=fresh):
                self._start_again(worktree, task, base)
            elif not worktree.is_ready:
                self._give_branch(worktree, task, base)
                worktree.fill(worktree.head())
            elif not linked.under_way(worktree.record):
                self._take(worktree, task, base)
        return worktree.path

    def _move_branch(self, task: str, base: str) -> None:
        """Move the branch of a task without a worktree back to the base. Its commits are pinned."""
        ref = self._ref(task)
        old = self.repository.find(ref)
        if old and old != base:
            self._pins(task).pin_found(FOUND, [old], excluding=[base])
            self.repository.set_ref(ref, base, old, why="started again")

    def _stand(self, worktree: Place, task: str, base: str) -> list[str]:
        """Link folder and record. If the worktree is new, make its branch first."""
        ref = self._ref(task)
        if not worktree.record and not self.repository.find(ref):
            self.repository.set_ref(ref, base, "", why="started")
        return stand(worktree, ref, base)

    def _give_branch(self, worktree: Place, task: str, base: str) -> None:
        """Point HEAD of a worktree in which nobody has worked yet to the task's branch."""
        ref = self._ref(task)
        if not self.repository.find(ref):
            self.repository.set_ref(ref, worktree.head() or base, "", why="started")
        if worktree.branch() != ref:
            self._pins(task).pin_found(FOUND, commits_in(worktree, ref), excluding=[base])
            worktree.git("symbolic-ref", "-m", "sow: prepared", "HEAD", ref)

    def _take(self, worktree: Place, task: str, base: str) -> None:
        """Move the task's branch to the worktree's commit if HEAD is on another branch, a lost one or none."""
        ref, head = self._ref(task), worktree.head()
        if head and worktree.branch() == ref:
            return
        work = self._secured(worktree, task, base)
        self.repository.set_ref(ref, work.head, why="taken over")
        worktree.git("symbolic-ref", "-m", "sow: taken over", "HEAD", ref)

    def pin(self, task: str, base: str) -> None:
        """Pin the commits in a worktree that is not collected now, because it may never be used again."""
        with self.repository.held():
            worktree = Place(self.repository, _name(task))
            if worktree.is_ready:
                self._found(worktree, task, base).pin()

    def _found(self, worktree: Place, task: str, base: str) -> Collecting:
        return Collecting(worktree, self._pins(task), name=FOUND, branch=self._ref(task), base=base)

    def _secured(self, worktree: Place, task: str, base: str) -> Collecting:
        """Pin every commit made in a worktree, and end unfinished git operations there."""
        work = self._found(worktree, task, base)
        work.secure()
        return work

    def _starts_again(self, worktree: Place, task: str, base: str, *, fresh: bool) -> bool:
        """Whether to make a worktree again: a restart was interrupted, or `fresh` is set and the worktree has work."""
        if os.path.exists(f"{worktree.record}/{AGAIN}"):
            return True
        at_base = (
            worktree.head() == base and worktree.branch() == self._ref(task) and not linked.under_way(worktree.record)
        )
        return fresh and not (at_base and not worktree.dirt(furnishing.furniture(worktree)))

    def _start_again(self, worktree: Place, task: str, base: str) -> None:
        """Pin the worktree's content and reset it to the base. If it is interrupted, the next call completes it."""
        mark, ref = f"{worktree.record}/{AGAIN}", self._ref(task)
        if not os.path.exists(mark):
            self._secured(worktree, task, base).snapshot()
            linked.write(mark, base)
        self.repository.set_ref(ref, base, why="started again")
        worktree.git("symbolic-ref", "-m", "sow: started again", "HEAD", ref)
        worktree.fill(base)
        worktree.clean(spare=furnishing.furniture(worktree), ignored=True)
        linked.remove(f"{worktree.record}/{SET_UP}")
        linked.remove(mark)

    def furnish(self, task: str, settings: Mapping[str, Any]) -> list[list[str]]:
        """Link and copy ignored files into a worktree. Returns the set-up commands that must still run there."""
        with self.repository.held():
            return furnishing.furnish(Place(self.repository, _name(task)), settings)

    def furnished(self, task: str, settings: Mapping[str, Any]) -> None:
        """Record that the set-up commands have run."""
        with self.repository.held():
            furnishing.furnished(Place(self.repository, _name(task)), settings)

    def collect(self, task: str, iteration: int, message: str, base: str) -> Collected:
        """Collect a worker's changes into one commit on the task's branch, and pin every commit that it made."""
        with self.repository.held():
            base = self.repository.commit_of(base)
            worktree = Place(self.repository, _name(task))
            remarks = self._stand(worktree, task, base)
            if not worktree.is_ready:
                worktree.fill(worktree.head() or self.repository.find(self._ref(task)) or base)
            collected = collect(
                worktree, self._pins(task), name=str(iteration), branch=self._ref(task), base=base, message=message
            )
            collected.remarks[:0] = remarks
        return collected

    def drop_branches(self) -> None:
        """Remove the branches of a finished run. Their commits are pinned first, and worktrees keep their HEAD."""
        with self.repository.held():
            integration_ref = f"refs/heads/sow/int/{self.run}"
            for ref, commit in self.repository.refs(f"refs/heads/sow/task/{self.run}/", integration_ref).items():
                if not self._is_user_checkout(ref):
                    task = "" if ref == integration_ref else ref.rpartition("/")[2]
                    self._let_go(ref, commit, task)

    def _is_user_checkout(self, ref: str) -> bool:
        """Whether one of sow's branches is checked out in a worktree of the user."""
        checkout = self.repository.git("for-each-ref", "--format=%(worktreepath)", ref).strip()
        return bool(checkout) and not checkout.startswith(f"{self.repository.home.sow}/local/worktrees/")

    def _let_go(self, ref: str, commit: str, task: str) -> None:
        pins = Pins(self.repository, self.run, task or "integration")
        if task and is_task_id(task):
            worktree = Place(self.repository, task)
            if worktree.is_ready and worktree.branch() == ref:
                pins.pin_found(FOUND, commits_in(worktree, ref), excluding=[])
                worktree.git("update-ref", "--no-deref", "-m", "sow: the run is over", "HEAD", commit)
        pins.pin_found(FOUND, [commit], excluding=[])
        self.repository.drop_ref(ref, commit)

    def look_home(self) -> HomeLook:
        """Take a snapshot of the user's checkout. `look.changes_since(earlier)` lists the differences."""
        return HomeLook(self.repository)

    def diff(self, base: str, commit: str, limit: int) -> str:
        """Return the difference between two commits as a patch of at most `limit` bytes."""
        return differences.diff(self.repository, base, commit, limit)

    def changed_paths(self, base: str, commit: str) -> list[str]:
        """Return every path that differs between two commits."""
        return differences.changed_paths(self.repository, base, commit)

    def judge(self, task: str, commit: str, base: str) -> str:
        """Make a new checkout of a commit for a judge, with the agent files of the base."""
        with self.repository.held():
            self.remove_judge(task)
            commit, base = self.repository.commit_of(commit), self.repository.commit_of(base)
            worktree = Place(self.repository, _judge(task))
            shown_commit = self._with_agent_files(commit, base)
            stand(worktree, "", shown_commit)
            linked.write(f"{worktree.record}/{SHOWN}", shown_commit)
            worktree.fill(shown_commit)
        return worktree.path

    def _with_agent_files(self, commit: str, base: str) -> str:
        """Return the commit, or a new one on top of it that has the agent files of the base."""
        index = self.repository.scratch("judge")
        self.repository.git("read-tree", commit, index=index)
        agent_files = [entry for entry in self.repository.entries(base) if is_agent_file(entry.partition("\t")[2])]
        if not self.repository.put_entries(agent_files, index=index, where=is_agent_file):
            return commit
        tree_id = self.repository.git("write-tree", index=index).strip()
        return self.repository.commit_tree(tree_id, [commit], "For review, with the agent files of the base")

    def remove_judge(self, task: str) -> None:
        """Remove the checkout of a task's judge. Commits made there are pinned."""
        with self.repository.held():
            worktree = Place(self.repository, _judge(task))
            if not worktree.record and not os.path.lexists(worktree.path):
                return
            stand(worktree, "", self.repository.commit_of("HEAD"))
            shown_commits = self.repository.only_commits([linked.line(f"{worktree.record}/{SHOWN}") or "none"])
            excluding = [*shown_commits, *self.repository.refs("refs/heads/", KEEP).values()]
            self._pins(task).pin_found("review", commits_in(worktree, self._ref(task)), excluding=excluding)
            loosen(worktree.path)
            self.repository.git("worktree", "remove", "--force", "--force", "--", worktree.path)

    def remove(
        self, task: str, *, busy: Callable[[str], Mapping[int, str]] = tree.working_in, dry_run: bool = False
    ) -> Refused | None:
        """Remove a worktree if its work is pinned, it is clean and no process uses it. Otherwise return the reason."""
        with self.repository.held():
            worktree = Place(self.repository, _name(task))
            if not worktree.record:
                return _unknown(worktree) if os.path.lexists(worktree.path) else None
            refused = self._reason_to_keep(worktree, task, busy)
            if refused or dry_run:
                return refused
            if os.path.isdir(worktree.path):
                furnishing.clear(worktree)
            # Without --force, git checks for changes with the current filters. We have checked with ours.
            done = self.repository.attempt(["worktree", "remove", "--force", "--", worktree.path])
            if done.code:
                return Refused(f"git does not remove worktree {task}: {done.words}", "see 'git worktree list'")
        return None

    def _reason_to_keep(self, worktree: Place, task: str, busy: Callable[[str], Mapping[int, str]]) -> Refused | None:
        refs = self.repository.refs(KEEP, "refs/heads/", "refs/tags/", "refs/remotes/")
        excluding = [commit for name, commit in refs.items() if not name.startswith("refs/heads/sow/task/")]
        unpinned = self.repository.heads_of(commits_in(worktree, self._ref(task)), excluding=excluding)
        if unpinned:
            return Refused(f"commit {unpinned[0][:12]} of task {task} is not pinned", "collect the task's work first")
        if not os.path.isdir(worktree.path):
            return None
        for pid, name in busy(worktree.path).items():
            return Refused(f"process {pid} ({name}) works in {worktree.path}", "end it, and try again")
        if os.path.exists(f"{worktree.record}/locked"):
            return Refused(f"worktree {task} is locked", f"git worktree unlock {worktree.path}")
        dirty = worktree.dirt(furnishing.furniture(worktree))
        if dirty:
            return Refused(f"worktree {task} has work that is not committed: {dirty[0]}", f"look at {worktree.path}")
        repositories = ["submodules"] if os.path.isdir(f"{worktree.record}/modules") else worktree.repositories()
        if repositories:
            return Refused(
                f"worktree {task} has a repository of its own: {repositories[0]}", f"look at {worktree.path}"
            )
        return None


def run_name(run: str) -> str:
    """Check the id of a run, which becomes part of branch and folder names."""
    if not run or len(run) > 64 or not all(part.isascii() and part.isalnum() for part in run.split("-")):
        raise SowError(f"{run!r} is not the id of a run", "see 'sow runs list'")
    return run


def _name(task: str) -> str:
    if not is_task_id(task):
        raise SowError(f"{task!r} is not a task id", "see 'sow task list'")
    return task


def _judge(task: str) -> str:
    return f"{_name(task)}-review"


def _unknown(worktree: Place) -> Refused:
    return Refused(f"{worktree.path} is no worktree that git knows", "look at it, and move it away")
