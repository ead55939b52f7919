"""A person's approval in a run: the work is merged before the task is completed, and no turn is disturbed for it."""

from __future__ import annotations

import signal
import subprocess

from support.plan_repo import GREEN, Harbour
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
LOOKS = "if [ -e part_010.txt ]; then echo yes > saw.txt; else echo no > saw.txt; fi\n"


def in_review(harbour: Harbour, *words: str) -> subprocess.Popen[bytes]:
    """A run whose first task is being reviewed."""
    harbour.act("quality-control-010-1", SLOW)
    run = harbour.start(*words)
    wait_for(lambda: (harbour.folder / "quality-control-010-1.cwd").exists())
    return run


def stopped_in_review(harbour: Harbour) -> None:
    """A run that ended with Ctrl-C while its first task was reviewed."""
    run = in_review(harbour)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)


def test_what_a_person_approves_is_merged(harbour: Harbour) -> None:
    """An approved task is completed by the next run, after its merge, and who depends on it starts from its work."""
    harbour.act("implementer-020-1", LOOKS)
    harbour.plan("First", "Second < 1")
    stopped_in_review(harbour)
    said = harbour.repo.ok("approve", "010")
    assert said.out == ("task 010 is approved; 'sow run' merges it from its worktree and completes it\n")
    assert harbour.task("010")["status"] == "needs_review"
    assert harbour.repo.ok("inbox", "--json").json["items"] == []
    assert harbour.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    assert "let a run merge it" in harbour.repo.ok("task", "show", "010").out
    result = harbour.run("--review", "off")
    assert result.code == 0, result
    assert harbour.statuses() == {"010": "completed", "020": "completed"}
    assert (harbour.repo.root / "part_010.txt").exists()
    assert (harbour.repo.root / "saw.txt").read_text() == "yes\n"
    assert harbour.task("010")["approval"]["by"] != "run"
    assert harbour.turns("010", "quality-control") == 1


def test_nobody_approves_in_the_middle_of_a_review(harbour: Harbour) -> None:
    """While a reviewer is at work, an approval is refused with who has the task, and the reviewer goes on."""
    harbour.act("quality-control-010-1", f"while [ ! -e {harbour.folder}/go ]; do sleep 0.1; done\n{GREEN}")
    harbour.plan("First")
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "quality-control-010-1.cwd").exists())
    refused = harbour.repo.sow("approve", "010")
    assert refused.code == 4, refused
    assert "quality-control reviews task 010" in refused.err
    (harbour.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert harbour.turns("010", "quality-control") == 1
    assert (harbour.repo.root / "part_010.txt").exists()
    assert harbour.task("010")["approval"]["by"] == "run"


def test_an_approval_during_a_check_counts(harbour: Harbour) -> None:
    """Approved while its tests run, a task of a live run needs no reviewer any more, and is merged."""
    slow = harbour.folder / "slow"
    slow.write_text(
        f"#!/bin/sh\ntouch {harbour.folder}/begun\nwhile [ ! -e {harbour.folder}/go ]; do sleep 0.1; done\n"
    )
    slow.chmod(0o755)
    harbour.plan({"test_commands": [str(slow)]})
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "begun").exists())
    harbour.repo.ok("approve", "010")
    (harbour.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert harbour.task("010")["status"] == "completed"
    assert harbour.turns("010", "quality-control") == 0
    assert (harbour.repo.root / "part_010.txt").exists()


def test_an_approval_is_of_what_was_handed_in(harbour: Harbour) -> None:
    """Work that is sent back after its approval, since its tests fail where it is merged, is reviewed again."""
    harbour.plan({"test_commands": ["test ! -e part_020.txt -o -e ready.txt"]}, "Second")
    harbour.act("implementer-010-2", "touch ready.txt\n")
    stopped = harbour.folder / "stopped"
    harbour.act("quality-control-010-1", f"touch {stopped}\n" + SLOW)
    run = harbour.start("--yes")
    wait_for(stopped.exists)
    wait_for(lambda: harbour.has_happened("merged", task="020"))
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    harbour.repo.ok("approve", "010")
    result = harbour.run()
    assert result.code == 0, result
    task = harbour.task("010")
    assert (task["status"], task["iteration"], task["approval"]["by"]) == ("completed", 2, "run")
    assert harbour.turns("010", "quality-control") == 2


def test_work_of_an_ended_run_is_brought_in_by_the_next(harbour: Harbour) -> None:
    """What a failed task left in its worktree, finished and handed in by a person, is merged by a new run."""
    harbour.act("implementer-010-1", "exit 1\n")
    harbour.plan("First")
    assert harbour.run().code == 1
    worktree = harbour.repo.root / ".sow/local/worktrees/010"
    (worktree / "by_hand.txt").write_text("mine\n")
    for status in ("in_progress", "needs_review"):
        harbour.repo.ok("task", "set", "--id", "010", "status", status)
    harbour.repo.ok("approve", "010")
    assert harbour.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    result = harbour.run()
    assert result.code == 0, result
    assert len(harbour.runs()) == 2
    assert harbour.task("010")["status"] == "completed"
    assert (harbour.repo.root / "by_hand.txt").read_text() == "mine\n"
