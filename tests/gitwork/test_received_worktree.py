"""The worktree of a task on two hosts: a snapshot of one makes the other equal to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.worktree_repo import WorktreeRepo


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a worktree, without git's pointer."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".git")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_snapshot_holds_commits_and_files(worktree_repo: WorktreeRepo) -> None:
    """A snapshot is the worker's commit, and a commit with all files that are not ignored."""
    where = worktree_repo.prepare()
    worktree_repo.write(".gitignore", "*.log\n", where=where)
    worktree_repo.git("add", ".gitignore", cwd=where)
    worktree_repo.git("commit", "-q", "-m", "Mine", cwd=where)
    worktree_repo.write("new.txt", "new\n", where=where)
    worktree_repo.write("noise.log", "noise\n", where=where)
    (where / "src/a.txt").unlink()
    head, files = worktree_repo.worktrees.snapshot("010", worktree_repo.head())
    assert head == worktree_repo.head(where)
    listed = worktree_repo.git("ls-tree", "-r", "--name-only", files).split()
    assert "new.txt" in listed
    assert "noise.log" not in listed
    assert "src/a.txt" not in listed
    assert worktree_repo.git("rev-parse", f"{files}^").strip() == head


def test_a_clean_worktree_needs_no_second_commit(worktree_repo: WorktreeRepo) -> None:
    """The snapshot of a worktree without changes is its commit."""
    worktree_repo.prepare()
    head = worktree_repo.head()
    assert worktree_repo.worktrees.snapshot("010", head) == (head, head)


def test_a_received_worktree_equals_its_source(worktree_repo: WorktreeRepo) -> None:
    """After receiving a snapshot, a worktree has the same commit, the same files and the same changes."""
    where = worktree_repo.prepare()
    worktree_repo.write("kept.txt", "kept\n", where=where)
    worktree_repo.git("add", "kept.txt", cwd=where)
    worktree_repo.git("commit", "-q", "-m", "Mine", cwd=where)
    worktree_repo.write("open.txt", "open\n", where=where)
    (where / "src/a.txt").write_text("changed\n")
    head, files = worktree_repo.worktrees.snapshot("010", worktree_repo.head())
    expected, status = contents(where), worktree_repo.git("status", "--porcelain", cwd=where)
    shutil.rmtree(where)
    worktree_repo.git("worktree", "prune")
    worktree_repo.git("update-ref", "-d", f"refs/heads/{worktree_repo.worktrees.branch('010')}")
    worktree_repo.prepare()
    worktree_repo.worktrees.receive("010", head, files)
    assert contents(where) == expected
    assert worktree_repo.head(where) == head
    assert sorted(line[3:] for line in worktree_repo.git("status", "--porcelain", cwd=where).splitlines()) == sorted(
        line[3:] for line in status.splitlines()
    )


def test_what_was_here_is_kept(worktree_repo: WorktreeRepo) -> None:
    """Files and commits that a received worktree replaces stay reachable, and ignored files stay in place."""
    where = worktree_repo.prepare()
    worktree_repo.write("node_modules/data", "cached\n", where=where)
    worktree_repo.write("mine.txt", "not committed\n", where=where)
    base = worktree_repo.head()
    worktree_repo.worktrees.receive("010", base, base)
    assert (where / "node_modules/data").read_text() == "cached\n"
    assert not (where / "mine.txt").exists()
    pinned = worktree_repo.worktrees.pinned("010")
    assert any("mine.txt" in worktree_repo.git("ls-tree", "-r", "--name-only", commit) for commit in pinned)


def test_an_equal_worktree_is_left_alone(worktree_repo: WorktreeRepo) -> None:
    """Receiving what is there already touches no file."""
    where = worktree_repo.prepare()
    worktree_repo.write("open.txt", "open\n", where=where)
    head, files = worktree_repo.worktrees.snapshot("010", worktree_repo.head())
    before = {path: path.stat().st_mtime_ns for path in where.rglob("*.txt")}
    worktree_repo.worktrees.receive("010", head, files)
    assert {path: path.stat().st_mtime_ns for path in where.rglob("*.txt")} == before


def test_other_commits_of_the_worker_are_pinned(worktree_repo: WorktreeRepo) -> None:
    """Commits beside the branch, which come with a result, are pinned; those that were taken need no pin."""
    where = worktree_repo.prepare()
    worktree_repo.git("commit", "-q", "--allow-empty", "-m", "Beside", cwd=where)
    beside = worktree_repo.head(where)
    worktree_repo.worktrees.pin_received("010", [beside, worktree_repo.head()], [worktree_repo.head()])
    assert beside in worktree_repo.worktrees.pinned("010")
