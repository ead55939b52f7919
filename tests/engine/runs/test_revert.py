"""`sow revert`: undoes a merge by a commit on the user's branch, and the next run does the task again."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Result
from support.plan_repo import GREEN, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

WHY = ("--reason", "the header is wrong")


@pytest.fixture
def merged(plan_repo: PlanRepo) -> PlanRepo:
    """A plan of two tasks in sequence that was run to its end."""
    plan_repo.plan({"test_commands": ["ls"]}, "Second < 1")
    assert plan_repo.run().code == 0
    return plan_repo


def part(plan_repo: PlanRepo, task: str) -> Path:
    return plan_repo.repo.root / f"part_{task}.txt"


def refused(plan_repo: PlanRepo, *arguments: str, code: int) -> Result:
    """Checks that a revert is refused: the branch and the task stay as they are."""
    before = (plan_repo.repo.git("rev-parse", "HEAD"), plan_repo.task("010"))
    result = plan_repo.repo.sow("revert", *(arguments or ("010", *WHY)))
    assert result.code == code, result
    assert (plan_repo.repo.git("rev-parse", "HEAD"), plan_repo.task("010")) == before
    return result


@few_of("history", ["squash", "full"], 1)
def test_a_merge_is_undone_and_the_task_repeated(plan_repo: PlanRepo, history: str) -> None:
    """The revert is one commit with the reason; the next run starts the task again and merges it (D10)."""
    plan_repo.plan({"test_commands": ["ls"]}, "Second < 1")
    assert plan_repo.run("--history", history).code == 0
    output = plan_repo.repo.ok("revert", "010", *WHY).out
    assert "tasks that depend on it are unchanged: 020" in output
    assert "run it again: sow run plan.yaml" in output
    assert not part(plan_repo, "010").exists()
    assert part(plan_repo, "020").exists()
    assert plan_repo.repo.git("status", "--porcelain", "--", ":!.sow") == ""
    message = plan_repo.repo.git("log", "-1", "--format=%B")
    assert message.startswith('Revert "Part 1"\n\nthe header is wrong\n\nThis reverts commit ')
    assert message.strip().endswith("Sow-Revert: 010/1")
    task = plan_repo.task("010")
    assert (task["status"], task["iteration"], "approval" in task) == ("in_progress", 2, False)
    result = plan_repo.run("--history", history)
    assert result.code == 0, result
    assert "the header is wrong" in plan_repo.prompt("010", 2)
    assert part(plan_repo, "010").exists()
    task = plan_repo.task("010")
    assert (task["status"], task["iteration"], plan_repo.turns("020")) == ("completed", 2, 1)
    assert plan_repo.repo.sow("runs", "verify", "--yes").code == 0
    plan_repo.repo.ok("revert", "010", "--reason", "still wrong")
    assert not part(plan_repo, "010").exists()
    assert plan_repo.task("010")["iteration"] == 3


@pytest.mark.full
def test_all_merges_of_a_task_are_undone(plan_repo: PlanRepo) -> None:
    """A task that was merged twice, since a final check sent it back, is undone by one commit."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    wait = f"while [ ! -e {plan_repo.folder}/quality-control-010-1.prompt ]; do sleep 0.1; done\n"
    plan_repo.act("implementer-020-1", f"{wait}echo one > a.txt\nrm -f wanted.txt\n")
    plan_repo.act("implementer-020-2", "echo two > b.txt\ntouch wanted.txt\n")
    plan_repo.plan({"test_commands": ["test ! -e a.txt -o -e b.txt"]}, "Second")
    assert plan_repo.run().code == 0
    assert plan_repo.task("020")["iteration"] == 2
    count = int(plan_repo.repo.git("rev-list", "--count", "HEAD"))
    plan_repo.repo.ok("revert", "020", *WHY)
    assert int(plan_repo.repo.git("rev-list", "--count", "HEAD")) == count + 1
    assert not (plan_repo.repo.root / "a.txt").exists()
    assert not (plan_repo.repo.root / "b.txt").exists()


