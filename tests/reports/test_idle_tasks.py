"""One rule names the command that continues a task, and every view prints the same command."""

from __future__ import annotations

import subprocess

import pytest
from support.plan_repo import WORK, PlanRepo

RETRY = "sow run plan.yaml --retry-failed"
FAIL = "sow task set status failed --reason 'No compiler'\n"


def typed(plan_repo: PlanRepo, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a printed command in a shell."""
    repo = plan_repo.repo
    return subprocess.run(["sh", "-c", command], cwd=repo.root, env=repo.environment, capture_output=True, text=True)


def named_commands(plan_repo: PlanRepo) -> dict[str, str]:
    """Returns the command that each view prints for task 010."""
    repo = plan_repo.repo
    status = repo.ok("status", "--json").json
    return {
        "status": status["next"]["command"],
        "inbox": repo.ok("inbox", "--json").json["items"][0]["do"],
        "task show": repo.task("010")["next"].partition(": ")[2],
    }


@pytest.mark.full
def test_a_failed_task_of_a_run_is_retried_with_one_command(plan_repo: PlanRepo) -> None:
    """(C10, A12) All views print the same command, and it completes the task."""
    plan_repo.configure(review={"enabled": False})
    plan_repo.act("implementer-010-1", FAIL)
    plan_repo.plan("First", "Second < 1")
    run = plan_repo.run()
    assert run.code == 1, run
    assert RETRY in run.out
    assert "\n  then continue" not in run.out
    assert set(named_commands(plan_repo).values()) == {RETRY}
    assert RETRY in plan_repo.repo.ok("continue", "--print").out
    assert "failed task 010: First: No compiler  →  " in plan_repo.repo.ok("status").out
    done = typed(plan_repo, RETRY)
    assert done.returncode == 0, done
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}


@pytest.mark.full
def test_a_failed_spawned_task_is_resumed(plan_repo: PlanRepo) -> None:
    """(C10, A12) The worker of a spawned task is resumed; the call that failed prints that command too."""
    repo = plan_repo.repo
    plan_repo.act("implementer", f"{WORK}{FAIL}")
    repo.ok("init", "--project", "Harbour")
    repo.ok("task", "create", "--name", "First", "--agent", "implementer")
    spawned = repo.sow("agent", "spawn", "implementer", "010")
    resume = 'sow agent resume 010 "Continue"'
    assert f"next: {resume}" in spawned.err, spawned
    assert set(named_commands(plan_repo).values()) == {resume}
    plan_repo.act("implementer", "sow task set status needs_review\n")
    assert typed(plan_repo, resume).returncode == 0
    assert plan_repo.task("010")["status"] == "needs_review"


@pytest.mark.full
def test_a_reopened_task_of_an_ended_run_belongs_to_its_run(plan_repo: PlanRepo) -> None:
    """(C10) After `task set … in_progress` the run continues the task, although that run has ended."""
    plan_repo.configure(review={"enabled": False})
    plan_repo.act("implementer-010-1", FAIL)
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    status = plan_repo.repo.ok("status", "--json").json
    assert status["next"]["command"] == "sow run plan.yaml"
    assert plan_repo.repo.task("010")["next"].endswith(": sow run plan.yaml")


@pytest.mark.full
def test_an_approved_task_waits_for_its_run(plan_repo: PlanRepo) -> None:
    """(C10) Status says that the task is approved and names the run."""
    plan_repo.configure(run={"baseline": "off", "retries": 0})
    plan_repo.act("implementer-010", f"{WORK}{FAIL}")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("approve", "010", "--reason", "fine")
    shown = plan_repo.repo.ok("status").out
    assert "nobody works on" not in shown.lower()
    assert "task 010 is approved" in shown
    command = plan_repo.repo.ok("status", "--json").json["next"]["command"]
    assert command.startswith("sow run plan.yaml")
    assert typed(plan_repo, command).returncode == 0
    assert plan_repo.statuses() == {"010": "completed"}


@pytest.mark.full
def test_the_live_lines_show_a_setup_and_an_empty_merge(plan_repo: PlanRepo) -> None:
    """(D1) A setup is printed when it begins; work without changes is not "merged as" a commit."""
    plan_repo.configure(review={"enabled": False}, worktree={"setup": [["true"]]})
    plan_repo.act("implementer", "sow task set status needs_review\n")
    plan_repo.plan({"name": "First", "allow_empty": True})
    run = plan_repo.run()
    assert run.code == 0, run
    assert "First: setting up a checkout: true\n" in run.out
    assert "First: nothing to merge\n" in run.out and "merged as" not in run.out


@pytest.mark.full
def test_status_after_a_revert_names_the_same_command(plan_repo: PlanRepo) -> None:
    """(D10) The reverted task is repeated by its run, and both commands say so."""
    plan_repo.configure(review={"enabled": False})
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    reverted = plan_repo.repo.ok("revert", "010", "--reason", "wrong")
    assert "run it again: sow run plan.yaml\n" in reverted.out
    assert plan_repo.repo.ok("status", "--json").json["next"]["command"] == "sow run plan.yaml"
    assert plan_repo.run().code == 0
    assert plan_repo.statuses() == {"010": "completed"}
