"""A person's approval in a run: the work is merged before the task is completed, and no turn is interrupted."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess

import pytest
from support.plan_repo import GREEN, PlanRepo
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
LOOKS = "if [ -e part_010.txt ]; then echo yes > saw.txt; else echo no > saw.txt; fi\n"


def in_review(plan_repo: PlanRepo, *arguments: str) -> subprocess.Popen[bytes]:
    """A run whose first task is in review."""
    plan_repo.act("quality-control-010-1", SLOW)
    run = plan_repo.start(*arguments)
    wait_for(lambda: (plan_repo.folder / "quality-control-010-1.cwd").exists())
    return run


def stopped_in_review(plan_repo: PlanRepo) -> None:
    """A run that ended with Ctrl-C during the review of its first task."""
    run = in_review(plan_repo)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)


@pytest.mark.full
def test_approved_work_is_merged(plan_repo: PlanRepo) -> None:
    """An approved task is completed by the next run, after its merge, and its dependents start from its work."""
    plan_repo.act("implementer-020-1", LOOKS)
    plan_repo.plan("First", "Second < 1")
    stopped_in_review(plan_repo)
    output = plan_repo.repo.ok("approve", "010")
    assert output.out == "task 010 is approved; merge it with: sow run plan.yaml\n"
    assert plan_repo.task("010")["status"] == "needs_review"
    items = plan_repo.repo.ok("inbox", "--json").json["items"]
    assert [(item["kind"], item["do"]) for item in items] == [("delivery", "sow run plan.yaml")]
    assert plan_repo.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    assert "let a run merge it" in plan_repo.repo.ok("task", "show", "010").out
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert (plan_repo.repo.root / "part_010.txt").exists()
    assert (plan_repo.repo.root / "saw.txt").read_text() == "yes\n"
    assert plan_repo.task("010")["approval"]["by"] != "run"
    assert plan_repo.turns("010", "quality-control") == 1


@pytest.mark.full
@pytest.mark.parametrize("live", [True, False])
def test_feedback_on_handed_in_work_reaches_its_worker(plan_repo: PlanRepo, live: bool) -> None:
    """Feedback during a review, or after the run was stopped in it, sends the task back once before its merge."""
    plan_repo.plan("First")
    plan_repo.act("implementer-010-2", "echo better >> part_010.txt\n")
    if live:
        plan_repo.act("quality-control-010-1", f"while [ ! -e {plan_repo.folder}/go ]; do sleep 0.1; done\n{GREEN}")
        run = plan_repo.start("--retries", "0")
        wait_for(lambda: (plan_repo.folder / "quality-control-010-1.cwd").exists())
    else:
        stopped_in_review(plan_repo)
    added = plan_repo.repo.ok("feedback", "add", "010", "--at", "part_010.txt:1", "Write your name in full")
    assert added.out.splitlines()[-1] == "task 010 goes back to its worker with it before its merge" + (
        "" if live else ", when its run continues: sow run plan.yaml"
    )
    if live:
        (plan_repo.folder / "go").touch()
        out, err = run.communicate(timeout=300)
        assert run.returncode == 0, (out, err)
    else:
        result = plan_repo.run("--retries", "0")
        assert result.code == 0, result
    assert "Write your name in full" in plan_repo.prompt("010", 2)
    task = plan_repo.task("010")
    assert (task["status"], task["iteration"], task.get("retry_count", 0)) == ("completed", 2, 0)
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "by 010\nbetter\n"
    assert [entry["reason"] for entry in plan_repo.journal("sent_back")] == ["a person gave feedback on it"]


@pytest.mark.full
def test_an_approval_during_a_review_is_refused(plan_repo: PlanRepo) -> None:
    """While a reviewer works, an approval is refused with the holder's name, and the reviewer continues."""
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


@pytest.mark.full
def test_an_approval_during_a_check_counts(plan_repo: PlanRepo) -> None:
    """Approved while its tests run, a task of a live run needs no reviewer, and is merged."""
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


@pytest.mark.full
def test_an_approval_is_of_one_iteration(plan_repo: PlanRepo) -> None:
    """Work that is sent back after its approval, since its tests fail at the merge, is reviewed again."""
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


@pytest.mark.full
def test_work_of_an_ended_run_is_merged_by_the_next(plan_repo: PlanRepo) -> None:
    """The work in a failed task's worktree, finished and handed in by a person, is merged by a new run."""
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


def accept_as_printed(plan_repo: PlanRepo, reason: str) -> str:
    """Accepts a task by the command that the inbox prints, with a reason; returns the output."""
    output = plan_repo.repo.ok("inbox").out
    command = output.split("or accept the work: ")[1].splitlines()[0]
    return plan_repo.repo.ok(*shlex.split(command.replace("…", reason))[1:]).out


@pytest.mark.full
def test_a_person_overrules_a_reviewer(plan_repo: PlanRepo) -> None:
    """Work that stays RED is a question; the printed command accepts it with a reason; a run merges it (C12, D5)."""
    plan_repo.act("quality-control-010", "printf 'Quality Control: RED\\n\\nFeedback: no\\n'\n")
    plan_repo.act("implementer-020-1", LOOKS)
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run("--retries", "0").code == 4
    assert plan_repo.task("010")["status"] == "paused"
    accept_as_printed(plan_repo, "good enough for now")
    task = plan_repo.task("010")
    assert (task["status"], task["approval"]["reason"]) == ("needs_review", "good enough for now")
    waits = plan_repo.repo.ok("inbox", "--json").json["items"]
    assert [item["do"] for item in waits] == ["sow run plan.yaml --retries 0"]  # which merges it
    result = plan_repo.run("--retries", "0")
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert (plan_repo.repo.root / "part_010.txt").exists()
    assert (plan_repo.repo.root / "saw.txt").read_text() == "yes\n"
    task = plan_repo.task("010")
    assert (task["result"], task["reviews"][-1]["verdict"]) == ("YELLOW", "RED")
    assert plan_repo.turns("010", "quality-control") == 1
    assert "good enough for now" in plan_repo.repo.ok("task", "show", "010").out
    assert "good enough for now" in plan_repo.repo.ok("runs", "show").out
    assert "good enough for now" in (plan_repo.repo.project / "log.md").read_text()


