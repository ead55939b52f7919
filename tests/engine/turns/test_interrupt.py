"""Ctrl-C during `sow agent spawn` and `resume`: exit 130, what the task is now, and the door by which it goes on."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time

import pytest
from conftest import SOW
from fakes import install
from support.quick_cases import few_of
from support.simulated_workers import Yard, end, wait_for

BEGUN = {"run": ["touch", "begun"]}
SPAWN = ("agent", "spawn", "implementer", "010")


def begun(yard: Yard) -> bool:
    return (yard.repo.root / "begun").exists()


def interrupt(yard: Yard, *words: str) -> tuple[int, str, list[str]]:
    """Stop a call once its worker works: its exit code, what it printed, and its last two lines on stderr."""
    call = yard.start(*(words or SPAWN))
    wait_for(lambda: begun(yard))
    code, out, err = end(call, signal.SIGINT)
    assert not yard.alive()
    return code, out, err.splitlines()[-2:]


@few_of(
    ("steps", "status", "door"),
    [
        ([], "in_progress", 'sow agent resume 010 "Continue"'),
        ([{"ask": "Which?"}], "paused", 'sow agent resume 010 "the answer"'),
        ([{"status": "needs_review"}], "needs_review", 'sow agent resume 010 "what is wrong"'),
        ([{"status": "failed"}], "failed", 'sow agent resume 010 "Continue"'),
    ],
    2,
)
def test_the_task_is_told_as_it_is_now(yard: Yard, steps: list[dict[str, object]], status: str, door: str) -> None:
    """Whatever the worker had said before it was stopped counts, and the hint is a command that goes on from there."""
    yard.scenario([*steps, BEGUN, {"hang": True}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    code, out, said = interrupt(yard)
    assert (code, yard.outcomes()) == (130, ["interrupted"])
    assert said == [f"error: interrupted: task 010 is {status}", f"hint: continue it: {door}"]
    assert "status is" not in out
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_resume_is_interrupted_in_the_same_way(yard: Yard) -> None:
    """The second turn of a session can be stopped too, and the session goes on once more."""
    yard.scenario([{"ask": "Which?"}], [BEGUN, {"hang": True}], [{"status": "needs_review"}])
    yard.spawn()
    code, _, said = interrupt(yard, "agent", "resume", "010", "Use RS256")
    assert (code, said[0]) == (130, "error: interrupted: task 010 is in_progress")
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_program_gets_its_document_all_the_same(yard: Yard) -> None:
    """With --json stdout has the turn with its outcome, and stderr the error."""
    yard.scenario([BEGUN, {"hang": True}])
    code, out, said = interrupt(yard, *SPAWN, "--json")
    found = json.loads(out)
    assert (code, found["outcome"], found["task"]["status"]) == (130, "interrupted", "in_progress")
    assert said[0] == "error: interrupted: task 010 is in_progress"


def test_a_cli_that_cannot_resume_starts_afresh(yard: Yard) -> None:
    """The hint names the door that works for the executor of the session."""
    folder = yard.folder / "bin"
    install(yard.repo, "devin", folder)
    (folder / "devin").write_text("#!/bin/sh\ntouch begun\nexec sleep 300\n")
    code, _, said = interrupt(yard, *SPAWN, "--executor", "windsurf")
    assert (code, said[1]) == (130, "hint: continue it: sow agent spawn implementer 010 --fresh")
    yard.scenario([{"status": "needs_review"}])
    assert yard.spawn("--fresh").out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_a_call_that_has_not_begun_leaves_the_task_as_it_was(yard: Yard) -> None:
    """Stopped while it waits for somebody who changes the project, it has started nothing, and says how to start."""
    descriptor = os.open(yard.repo.root / ".git/sow/lock", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        call = yard.start(*SPAWN)
        wait_for(lambda: list((yard.repo.root / ".git/sow/claims").glob("claim-task-010*")))
        code, _, err = end(call, signal.SIGINT)
    finally:
        os.close(descriptor)
    assert code == 130
    assert err.splitlines() == [
        "error: interrupted: task 010 is pending",
        "hint: continue it: sow agent spawn implementer 010",
    ]
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_an_interrupted_reminder_fails_no_task(yard: Yard) -> None:
    """A worker that is stopped while it is reminded has not been told no: its task stays in progress."""
    yard.scenario([{"say": "I am done."}], [BEGUN, {"hang": True}], [{"status": "needs_review"}])
    code, _, said = interrupt(yard)
    assert (code, said[0]) == (130, "error: interrupted: task 010 is in_progress")
    assert yard.outcomes() == ["done", "interrupted"]
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_limit_in_a_reminder_is_told_as_one(yard: Yard) -> None:
    """A reminder that meets a limit is waited with, as any turn."""
    yard.scenario([{"say": "I am done."}], [{"limit": 60}])
    result = yard.spawn()
    assert (result.code, yard.repo.task("010")["status"]) == (4, "in_progress")


def test_a_second_ctrl_c_does_not_wait(yard: Yard) -> None:
    """A deaf worker has its time to end, unless the person asks twice."""
    yard.limits(stop_grace="10m")
    yard.scenario([{"ignore": ["SIGTERM", "SIGINT"]}, BEGUN, {"hang": True}])
    call = yard.start(*SPAWN)
    wait_for(lambda: begun(yard))
    call.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert call.poll() is None
    wait_for(lambda: _asked_again(call), 300)
    out, err = call.communicate()
    assert (call.returncode, err.decode().splitlines()[-2]) == (130, "error: interrupted: task 010 is in_progress"), out
    assert not yard.alive()


def _asked_again(call: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; a slow machine may take two signals for one, so it is asked until it has."""
    if call.poll() is None:
        call.send_signal(signal.SIGINT)
        time.sleep(2)
    return call.poll() is not None


def test_what_the_caller_ignores_is_ignored(yard: Yard) -> None:
    """Under nohup a worker goes on when the terminal goes away."""
    yard.scenario([BEGUN, {"sleep": 1}, {"status": "needs_review"}])
    call = subprocess.Popen(
        ["nohup", SOW, *SPAWN],
        cwd=yard.repo.root,
        env=yard.repo.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(lambda: begun(yard))
    code, out, _ = end(call, signal.SIGHUP)
    assert (code, out.splitlines()[-1]) == (0, "task 010: status is needs_review")
