"""R7: no process that sow started outlives it, and no other process gets a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FULL, SOW
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, end, environment_of, script, wait_for

ORPHANS = {
    "forked twice": {"orphan": {"deaf": False}},
    "deaf": {"orphan": {"deaf": True}},
    "without its mark": {"orphan": {"unmarked": True}},
    "nohup": {"run": ["sh", "-c", "nohup sleep 300 >/dev/null 2>&1 &"]},
    "setsid": {"run": ["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 &"]},
}
ENDINGS = ("interrupt", "terminate", "timeout", "kill")
ROUNDS = 20 if FULL else 1


def sleepers(worker: WorkerRepo) -> set[int]:
    """Returns processes of the worker's family, marked or not, by their working folder."""
    result = set()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # ended meanwhile
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(worker.repo.root):
                result.add(int(name))
    return result


@few_of("ending", ENDINGS, 3)
@few_of("kind", ORPHANS, 2)
def test_no_process_is_left(worker: WorkerRepo, kind: str, ending: str) -> None:
    """However the call ends, processes that fork, hide and ignore signals are gone afterwards."""
    worker.limits(stop_grace="500ms")
    for _ in range(ROUNDS):
        (worker.repo.root / "begun").unlink(missing_ok=True)
        worker.scenario(
            [
                {"ignore": ["SIGTERM", "SIGINT"]},
                ORPHANS[kind],
                {"sleep": 0.3},
                {"run": ["touch", "begun"]},
                {"hang": True},
            ]
        )
        timeout = ("--timeout", "8s") if ending == "timeout" else ()
        call = worker.start("agent", "spawn", "implementer", "010", "--fresh", *timeout)
        wait_for(lambda: (worker.repo.root / "begun").exists())
        assert len(worker.alive()) >= 1
        number = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}.get(ending)
        if number is None:
            call.communicate(timeout=300)
        else:
            end(call, number)
        if ending == "kill":  # nobody was there to clean up: the next call does
            worker.scenario([{"status": "needs_review"}])
            worker.resume()
        assert not worker.alive()
        if kind != "without its mark" or ending != "kill":
            assert not sleepers(worker)
        for pid in sleepers(worker):  # whom nobody can find any more
            os.kill(pid, signal.SIGKILL)


def test_an_interrupted_task_can_continue(worker: WorkerRepo) -> None:
    """An interrupted call exits 130, and the session can be resumed."""
    worker.scenario(
        [{"run": ["touch", "begun"]}, {"hang": True}],
        [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}],
    )
    call = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    code, _, err = end(call, signal.SIGINT)
    assert code == 130
    assert err.splitlines()[-2].startswith("error: interrupted")
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_bystander_is_never_signalled(worker: WorkerRepo) -> None:
    """A process of the same user in the same folder, without a mark and not below the worker, lives on."""
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], cwd=worker.repo.root)
    try:
        worker.scenario([ORPHANS["deaf"], {"hang": True}])
        assert worker.spawn("--timeout", "1s").code == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


# Each starts somebody who is no work of ours, and becomes sow, so that it is a child of ours from the beginning; the
# last one's parent ends during the turn, and then it is our child too.
BEFORE_US = {
    "a job of the shell": "sleep 300 & echo $! > other",
    "a job in a session of its own": "setsid sleep 300 & echo $! > other",
    "a job of a job": "(sleep 300 & echo $! > other; while [ ! -e begun ]; do sleep 0.05; done; echo over > over) &",
}


@pytest.mark.parametrize("other", BEFORE_US)
def test_an_earlier_child_is_never_signalled(worker: WorkerRepo, other: str) -> None:
    """A shell that starts a job and then becomes sow keeps its job."""
    wait = "touch begun; while [ ! -e go ]; do sleep 0.05; done"
    worker.scenario([ORPHANS["without its mark"], {"run": ["sh", "-c", wait]}, {"status": "needs_review"}])
    text = f"{BEFORE_US[other]}\nexec {SOW} agent spawn implementer 010"
    call = subprocess.Popen(
        ["sh", "-c", text], cwd=worker.repo.root, env=worker.repo.environment, stdout=subprocess.DEVNULL
    )
    pid = int(
        wait_for(lambda: (worker.repo.root / "other").exists() and (worker.repo.root / "other").read_text().strip())
    )
    try:
        wait_for(lambda: (worker.repo.root / "begun").exists())
        if other == "a job of a job":
            wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(call.pid))
        (worker.repo.root / "go").touch()
        assert call.wait(timeout=300) == 0
        assert environment_of(pid), "it was killed"
        assert sleepers(worker) == {pid}
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_second_ctrl_c_does_not_wait(worker: WorkerRepo) -> None:
    """The first Ctrl-C gives a worker time to end, and the second ends it at once."""
    deaf = "#!/bin/sh\ntrap 'touch asked' TERM INT\ntouch begun\nwhile :; do sleep 0.1; done\n"
    script(worker, deaf, limits={"stop_grace": "1h"})
    call = worker.start("agent", "spawn", "implementer", "010", "--executor", "script")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    call.send_signal(signal.SIGINT)
    wait_for(lambda: (worker.repo.root / "asked").exists())
    assert call.poll() is None
    assert end(call, signal.SIGINT)[0] == 130
    assert not worker.alive()


def test_a_closed_pipe_leaves_no_process(worker: WorkerRepo) -> None:
    """`sow agent spawn … | head -1` ends, and so does a worker that ignores signals."""
    worker.limits(stop_grace="500ms")
    steps = [{"say": f"line {number}"} for number in range(50)]
    worker.scenario([{"ignore": ["SIGTERM", "SIGINT"]}, *steps, {"sleep": 0.5}, *steps, {"hang": True}])
    with worker.start("agent", "spawn", "implementer", "010", "--timeout", "3s") as call:
        assert call.stdout
        call.stdout.readline()
        call.stdout.close()
        try:
            call.wait(timeout=300)
            assert not worker.alive()
        finally:
            call.kill()
            for pid in worker.alive():
                os.kill(pid, signal.SIGKILL)


def test_a_worker_that_stays_after_its_final_event_is_ended(worker: WorkerRepo) -> None:
    """The final event counts: a worker that does not exit is stopped, and its work counts."""
    worker.limits(linger_timeout="1s")
    worker.scenario(
        [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}, {"finish": "done"}, {"hang": True}]
    )
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert not worker.alive()