def test_a_failed_check_is_waived_by_name(plan_repo: PlanRepo) -> None:
    """An approval that does not name a failed check is refused; the named check does not run at the merge or later."""
    tests = ["test -e never.txt", "test -e part_010.txt"]
    plan_repo.plan({"test_commands": [*tests]}, {"depends_on": [1], "test_commands": [*tests]})
    assert plan_repo.run("--retries", "0").code == 4
    refused = plan_repo.repo.sow("approve", "010", "--reason", "flaky")
    assert refused.code == 2, refused
    assert "`test -e never.txt` fails on the work of task 010" in refused.err
    assert "--waive 'test -e never.txt'" in refused.err
    unknown = plan_repo.repo.sow("approve", "010", "--waive", "make test")
    assert unknown.code == 2
    assert "`test -e never.txt`; `test -e part_010.txt`" in unknown.err
    assert plan_repo.task("010")["status"] == "paused"
    accepted = accept_as_printed(plan_repo, "flaky")
    assert "waived: test -e never.txt" in accepted
    assert "task 010 is approved; merge it with: sow run plan.yaml --retries 0\n" in accepted  # the call of its run
    shown = plan_repo.repo.ok("task", "show", "010").out
    assert "status    approved, waits for its merge, iteration 1\n" in shown, "an approval begins no iteration"
    assert shown.count("iteration 2") == 0
    status = plan_repo.repo.ok("status").out
    assert status.count("sow run plan.yaml --retries 0") == 1, status
    assert "010  approved, waits for its merge" in status
    assert f"\n- unfinished run: {plan_repo.runs()[-1]['id']}\n" in "\n" + plan_repo.repo.ok("inbox").out
    assert "waived by ada: test -e never.txt (flaky)" in shown
    assert "must pass: test -e never.txt" not in shown
    assert "status      pending, not started\n" in plan_repo.repo.ok("task", "show", "020").out
    assert re.search(r"Part 2 +pending +- +- ", plan_repo.repo.ok("runs", "show").out)
    result = plan_repo.run("--retries", "0")
    assert result.code == 0, result
    for ident in ("010", "020"):
        (waiver,) = plan_repo.task(ident)["waivers"]
        assert (waiver["command"], waiver["reason"]) == ("test -e never.txt", "flaky")
    last = [evidence for evidence in plan_repo.task("010")["evidence"] if evidence["kind"] in ("merge", "final")]
    assert {entry["command"] for entry in last} == {"test -e part_010.txt"}
    for ident, place in (("010", "merged work"), ("020", "its work")):
        shown = plan_repo.repo.ok("task", "show", ident).out
        places = re.findall(r"passed: test -e part_010.txt \(exit 0, (.*), on tree", shown)
        assert place in places
        assert len(places) == len(set(places)), "each line once"
    assert "waived `test -e never.txt`: flaky" in plan_repo.repo.ok("runs", "show").out


@pytest.mark.full
def test_the_work_of_a_failed_task_is_accepted(plan_repo: PlanRepo) -> None:
    """A failed worker's work is merged by the next run once a person accepts it (D5)."""
    plan_repo.act("implementer-010-1", "echo half > half.txt\nexit 1\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("approve", "010", "--reason", "the half is all we need")
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.task("010")["result"] == "YELLOW"
    assert (plan_repo.repo.root / "half.txt").read_text() == "half\n"
    assert plan_repo.turns("010") == 1


@pytest.mark.parametrize("status", ["pending", "in_progress"])
def test_work_that_was_not_handed_in_cannot_be_accepted(plan_repo: PlanRepo, status: str) -> None:
    """An approval before the end of the work is refused and waives nothing."""
    plan_repo.plan({"test_commands": ["true"]})
    for item in (["init"], ["project", "new", "Harbour"], ["plan", "import", "plan.yaml", "--yes"]):
        plan_repo.repo.ok(*item)
    if status == "in_progress":
        plan_repo.repo.ok("task", "set", "--id", "010", "status", status)
    refused = plan_repo.repo.sow("approve", "010", "--waive", "true", "--reason", "why not")
    assert refused.code == 2, refused
    assert f"task 010 cannot go from {status} to completed" in refused.err
    assert "waivers" not in plan_repo.task("010")


def test_an_unresolved_note_is_settled_before_anything_is_waived(plan_repo: PlanRepo) -> None:
    """An approval of work with an open note is refused and waives nothing."""
    plan_repo.plan({"test_commands": ["true"]})
    for item in (
        ["init"],
        ["project", "new", "Harbour"],
        ["plan", "import", "plan.yaml", "--yes"],
        ["task", "set", "--id", "010", "status", "in_progress"],
        ["task", "set", "--id", "010", "status", "needs_review"],
        ["note", "add", "--task", "010", "--description", "Tides are known", "--context", "tides.py"],
    ):
        plan_repo.repo.ok(*item)
    refused = plan_repo.repo.sow("approve", "010", "--waive", "true", "--reason", "why not")
    assert refused.code == 2, refused
    assert "task 010 has open notes: note_001" in refused.err
    assert "waivers" not in plan_repo.task("010")
