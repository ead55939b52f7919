"""Worktrees left by a run that was killed between the end of a task and their removal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.plan_repo import PlanRepo
from support.worktree_repo import home_at

from sow.gitwork.repository import Repository
from sow.gitwork.worktrees import Worktrees


@pytest.fixture
def left(plan_repo: PlanRepo, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worktree of a completed task, as a kill after its completion leaves it."""
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    for name, value in plan_repo.repo.environment.items():
        monkeypatch.setenv(name, value)
    return Path(Worktrees(Repository(home_at(plan_repo.repo.root)), plan_repo.runs()[-1]["id"]).prepare("010", "HEAD"))


@pytest.mark.full
def test_doctor_names_the_worktree(plan_repo: PlanRepo, left: Path) -> None:
    """`sow doctor` names the worktree of an ended task, and its hint removes it (F31)."""
    warning = ".sow/local/worktrees/010 is left over from task 010, which is completed"
    assert warning in plan_repo.repo.ok("doctor").out
    plan_repo.repo.ok("salvage", "prune", "--older-than", "0s", "--yes")
    assert not left.exists()
    assert "left over" not in plan_repo.repo.ok("doctor").out


@pytest.mark.full
def test_the_next_run_removes_the_worktree(plan_repo: PlanRepo, left: Path) -> None:
    """The next run removes a clean worktree of an ended task, and says so (F31)."""
    result = plan_repo.run()
    assert result.code == 0, result
    assert "removed worktree 010" in result.err
    assert not left.exists()


@pytest.mark.full
def test_a_worktree_with_work_stays(plan_repo: PlanRepo, left: Path) -> None:
    """A worktree with uncommitted work stays, and the run says why."""
    (left / "mine.txt").write_text("by hand\n")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "worktree 010 of an earlier run stays" in result.err
    assert (left / "mine.txt").read_text() == "by hand\n"
