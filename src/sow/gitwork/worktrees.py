"""Manages the worktrees of a run: one per task at a fixed path, and one per judge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sow.domain.inputs import is_task_id
from sow.domain.text.agent_files import is_agent_file
from sow.errors import SowError
from sow.gitwork import slots
from sow.gitwork.collect import CollectedWork, Collection, collect
from sow.gitwork.private_git import PrivateGit
from sow.gitwork.repository import DeliveryRefused, Repository
from sow.gitwork.worktree import KEEP, SETUP_MARK, KeptCommits, Worktree, commits_in, ensure_linked, make_readable
from sow.store.files.disk import remove_tree_quietly
from sow.system import git
from sow.system.process import process_tree

RESTART_MARK = "sow-again"  # exists while a worktree is made again
JUDGED_COMMIT = "sow-shown"  # the commit that a judge was shown, which is nobody's work
FOUND = "found"  # the name of pins for what was in a worktree before this run took it over


class Worktrees:
    """All worktrees of one run. Every commit of a worker stays reachable."""

    def __init__(self, repository: Repository, run: str, names: Mapping[str, str] | None = None) -> None:
        self.repository = repository
        self.run = check_run_id(run)
        self.names = names or {}  # of worktrees that are not named for their task

    def path(self, task: str) -> str:
        """Returns the folder of a task's worktree, whether it exists or not."""
        return f"{self.repository.home.sow}/local/worktrees/{self._name(task)}"

    def _name(self, task: str) -> str:
        return _check_task_id(self.names.get(task, task))

    def branch(self, task: str) -> str:
        """Returns the branch of a task in this run."""
        return f"sow/task/{self.run}/{_check_task_id(task)}"

    def has_branch(self, task: str) -> bool:
        """Returns whether this run has started the task."""
        return bool(self.repository.find_commit(self._ref(task)))

    def _ref(self, task: str) -> str:
        return f"refs/heads/{self.branch(task)}"

    def _pins(self, task: str) -> KeptCommits:
        return KeptCommits(self.repository, self.run, _check_task_id(task))

    def _worktree(self, task: str) -> Worktree:
        """Returns a task's worktree, with the commits that a killed sow left in the sandbox of its worker."""
        worktree = Worktree(self.repository, self._name(task))
        PrivateGit(worktree).take_over()
        return worktree

    def prepare(self, task: str, base: str, *, fresh: bool = False) -> str:
        """Makes the worktree of a task at the base, or takes the existing one over, and returns its folder.

        With `fresh`, existing work is pinned and the worktree starts from the base again, unless it is there already.
        """
        with self.repository.locked():
            base = self.repository.commit_of(base)
            worktree = self._worktree(task)
            if fresh and not worktree.git_dir and not os.path.lexists(worktree.path):
                self._move_branch(task, base)
            self._ensure_linked(worktree, task, base)
            if worktree.is_ready and self._needs_restart(worktree, task, base, fresh=fresh):
                self._restart(worktree, task, base)
            elif not worktree.is_ready:
                self._point_head_to_branch(worktree, task, base)
                worktree.checkout_files(worktree.head())
            elif not git.unfinished_operations(worktree.git_dir):
                self._take_over(worktree, task, base)
        return worktree.path

    def _move_branch(self, task: str, base: str) -> None:
        """Moves the branch of a task without a worktree back to the base. Its commits are pinned."""
        ref = self._ref(task)
        old = self.repository.find_commit(ref)
        if old and old != base:
            self._pins(task).keep_unreachable(FOUND, [old], excluding=[base])
            self.repository.set_ref(ref, base, old, why="started again")

    def _ensure_linked(self, worktree: Worktree, task: str, base: str) -> list[str]:
        """Links folder and record. If the worktree is new, its branch is made first."""
        ref = self._ref(task)
        if not worktree.git_dir and not self.repository.find_commit(ref):
            self.repository.set_ref(ref, base, "", why="started")
        return ensure_linked(worktree, ref, base)

    def _point_head_to_branch(self, worktree: Worktree, task: str, base: str) -> None:
        """Points HEAD of a worktree in which nobody has worked yet to the task's branch."""
        ref = self._ref(task)
        if not self.repository.find_commit(ref):
            self.repository.set_ref(ref, worktree.head() or base, "", why="started")
        if worktree.branch() != ref:
            self._pins(task).keep_unreachable(FOUND, commits_in(worktree, ref), excluding=[base])
            worktree.git("symbolic-ref", "-m", "sow: prepared", "HEAD", ref)

    def _take_over(self, worktree: Worktree, task: str, base: str) -> None:
        """Moves the task's branch to the worktree's commit if HEAD is on another branch, a lost one or none."""
        ref, head = self._ref(task), worktree.head()
        if head and worktree.branch() == ref:
            return
        work = self._pin_and_abort(worktree, task, base)
        self.repository.set_ref(ref, work.head, why="taken over")
        worktree.git("symbolic-ref", "-m", "sow: taken over", "HEAD", ref)

    def pin(self, task: str, base: str) -> None:
        """Pins the commits in a worktree that is not collected now, because it may never be used again."""
        with self.repository.locked():
            worktree = self._worktree(task)
            if worktree.is_ready:
                self._collection(worktree, task, base).pin()

    def _collection(self, worktree: Worktree, task: str, base: str) -> Collection:
        return Collection(worktree, self._pins(task), name=FOUND, branch=self._ref(task), base=base)

    def _pin_and_abort(self, worktree: Worktree, task: str, base: str) -> Collection:
        """Pins every commit made in a worktree, and end unfinished git operations there."""
        work = self._collection(worktree, task, base)
        work.pin_and_abort()
        return work

    def _needs_restart(self, worktree: Worktree, task: str, base: str, *, fresh: bool) -> bool:
        """Tells whether to make a worktree again: a restart was interrupted, or it has work and is to be `fresh`."""
        if os.path.exists(f"{worktree.git_dir}/{RESTART_MARK}"):
            return True
        at_base = (
            worktree.head() == base
            and worktree.branch() == self._ref(task)
            and not git.unfinished_operations(worktree.git_dir)
        )
        return fresh and not (at_base and not worktree.dirty_paths(slots.setup_paths(worktree)))

    def _restart(self, worktree: Worktree, task: str, base: str) -> None:
        """Pins the worktree's content and resets it to the base. If it is interrupted, the next call completes it."""
        mark, ref = f"{worktree.git_dir}/{RESTART_MARK}", self._ref(task)
        if not os.path.exists(mark):
            self._pin_and_abort(worktree, task, base).snapshot()
            git.write_file(mark, base)
        self.repository.set_ref(ref, base, why="started again")
        worktree.git("symbolic-ref", "-m", "sow: started again", "HEAD", ref)
        worktree.checkout_files(base)
        worktree.clean(spare=slots.setup_paths(worktree))
        git.remove_file(f"{worktree.git_dir}/{SETUP_MARK}")
        git.remove_file(mark)

    def snapshot(self, task: str, base: str, *, at_work: bool = False) -> tuple[str, str]:
        """Returns the commit of a worktree, and a commit with its files as they are; all its commits are pinned.

        If a worker is `at_work` there, no unfinished git operation is ended.
        """
        with self.repository.locked():
            if at_work:
                work = self._collection(Worktree(self.repository, self._name(task)), task, base)
                work.pin()
            else:
                worktree = self._worktree(task)
                self._ensure_linked(worktree, task, base)
                work = self._pin_and_abort(worktree, task, base)
            tree = work.tree()
            if tree == self.repository.tree_of(work.head):
                return work.head, work.head
            return work.head, self.repository.commit_tree(tree, [work.head], "The files of a worktree")

    def receive(self, task: str, head: str, files: str) -> None:
        """Makes a prepared worktree equal to one on another machine: its commit, and the tree of its files.

        What was here before is pinned. Ignored files stay.
        """
        with self.repository.locked():
            worktree, ref = self._worktree(task), self._ref(task)
            work = self._pin_and_abort(worktree, task, head)
            if work.head == head and worktree.branch() == ref and work.tree() == self.repository.tree_of(files):
                return
            work.snapshot()
            self.repository.set_ref(ref, head, why="received")
            worktree.git("symbolic-ref", "-m", "sow: received", "HEAD", ref)
            worktree.checkout_files(files)
            worktree.clean(spare=slots.setup_paths(worktree), options="-fd")

    def pinned(self, task: str) -> list[str]:
        """Returns the commits that are pinned for a task."""
        return list(dict.fromkeys(self._pins(task).all().values()))

    def pin_received(self, task: str, commits: Iterable[str], taken: Iterable[str]) -> None:
        """Pins the other commits that a worker made on another machine."""
        with self.repository.locked():
            self._pins(task).keep_unreachable(FOUND, commits, excluding=taken)

    def install_setup_files(self, task: str, settings: Mapping[str, Any]) -> list[list[str]]:
        """Links and copy ignored files into a worktree. Returns the set-up commands that must still run there."""
        with self.repository.locked():
            return slots.install_setup_files(Worktree(self.repository, self._name(task)), settings)

    def record_setup(self, task: str, settings: Mapping[str, Any]) -> None:
        """Records that the set-up commands have run."""
        with self.repository.locked():
            slots.record_setup(Worktree(self.repository, self._name(task)), settings)

    def collect(self, task: str, iteration: int, message: str, base: str) -> CollectedWork:
        """Collects a worker's changes into one commit on the task's branch, and pins every commit that it made."""
        with self.repository.locked():
            base = self.repository.commit_of(base)
            worktree = self._worktree(task)
            remarks = self._ensure_linked(worktree, task, base)
            if not worktree.is_ready:
                worktree.checkout_files(worktree.head() or self.repository.find_commit(self._ref(task)) or base)
            collected = collect(
                worktree, self._pins(task), name=str(iteration), branch=self._ref(task), base=base, message=message
            )
            collected.remarks[:0] = remarks
        return collected

    def drop_branches(self) -> None:
        """Removes the branches of a finished run. Their commits are pinned first, and worktrees keep their HEAD."""
        with self.repository.locked():
            integration_ref = f"refs/heads/sow/int/{self.run}"
            for ref, commit in self.repository.refs(f"refs/heads/sow/task/{self.run}/", integration_ref).items():
                if not self._is_user_checkout(ref):
                    task = "" if ref == integration_ref else ref.rpartition("/")[2]
                    self._drop_branch(ref, commit, task)

    def _is_user_checkout(self, ref: str) -> bool:
        """Returns whether one of sow's branches is checked out in a worktree of the user."""
        checkout = self.repository.git("for-each-ref", "--format=%(worktreepath)", ref).strip()
        return bool(checkout) and not checkout.startswith(f"{self.repository.home.sow}/local/worktrees/")

    def _drop_branch(self, ref: str, commit: str, task: str) -> None:
        pins = KeptCommits(self.repository, self.run, task or "integration")
        if task and is_task_id(task):
            worktree = Worktree(self.repository, self._name(task))
            if worktree.is_ready and worktree.branch() == ref:
                pins.keep_unreachable(FOUND, commits_in(worktree, ref), excluding=[])
                worktree.git("update-ref", "--no-deref", "-m", "sow: the run is over", "HEAD", commit)
        pins.keep_unreachable(FOUND, [commit], excluding=[])
        self.repository.drop_ref(ref, commit)

    def make_judge_checkout(self, task: str, commit: str, base: str) -> str:
        """Makes a new checkout of a commit for a judge, with the agent files of the base."""
        with self.repository.locked():
            self.remove_judge_checkout(task)
            commit, base = self.repository.commit_of(commit), self.repository.commit_of(base)
            worktree = Worktree(self.repository, _judge_name(task))
            shown_commit = self._with_agent_files(commit, base)
            ensure_linked(worktree, "", shown_commit)
            git.write_file(f"{worktree.git_dir}/{JUDGED_COMMIT}", shown_commit)
            worktree.checkout_files(shown_commit)
        return worktree.path

    def _with_agent_files(self, commit: str, base: str) -> str:
        """Returns the commit, or a new one on top of it that has the agent files of the base."""
        index = self.repository.temp_file("judge")
        self.repository.git("read-tree", commit, index=index)
        agent_files = [entry for entry in self.repository.tree_entries(base) if is_agent_file(entry.partition("\t")[2])]
        if not self.repository.set_index_entries(agent_files, index=index, where=is_agent_file):
            return commit
        tree_id = self.repository.git("write-tree", index=index).strip()
        return self.repository.commit_tree(tree_id, [commit], "For review, with the agent files of the base")

    def remove_judge_checkout(self, task: str) -> None:
        """Removes the checkout of a task's judge. Commits made there are pinned."""
        with self.repository.locked():
            worktree = Worktree(self.repository, _judge_name(task))
            if not worktree.git_dir and not os.path.lexists(worktree.path):
                return
            ensure_linked(worktree, "", self.repository.commit_of("HEAD"))
            shown_commits = self.repository.only_commits(
                [git.first_line(f"{worktree.git_dir}/{JUDGED_COMMIT}") or "none"]
            )
            excluding = [*shown_commits, *self.repository.refs("refs/heads/", KEEP).values()]
            self._pins(task).keep_unreachable("review", commits_in(worktree, self._ref(task)), excluding=excluding)
            make_readable(worktree.path)
            self.repository.git("worktree", "remove", "--force", "--force", "--", worktree.path)

    def remove(self, task: str, *, dry_run: bool = False) -> DeliveryRefused | None:
        """Removes a worktree if its work is pinned, it is clean and no process uses it. Otherwise return the reason."""
        with self.repository.locked():
            worktree = Worktree(self.repository, self._name(task))
            if not worktree.git_dir:
                return _unknown_folder(worktree) if os.path.lexists(worktree.path) else None
            if not process_tree.processes_in_folder(worktree.path):
                PrivateGit(worktree).take_over()
            refused = self._reason_to_keep(worktree, task)
            if refused or dry_run:
                return refused
            if os.path.isdir(worktree.path):
                slots.remove_setup_files(worktree)
            # Without --force, git checks for changes with the current filters. We have checked with ours.
            done = self.repository.run_git(["worktree", "remove", "--force", "--", worktree.path])
            if done.code:
                return DeliveryRefused(
                    f"git does not remove worktree {task}: {done.message}", "see 'git worktree list'"
                )
            remove_tree_quietly(os.path.dirname(PrivateGit(worktree).folder))
        return None

    def _reason_to_keep(self, worktree: Worktree, task: str) -> DeliveryRefused | None:
        refs = self.repository.refs(KEEP, "refs/heads/", "refs/tags/", "refs/remotes/")
        excluding = [commit for name, commit in refs.items() if not name.startswith("refs/heads/sow/task/")]
        unpinned = self.repository.tips_not_in(commits_in(worktree, self._ref(task)), excluding=excluding)
        if unpinned:
            return DeliveryRefused(
                f"commit {unpinned[0][:12]} of task {task} is not pinned", "collect the task's work first"
            )
        if not os.path.isdir(worktree.path):
            return None
        for pid, name in process_tree.processes_in_folder(worktree.path).items():
            return DeliveryRefused(f"process {pid} ({name}) works in {worktree.path}", "end it, and try again")
        if os.path.exists(f"{worktree.git_dir}/locked"):
            return DeliveryRefused(f"worktree {task} is locked", f"git worktree unlock {worktree.path}")
        dirty = worktree.dirty_paths(slots.setup_paths(worktree))
        if dirty:
            return DeliveryRefused(
                f"worktree {task} has work that is not committed: {dirty[0]}", f"look at {worktree.path}"
            )
        repositories = (
            ["submodules"] if os.path.isdir(f"{worktree.git_dir}/modules") else worktree.nested_repositories()
        )
        if repositories:
            return DeliveryRefused(
                f"worktree {task} has a repository of its own: {repositories[0]}", f"look at {worktree.path}"
            )
        return None


