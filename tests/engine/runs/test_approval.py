"""A person's approval in a run: the work is merged before the task is completed, and no turn is disturbed for it."""

from __future__ import annotations

import signal
import subprocess

from support.plan_repo import GREEN, PlanRepo
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
LOOKS = "if [ -e part_010.txt ]; then echo yes > saw.txt; else echo no > saw.txt; fi\n"


def in_review(plan_repo: PlanRepo, *words: str) -> subprocess.Popen[bytes]:
    """A run whose first task is being reviewed."""
    plan_repo.act("quality-control-010-1", SLOW)
    run = plan_repo.start(*words)
    wait_for(lambda: (plan_repo.folder / "quality-control-010-1.cwd").exists())
    return run


def stopped_in_review(plan_repo: PlanRepo) -> None:
    """A run that ended with Ctrl-C while its first task was reviewed."""
    run = in_review(plan_repo)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)


def test_what_a_person_approves_is_merged(plan_repo: PlanRepo) -> None:
    """An approved task is completed by the next run, after its merge, and who depends on it starts from its work."""
    plan_repo.act("implementer-020-1", LOOKS)
    plan_repo.plan("First", "Second < 1")
    stopped_in_review(plan_repo)
    said = plan_repo.repo.ok("approve", "010")
    assert said.out == ("task 010 is approved; 'sow run' merges it from its worktree and completes it\n")
    assert plan_repo.task("010")["status"] == "needs_review"
    assert plan_repo.repo.ok("inbox", "--json").json["items"] == []
    assert plan_repo.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    assert "let a run merge it" in plan_repo.repo.ok("task", "show", "010").out
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert (plan_repo.repo.root / "part_010.txt").exists()
    assert (plan_repo.repo.root / "saw.txt").read_text() == "yes\n"
    assert plan_repo.task("010")["approval"]["by"] != "run"
    assert plan_repo.turns("010", "quality-control") == 1


def test_nobody_approves_in_the_middle_of_a_review(plan_repo: PlanRepo) -> None:
    """While a reviewer is at work, an approval is refused with who has the task, and the reviewer goes on."""
    plan_repo.act("quality-control-010-1", f"while [ ! -e {plan_repo.folder}/go ]; do sleep 0.1; done\n{GREEN}")
    plan_repo.plan("First")
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "quality-control-010-1.cwd").exists())
    refused = plan_repo.repo.sow("approve", "010")
    assert refused.code == 4, refused
    assert "quality-control reviews task 010" in refused.err
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert plan_repo.turns("010", "quality-control") == 1
    assert (plan_repo.repo.root / "part_010.txt").exists()
    assert plan_repo.task("010")["approval"]["by"] == "run"


def test_an_approval_during_a_check_counts(plan_repo: PlanRepo) -> None:
    """Approved while its tests run, a task of a live run needs no reviewer any more, and is merged."""
    slow = plan_repo.folder / "slow"
    slow.write_text(
        f"#!/bin/sh\ntouch {plan_repo.folder}/begun\nwhile [ ! -e {plan_repo.folder}/go ]; do sleep 0.1; done\n"
    )
    slow.chmod(0o755)
    plan_repo.plan({"test_commands": [str(slow)]})
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "begun").exists())
    plan_repo.repo.ok("approve", "010")
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert plan_repo.task("010")["status"] == "completed"
    assert plan_repo.turns("010", "quality-control") == 0
    assert (plan_repo.repo.root / "part_010.txt").exists()


def test_an_approval_is_of_what_was_handed_in(plan_repo: PlanRepo) -> None:
    """Work that is sent back after its approval, since its tests fail where it is merged, is reviewed again."""
    plan_repo.plan({"test_commands": ["test ! -e part_020.txt -o -e ready.txt"]}, "Second")
    plan_repo.act("implementer-010-2", "touch ready.txt\n")
    stopped = plan_repo.folder / "stopped"
    plan_repo.act("quality-control-010-1", f"touch {stopped}\n" + SLOW)
    run = plan_repo.start("--yes")
    wait_for(stopped.exists)
    wait_for(lambda: plan_repo.has_happened("merged", task="020"))
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    plan_repo.repo.ok("approve", "010")
    result = plan_repo.run()
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert (task["status"], task["iteration"], task["approval"]["by"]) == ("completed", 2, "run")
    assert plan_repo.turns("010", "quality-control") == 2


def test_work_of_an_ended_run_is_brought_in_by_the_next(plan_repo: PlanRepo) -> None:
    """What a failed task left in its worktree, finished and handed in by a person, is merged by a new run."""
    plan_repo.act("implementer-010-1", "exit 1\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    worktree = plan_repo.repo.root / ".sow/local/worktrees/010"
    (worktree / "by_hand.txt").write_text("mine\n")
    for status in ("in_progress", "needs_review"):
        plan_repo.repo.ok("task", "set", "--id", "010", "status", status)
    plan_repo.repo.ok("approve", "010")
    assert plan_repo.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    result = plan_repo.run()
    assert result.code == 0, result
    assert len(plan_repo.runs()) == 2
    assert plan_repo.task("010")["status"] == "completed"
    assert (plan_repo.repo.root / "by_hand.txt").read_text() == "mine\n"
