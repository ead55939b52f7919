"""Removes what runs left, if it is old and contained elsewhere. A person starts it."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field

from sow.gitwork.repository import Repository
from sow.gitwork.salvage import (
    BRANCH,
    HEADS,
    INTEGRATIONS,
    JUDGE,
    PIN,
    TASKS,
    KeptItem,
    kept_refs,
    merged_requests,
    merged_works,
    parse_ref,
    works_by_merge,
)
from sow.gitwork.slots import remove_free
from sow.gitwork.worktree import KEEP, Worktree
from sow.gitwork.worktrees import Worktrees
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder, remove_tree_quietly
from sow.store.planning import PREFIX
from sow.system import clock
from sow.system.process import process_tree

UNKNOWN_RUN = "unknown"  # for a worktree on none of sow's branches: only its pins would have this name


@dataclass(frozen=True)
class PruneResult:
    """The result of a pruning: removed names, and kept names with the reason."""

    removed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def prune(
    home: Home, older_than: float, *, ended: Collection[str], unmerged: bool = False, dry_run: bool = False
) -> PruneResult:
    """Removes what is older than `older_than` seconds and contained in a branch or tag of the user.

    Worktrees and branches of ended tasks are removed too if their work is kept. What is contained nowhere else is
    removed only with `unmerged`. A dry run removes nothing and reports what would be removed.
    """
    repository = Repository(home)
    with repository.locked():
        pruning = _Pruning(repository, ended, clock.epoch() - older_than, unmerged, dry_run)
        pruning.task_worktrees()
        pruning.pins()
        pruning.branches()
        pruning.planner_worktrees()
        pruning.slots()
    return pruning.result


def remove_leftovers(home: Home, ended: Collection[str]) -> PruneResult:
    """Removes the worktrees of ended tasks that a killed run left, if they are clean and their work is pinned."""
    repository = Repository(home)
    with repository.locked():
        pruning = _Pruning(repository, ended)
        pruning.task_worktrees()
    return pruning.result


def leftover_worktrees(home: Home, ended: Collection[str]) -> list[str]:
    """Lists the existing worktrees of ended tasks and of their judges."""
    return [name for name in list_folder(f"{home.sow}/local/worktrees") if name.removesuffix(JUDGE) in ended]


@dataclass(frozen=True)
class _Pruning:
    """One pruning: worktrees first, then pins, then the branches that are safe without them."""

    repository: Repository
    ended: Collection[str]
    limit: float = 0
    unmerged: bool = False
    dry_run: bool = False
    result: PruneResult = field(default_factory=PruneResult)

    def planner_worktrees(self) -> None:
        """Removes the worktrees of killed planners."""
        folder = f"{self.repository.home.sow}/local/worktrees"
        for name in list_folder(folder):
            if not name.startswith(PREFIX):
                continue
            for pid, process in process_tree.processes_in_folder(f"{folder}/{name}").items():
                self.result.kept[name] = f"process {pid} ({process}) works there"
            if name not in self.result.kept:
                if not self.dry_run:
                    self.repository.run_git(["worktree", "remove", "--force", "--force", "--", f"{folder}/{name}"])
                    remove_tree_quietly(f"{folder}/{name}")
                self.result.removed.append(name)

    def slots(self) -> None:
        """Removes the slots, unless a process uses them."""
        removed, busy = remove_free(self.repository, dry_run=self.dry_run)
        self.result.removed.extend(removed)
        self.result.kept.update(dict.fromkeys(busy, "a check runs there"))

    def task_worktrees(self) -> None:
        """Removes the worktrees of ended tasks and of their judges."""
        for name in leftover_worktrees(self.repository.home, self.ended):
            task = name.removesuffix(JUDGE)
            run = parse_ref(Worktree(self.repository, task).branch())[0] or UNKNOWN_RUN
            worktrees = Worktrees(self.repository, run)
            if name.endswith(JUDGE) and not self.dry_run:
                worktrees.remove_judge_checkout(task)
            refused = worktrees.remove(task, dry_run=self.dry_run) if name == task else None
            if refused:
                self.result.kept[name] = refused.reason
            else:
                self.result.removed.append(name)

    def pins(self) -> None:
        """Removes the pins that are old and not needed any more."""
        pins = [pin for pin in kept_refs(self.repository) if pin.kind == PIN]
        not_contained = self.repository.not_contained_in({pin.commit for pin in pins}, self._user_commits())
        for pin in pins:
            self._drop(pin, self._reason_too_new(pin) or self._reason_not_contained(pin, not_contained))

    def branches(self) -> None:
        """Removes the branches of ended tasks and of merged runs, if their commits stay reachable."""
        pins = self.repository.refs(KEEP)
        branches = [branch for branch in kept_refs(self.repository) if branch.kind == BRANCH]
        commits = {branch.commit for branch in branches}
        not_merged, not_kept = (
            self.repository.not_contained_in(commits, [*self._user_commits(), *extra]) for extra in ((), pins)
        )
        for branch in branches:
            if branch.task:
                open_task = "" if branch.task in self.ended else f"task {branch.task} has not ended"
                reason = open_task or self._reason_not_contained(branch, not_kept)
            else:
                reason = self._reason_not_contained(branch, not_merged)
            self._drop(branch, self._reason_too_new(branch) or reason or self._checked_out(branch))

    def _user_commits(self) -> list[str]:
        """Returns the user's own refs, and the commits of workers that are merged there."""
        refs = self.repository.refs(HEADS, "refs/tags/", "refs/remotes/")
        user_refs = [ref for ref in refs if not ref.startswith((TASKS, INTEGRATIONS))]
        user_refs += merged_requests(self.repository)
        return [*user_refs, *merged_works(self.repository, works_by_merge(self.repository), user_refs)]

    def _reason_too_new(self, ref: KeptItem) -> str:
        return "not old enough" if ref.date > self.limit else ""

    def _reason_not_contained(self, ref: KeptItem, not_contained: set[str]) -> str:
        return "contained nowhere else" if ref.commit in not_contained and not self.unmerged else ""

    def _checked_out(self, ref: KeptItem) -> str:
        checkout = self.repository.git("for-each-ref", "--format=%(worktreepath)", ref.ref).strip()
        is_removed = self.dry_run and os.path.basename(checkout) in self.result.removed
        return f"checked out in {checkout}" if checkout and not is_removed else ""

    def _drop(self, ref: KeptItem, reason: str) -> None:
        if reason:
            self.result.kept[ref.short] = reason
        else:
            if not self.dry_run:
                self.repository.drop_ref(ref.ref, ref.commit)
            self.result.removed.append(ref.short)
