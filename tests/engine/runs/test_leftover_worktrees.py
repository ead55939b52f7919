"""Worktrees that a run left when it was killed between the end of a task and their removal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.plan_repo import Harbour
from support.worktree_repo import home_at

from sow.gitwork.worktrees import Worktrees


@pytest.fixture
def left(harbour: Harbour, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worktree of a completed task, as a kill after its completion leaves it."""
    harbour.plan("First")
    assert harbour.run().code == 0
    for name, value in harbour.repo.environment.items():
        monkeypatch.setenv(name, value)
    return Path(Worktrees(home_at(harbour.repo.root), harbour.runs()[-1]["id"]).prepare("010", "HEAD"))


def test_doctor_names_it(harbour: Harbour, left: Path) -> None:
    """`sow doctor` names the worktree of an ended task, and its hint removes it (F31)."""
    warning = ".sow/local/worktrees/010 is left over: task 010 is completed"
    assert warning in harbour.repo.ok("doctor").out
    harbour.repo.ok("salvage", "prune", "--older-than", "0s", "--yes")
    assert not left.exists()
    assert "left over" not in harbour.repo.ok("doctor").out


def test_the_next_run_removes_it(harbour: Harbour, left: Path) -> None:
    """The next run removes a clean worktree of an ended task, and says so (F31)."""
    result = harbour.run()
    assert result.code == 0, result
    assert "removed worktree 010" in result.err
    assert not left.exists()


def test_work_in_it_stays(harbour: Harbour, left: Path) -> None:
    """A worktree with work that is not committed stays, and the run says why."""
    (left / "mine.txt").write_text("by hand\n")
    result = harbour.run()
    assert result.code == 0, result
    assert "worktree 010 of an earlier run stays" in result.err
    assert (left / "mine.txt").read_text() == "by hand\n"
