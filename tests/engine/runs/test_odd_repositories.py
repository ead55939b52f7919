"""Unusual repositories that git accepts: each works, or has an error with a hint."""

from __future__ import annotations

import subprocess

import pytest
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of


def test_head_is_a_symbolic_link(plan_repo: PlanRepo) -> None:
    """HEAD as a link to its branch, as in old versions of git, is not a detached one (F49)."""
    head = plan_repo.repo.root / ".git/HEAD"
    head.unlink()
    head.symlink_to("refs/heads/feat/harbour")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "part_010.txt").exists()


@pytest.mark.full
def test_a_branch_named_sow(plan_repo: PlanRepo) -> None:
    """A branch `sow` leaves no room for sow's refs: the error names it, and its hint solves it (F49)."""
    plan_repo.repo.git("branch", "sow")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 2, result
    assert "error: your branch sow blocks sow" in result.err
    assert "hint: rename it: git branch -m sow sow-old" in result.err
    plan_repo.repo.git("branch", "-m", "sow", "sow-old")
    assert plan_repo.run().code == 0


def test_a_branch_named_sow_on_main(plan_repo: PlanRepo) -> None:
    """The same if the run would make its own branch first."""
    plan_repo.repo.git("branch", "sow")
    plan_repo.repo.git("switch", "-q", "main")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 2, result
    assert "error: your branch sow blocks sow" in result.err


@pytest.mark.full
def test_unrelated_histories(plan_repo: PlanRepo) -> None:
    """If the user's branch starts anew during the run, nothing moves, and the error has the reason (F43)."""
    script = f"{WORK}cd $SOW_ROOT; new=$(git commit-tree -m anew HEAD^{{tree}})\n"
    script += "git update-ref refs/heads/feat/harbour $new\n"
    plan_repo.act("implementer", script)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 4, result
    assert "feat/harbour and the run have no commit in common" in result.err
    hint = next(line for line in result.err.splitlines() if "--allow-unrelated-histories" in line)
    command = hint.partition("(")[2].partition(", then")[0]
    done = subprocess.run(
        ["sh", "-c", command], cwd=plan_repo.repo.root, env=plan_repo.repo.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    plan_repo.repo.ok("integrate")
    assert (plan_repo.repo.root / "part_010.txt").exists()


@few_of("words", ["run plan.yaml", "project save", "integrate"], 1)
def test_a_repository_of_another_user(plan_repo: PlanRepo, words: str) -> None:
    """Git refuses to work in it; the error says so, and how to trust it (F59)."""
    plan_repo.plan("First")
    if words != "run plan.yaml":
        assert plan_repo.run().code == 0
    result = plan_repo.repo.sow(*words.split(), GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert result.code == 1, result
    assert f"error: {plan_repo.repo.root} belongs to another user" in result.err
    assert f"git config --global --add safe.directory {plan_repo.repo.root}" in result.err
    plan_repo.repo.git("config", "--global", "--add", "safe.directory", str(plan_repo.repo.root))
    result = plan_repo.repo.sow(*words.split(), GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert "belongs to another user" not in result.err