@pytest.mark.full
def test_an_unfinished_run_continues_without_the_reverted_work(plan_repo: PlanRepo) -> None:
    """A revert during a stopped run reaches its branch too: its next call builds on the reverted tree."""
    plan_repo.act("quality-control-020", "printf 'Quality Control: RED\\n\\nFeedback: no\\n'\n")
    plan_repo.act("implementer-010-2", "ls > seen.txt\n")
    plan_repo.plan("First", "Second")
    assert plan_repo.run("--retries", "0").code == 4
    assert part(plan_repo, "010").exists()
    plan_repo.repo.ok("revert", "010", *WHY)
    plan_repo.act("quality-control-020", GREEN)
    plan_repo.repo.ok("approve", "020", "--reason", "fine")
    result = plan_repo.run("--retries", "0")
    assert result.code == 0, result
    assert len(plan_repo.runs()) == 1
    assert "part_010.txt" not in (plan_repo.repo.root / "seen.txt").read_text()
    assert not part(plan_repo, "010").exists()
    assert part(plan_repo, "020").exists()


@pytest.mark.full
def test_a_clone_reverts_by_the_commits(merged: PlanRepo) -> None:
    """Without the records of the run, as in a clone, the commits of the branch show what to undo."""
    (merged.repo.root / ".sow/local/runs").rename(merged.folder / "runs")
    merged.repo.ok("revert", "010", *WHY)
    assert not part(merged, "010").exists()
    assert part(merged, "020").exists()


@pytest.mark.full
def test_a_merge_that_git_reverted_is_only_reopened(merged: PlanRepo) -> None:
    """After a `git revert` of the merge by hand, the command adds no commit and reopens the task."""
    commit = next(merge["commit"] for merge in merged.runs()[-1]["merges"] if merge["task"] == "010")
    merged.repo.git("revert", "--no-edit", commit)
    head = merged.repo.git("rev-parse", "HEAD")
    merged.repo.ok("revert", "010", *WHY)
    assert merged.repo.git("rev-parse", "HEAD") == head
    assert merged.task("010")["status"] == "in_progress"


@pytest.mark.full
def test_later_changes_in_the_same_place_are_a_conflict(merged: PlanRepo) -> None:
    """If later commits changed the same lines, the error names the files and the next steps."""
    part(merged, "010").write_text("more\n")
    merged.repo.git("commit", "-qam", "More")
    errors = refused(merged, code=4).err
    assert "later commits changed what task 010 did, so it cannot be undone alone: part_010.txt" in errors
    assert "git revert " in errors
    assert "sow revert 010" in errors


@pytest.mark.full
def test_files_of_the_user_are_not_overwritten(merged: PlanRepo) -> None:
    """A file with uncommitted changes keeps them; the hint works as printed."""
    part(merged, "010").write_text("mine\n")
    errors = refused(merged, code=4).err
    assert "part_010.txt" in errors
    assert "sow integrate" not in errors
    assert part(merged, "010").read_text() == "mine\n"


@pytest.mark.full
def test_only_completed_and_merged_work_is_reverted(plan_repo: PlanRepo) -> None:
    """A task that is not completed, or was completed without a run, is refused with a hint."""
    plan_repo.act("implementer-010", "exit 1\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    assert "task 010 is failed: only completed work can be reverted" in refused(plan_repo, code=2).err
    plan_repo.repo.ok("task", "create", "--name", "By hand")
    for status in ("in_progress", "needs_review", "completed"):
        plan_repo.repo.ok("task", "set", "--id", "020", "status", status)
    assert "no commit of task 020 is on feat/harbour" in refused(plan_repo, "020", *WHY, code=2).err


@pytest.mark.full
def test_no_revert_during_a_run_or_on_another_branch(merged: PlanRepo) -> None:
    """While a run is alive, or another branch is checked out, nothing is reverted."""
    merged.plan({"test_commands": ["ls"]}, "Second < 1", "Third")
    merged.act("implementer-030", f"while [ ! -e {merged.folder}/go ]; do sleep 0.1; done\ntouch third.txt\n")
    run = merged.start("--yes")
    wait_for(lambda: (merged.folder / "implementer-030-1.cwd").exists())
    assert "sow run of Harbour" in refused(merged, code=4).err
    (merged.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    merged.repo.git("switch", "-q", "-c", "other")
    assert "belongs to branch feat/harbour" in refused(merged, code=2).err


@pytest.mark.full
def test_a_completed_task_names_revert(merged: PlanRepo) -> None:
    """Setting a completed task to another status is refused with the command that undoes it."""
    for status in ("in_progress", "needs_review"):
        result = merged.repo.sow("task", "set", "--id", "010", "status", status)
        assert result.code == 2
        assert 'revert it (sow revert 010 --reason "…"), or add a task that follows it' in result.err
