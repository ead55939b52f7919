"""R14: parallel worktrees do not disturb each other."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import FULL
from support.worktree_repo import WorktreeRepo, home_at

from guarantees.fresh_process import ended, fork, in_fresh_process, shard
from sow.gitwork.repository import Repository
from sow.gitwork.worktrees import Worktrees

WORKERS, ROUNDS, TIMES = (16, 40, max(5 // shard()[1], 1)) if FULL else (8, 3, 1)


def come_and_go(root: str, worker: int, rounds: int) -> None:
    """Makes, uses and removes worktrees, as a run does that shares the repository with others."""
    worktrees = Worktrees(Repository(home_at(root)), f"run{worker}")
    for number in range(rounds):
        task = str(1000 + worker * 100 + number)
        where = Path(worktrees.prepare(task, "HEAD"))
        (where / "work.txt").write_text(task)
        collected = worktrees.collect(task, 1, f"Work on {task}", "HEAD")
        assert collected.paths == ["work.txt"], collected.paths
        assert collected.remarks == [], collected.remarks
        refused = worktrees.remove(task)
        assert refused is None, refused and refused.reason
        assert not where.exists()


def all_at_once(root: str, workers: str, rounds: str) -> list[int]:
    """Returns how each of many parallel processes ended."""
    children = [fork(lambda worker=number: come_and_go(root, worker, int(rounds))) for number in range(int(workers))]
    return [ended(child) for child in children]


def test_parallel_worktrees_do_not_disturb_each_other(worktree_repo: WorktreeRepo) -> None:
    """Many processes make and remove worktrees of one repository: none fails, and only the work is left."""
    before = worktree_repo.user_side()
    for _ in range(TIMES):
        assert in_fresh_process(all_at_once, worktree_repo.root, str(WORKERS), str(ROUNDS)) == [0] * WORKERS
    assert (
        not os.path.exists(worktree_repo.root / ".git/worktrees")
        or os.listdir(worktree_repo.root / ".git/worktrees") == []
    )
    assert len(worktree_repo.git("for-each-ref", "refs/sow/keep").splitlines()) == WORKERS * ROUNDS
    assert worktree_repo.user_side() == before
    worktree_repo.git("fsck", "--strict")
