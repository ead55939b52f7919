"""Ctrl-C during `sow agent spawn` and `resume`: exit code 130, the task's status, and the command that continues."""

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
from support.simulated_workers import WorkerRepo, end, wait_for

BEGUN = {"run": ["touch", "begun"]}
SPAWN = ("agent", "spawn", "implementer", "010")


def begun(worker: WorkerRepo) -> bool:
    return (worker.repo.root / "begun").exists()


def interrupt(worker: WorkerRepo, *arguments: str) -> tuple[int, str, list[str]]:
    """Stops a call once its worker works; returns exit code, output, and the last two lines on stderr."""
    call = worker.start(*(arguments or SPAWN))
    wait_for(lambda: begun(worker))
    code, out, err = end(call, signal.SIGINT)
    assert not worker.alive()
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
def test_the_current_status_is_reported(
    worker: WorkerRepo, steps: list[dict[str, object]], status: str, door: str
) -> None:
    """The worker's status before the stop counts, and the hint continues from there."""
    worker.scenario(
        [*steps, BEGUN, {"hang": True}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}]
    )
    code, out, output = interrupt(worker)
    assert (code, worker.outcomes()) == (130, ["interrupted"])
    assert output == [f"error: interrupted: task 010 is {status}", f"hint: continue it: {door}"]
    assert "status is" not in out
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_resume_is_interrupted_in_the_same_way(worker: WorkerRepo) -> None:
    """The second turn of a session can be stopped too, and the session continues again."""
    worker.scenario([{"ask": "Which?"}], [BEGUN, {"hang": True}], [{"status": "needs_review"}])
    worker.spawn()
    code, _, output = interrupt(worker, "agent", "resume", "010", "Use RS256")
    assert (code, output[0]) == (130, "error: interrupted: task 010 is in_progress")
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_an_interrupted_call_prints_its_document(worker: WorkerRepo) -> None:
    """With --json stdout has the turn with its outcome, and stderr the error."""
    worker.scenario([BEGUN, {"hang": True}])
    code, out, output = interrupt(worker, *SPAWN, "--json")
    data = json.loads(out)
    assert (code, data["outcome"], data["task"]["status"]) == (130, "interrupted", "in_progress")
    assert output[0] == "error: interrupted: task 010 is in_progress"


def test_a_cli_without_resume_starts_fresh(worker: WorkerRepo) -> None:
    """The hint names the command that works for the executor of the session."""
    folder = worker.folder / "bin"
    install(worker.repo, "devin", folder)
    (folder / "devin").write_text("#!/bin/sh\ntouch begun\nexec sleep 300\n")
    code, _, output = interrupt(worker, *SPAWN, "--executor", "windsurf")
    assert (code, output[1]) == (130, "hint: continue it: sow agent spawn implementer 010 --fresh")
    worker.scenario([{"status": "needs_review"}])
    assert worker.spawn("--fresh").out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_a_waiting_call_leaves_the_task_as_it_was(worker: WorkerRepo) -> None:
    """A call that is stopped while it waits for a lock has started nothing, and the hint says how to start."""
    descriptor = os.open(worker.repo.root / ".git/sow/lock", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        call = worker.start(*SPAWN)
        wait_for(lambda: list((worker.repo.root / ".git/sow/claims").glob("claim-task-010*")))
        code, _, err = end(call, signal.SIGINT)
    finally:
        os.close(descriptor)
    assert code == 130
    assert err.splitlines() == [
        "error: interrupted: task 010 is pending",
        "hint: continue it: sow agent spawn implementer 010",
    ]
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_an_interrupted_reminder_fails_no_task(worker: WorkerRepo) -> None:
    """A worker that is stopped during its reminder keeps its task in progress."""
    worker.scenario([{"say": "I am done."}], [BEGUN, {"hang": True}], [{"status": "needs_review"}])
    code, _, output = interrupt(worker)
    assert (code, output[0]) == (130, "error: interrupted: task 010 is in_progress")
    assert worker.outcomes() == ["done", "interrupted"]
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_limit_in_a_reminder_is_waited_for(worker: WorkerRepo) -> None:
    """A reminder that meets a limit is waited for like any turn."""
    worker.scenario([{"say": "I am done."}], [{"limit": 60}])
    result = worker.spawn()
    assert (result.code, worker.repo.task("010")["status"]) == (4, "in_progress")


def test_a_second_ctrl_c_does_not_wait(worker: WorkerRepo) -> None:
    """A worker that ignores signals has its time to end, unless the person presses Ctrl-C again."""
    worker.limits(stop_grace="10m")
    worker.scenario([{"ignore": ["SIGTERM", "SIGINT"]}, BEGUN, {"hang": True}])
    call = worker.start(*SPAWN)
    wait_for(lambda: begun(worker))
    call.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert call.poll() is None
    wait_for(lambda: _asked_again(call), 300)
    out, err = call.communicate()
    assert (call.returncode, err.decode().splitlines()[-2]) == (130, "error: interrupted: task 010 is in_progress"), out
    assert not worker.alive()


def _asked_again(call: subprocess.Popen[bytes]) -> bool:
    """Repeats the signal until the process has ended; a slow machine may take two signals for one."""
    if call.poll() is None:
        call.send_signal(signal.SIGINT)
        time.sleep(2)
    return call.poll() is not None


def test_ignored_signals_stay_ignored(worker: WorkerRepo) -> None:
    """Under nohup a worker continues when the terminal closes."""
    worker.scenario([BEGUN, {"sleep": 1}, {"status": "needs_review"}])
    call = subprocess.Popen(
        ["nohup", SOW, *SPAWN],
        cwd=worker.repo.root,
        env=worker.repo.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(lambda: begun(worker))
    code, out, _ = end(call, signal.SIGHUP)
    assert (code, out.splitlines()[-1]) == (0, "task 010: status is needs_review")
