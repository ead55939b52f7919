"""Work in a task's worktree and a run in one folder: work outside of that folder never counts as done."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
SHARED = ("--isolation", "none")


def stopped(plan_repo: PlanRepo, who: str, before: str = "", *arguments: str) -> Path:
    """The worktree of a run that ended with Ctrl-C during a first turn."""
    begun = plan_repo.folder / "begun"
    plan_repo.act(f"{who}-1", f"{before}touch {begun}\n{SLOW}")
    run = plan_repo.start(*arguments)
    wait_for(begun.exists)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    return plan_repo.repo.root / ".sow/local/worktrees/010"


def assert_refused(plan_repo: PlanRepo, merge: str = "sow/task/") -> None:
    """Checks that a run in one folder is refused with the reason and a command, and changes nothing."""
    before = plan_repo.repo.snapshot()
    turns = plan_repo.turns("010"), plan_repo.turns("010", "quality-control")
    result = plan_repo.run(*SHARED, "--retries", "1", "--yes")
    assert result.code == 2, result
    assert "task 010 has work in its worktree" in result.err
    for way in ("in its worktree: sow run plan.yaml --retries 1 --yes\n", f"git merge {merge}", "sow task abandon 010"):
        assert way in result.err
    assert plan_repo.repo.snapshot() == before
    assert (plan_repo.turns("010"), plan_repo.turns("010", "quality-control")) == turns


def test_collected_work_is_not_judged_elsewhere(plan_repo: PlanRepo) -> None:
    """Collected work is refused by a run in one folder, and merged by the command that the hint names."""
    plan_repo.plan("First")
    stopped(plan_repo, "quality-control-010")
    assert plan_repo.task("010")["status"] == "needs_review"
    assert_refused(plan_repo)
    assert plan_repo.run().code == 0
    assert (plan_repo.repo.root / "part_010.txt").exists()


@pytest.mark.full
def test_an_uncommitted_file_is_work(plan_repo: PlanRepo) -> None:
    """A file without a commit is work, too."""
    plan_repo.plan("First")
    stopped(plan_repo, "implementer-010", WORK)
    assert_refused(plan_repo)


@pytest.mark.full
def test_a_branch_without_its_worktree_is_work(plan_repo: PlanRepo) -> None:
    """If the folder is gone, the commits on the task's branch are still its work."""
    plan_repo.plan("First")
    worktree = stopped(plan_repo, "implementer-010", f"{WORK}git add -A\ngit commit -qm mine\n")
    plan_repo.repo.git("worktree", "remove", "--force", str(worktree))
    assert_refused(plan_repo)


@pytest.mark.full
def test_a_deleted_folder_keeps_its_commits(plan_repo: PlanRepo) -> None:
    """The same holds if the folder was deleted and git still has its record."""
    plan_repo.plan("First")
    worktree = stopped(plan_repo, "implementer-010", f"{WORK}git add -A\ngit commit -qm mine\n")
    shutil.rmtree(worktree)
    assert_refused(plan_repo)


@pytest.mark.full
def test_collected_work_without_its_branch_is_work(plan_repo: PlanRepo) -> None:
    """If worktree and branch are gone, the commit in the task's state is still its work."""
    plan_repo.plan("First")
    worktree = stopped(plan_repo, "quality-control-010")
    branch = plan_repo.repo.git("-C", str(worktree), "branch", "--show-current").strip()
    plan_repo.repo.git("worktree", "remove", "--force", str(worktree))
    plan_repo.repo.git("branch", "-q", "-D", branch)
    assert_refused(plan_repo, plan_repo.task("010")["work"]["commit"])


@pytest.mark.full
def test_an_empty_worktree_does_not_matter(plan_repo: PlanRepo) -> None:
    """After a worker that was stopped before any work, the next one works in the run's folder."""
    plan_repo.plan("First", "Second < 1")
    stopped(plan_repo, "implementer-010")
    result = plan_repo.run(*SHARED)
    assert result.code == 0, result
    assert Path((plan_repo.folder / "implementer-010-2.cwd").read_text().strip()) == plan_repo.repo.root
    assert (plan_repo.repo.root / "part_010.txt").exists()
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}


@pytest.mark.full
def test_a_linked_folder_is_the_same(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Through a link to the checkout the session continues: it is no session of another folder."""
    plan_repo.plan("First")
    stopped(plan_repo, "implementer-010", WORK)
    link = tmp_path / "link"
    link.symlink_to(plan_repo.repo.root)
    result = plan_repo.run("--root", str(link))
    assert result.code == 0, result
    assert [entry["kind"] for entry in plan_repo.journal("turn_started") if entry["role"] == "implementer"] == [
        "spawn",
        "resume",
    ]


@pytest.mark.full
def test_completed_and_other_tasks_do_not_matter(plan_repo: PlanRepo) -> None:
    """Branches of completed tasks, and worktrees of tasks outside the run, stop nothing."""
    plan_repo.plan("First", "Second", "Third")
    assert plan_repo.run("--task", "2").code == 0
    stopped(plan_repo, "implementer-010", WORK, "--task", "1")
    result = plan_repo.run(*SHARED, "--task", "2", "--task", "3")
    assert result.code == 0, result
    assert plan_repo.statuses()["030"] == "completed"


@pytest.mark.full
def test_work_that_a_person_merged_is_here(plan_repo: PlanRepo) -> None:
    """Merged by hand, as the hint says, the work is in the shared folder, and is judged there."""
    plan_repo.plan("First")
    worktree = stopped(plan_repo, "quality-control-010")
    branch = plan_repo.repo.git("-C", str(worktree), "branch", "--show-current").strip()
    assert_refused(plan_repo, branch)
    plan_repo.repo.git("merge", "-q", branch)
    result = plan_repo.run(*SHARED)
    assert result.code == 0, result
    assert plan_repo.task("010")["status"] == "completed"
    assert (plan_repo.repo.root / "part_010.txt").exists()


@pytest.mark.full
def test_the_hint_fits_the_users_settings(plan_repo: PlanRepo) -> None:
    """A user with one folder as a setting gets the option for worktrees, with the chosen tasks."""
    plan_repo.plan("First", "Second")
    stopped(plan_repo, "implementer-010", WORK, "--task", "1")
    plan_repo.configure(run={"isolation": "none"})
    result = plan_repo.run("--task", "1")
    assert result.code == 2, result
    assert "in its worktree: sow run plan.yaml --task 1 --isolation worktree\n" in result.err
    plan_repo.repo.ok("task", "abandon", "010", "--reason", "not this way")
    assert plan_repo.run("--task", "2").code == 0