@contextmanager
def reading_checkout(repository: Repository, name: str, commit: str) -> Iterator[str]:
    """Gives an agent that only reads a checkout of a commit. It is removed afterwards, with all changes in it."""
    with repository.locked():
        _remove_reading_checkout(repository, name)  # of a process that was killed
        worktree = Worktree(repository, name)
        ensure_linked(worktree, "", commit)
        worktree.checkout_files(commit)
    try:
        yield worktree.path
    finally:
        with repository.locked():
            _remove_reading_checkout(repository, name)


def _remove_reading_checkout(repository: Repository, name: str) -> None:
    worktree = Worktree(repository, name)
    if os.path.isdir(worktree.path):
        make_readable(worktree.path)
    if worktree.git_dir:
        repository.run_git(["worktree", "remove", "--force", "--force", "--", worktree.path])
    remove_tree_quietly(worktree.path)


def check_run_id(run: str) -> str:
    """Checks the id of a run, which becomes part of branch and folder names."""
    if not run or len(run) > 64 or not all(part.isascii() and part.isalnum() for part in run.split("-")):
        raise SowError(f"{run!r} is not the id of a run", "see 'sow runs list'")
    return run


def _check_task_id(task: str) -> str:
    if not is_task_id(task):
        raise SowError(f"{task!r} is not a task id", "see 'sow task list'")
    return task


def _judge_name(task: str) -> str:
    return f"{_check_task_id(task)}-review"


def _unknown_folder(worktree: Worktree) -> DeliveryRefused:
    return DeliveryRefused(f"{worktree.path} is no worktree that git knows", "look at it, and move it away")
