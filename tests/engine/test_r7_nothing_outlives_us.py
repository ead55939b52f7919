"""R7: nothing that we started outlives us, and nothing else is ever signalled."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from conftest import FULL
from workers import Yard, end, wait_for

ORPHANS = {
    "forked twice": {"orphan": {"deaf": False}},
    "deaf": {"orphan": {"deaf": True}},
    "without its mark": {"orphan": {"unmarked": True}},
    "nohup": {"run": ["sh", "-c", "nohup sleep 300 >/dev/null 2>&1 &"]},
    "setsid": {"run": ["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 &"]},
}
ENDINGS = ("interrupt", "terminate", "timeout", "kill")
ROUNDS = 20 if FULL else 1


def sleepers(yard: Yard) -> set[int]:
    """Processes of the worker's family, marked or not, by the folder that they work in."""
    found = set()
    for name in subprocess.run(["ls", "/proc"], capture_output=True, text=True, check=True).stdout.split():
        if name.isdigit():
            link = subprocess.run(["readlink", f"/proc/{name}/cwd"], capture_output=True, text=True, check=False).stdout
            if link.strip() == str(yard.repo.root):
                found.add(int(name))
    return found


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ORPHANS)
def test_no_process_is_left(yard: Yard, kind: str, ending: str) -> None:
    """However the call ends, a family that forks, hides and ignores signals is gone afterwards."""
    yard.limits(stop_grace="500ms")
    for _ in range(ROUNDS):
        (yard.repo.root / "begun").unlink(missing_ok=True)
        yard.scenario(
            [
                {"ignore": ["SIGTERM", "SIGINT"]},
                ORPHANS[kind],
                {"sleep": 0.3},
                {"run": ["touch", "begun"]},
                {"hang": True},
            ]
        )
        timeout = ("--timeout", "3s") if ending == "timeout" else ()
        call = yard.start("agent", "spawn", "implementer", "010", "--fresh", *timeout)
        wait_for(lambda: (yard.repo.root / "begun").exists())
        assert len(yard.alive()) >= 1
        number = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}.get(ending)
        if number is None:
            call.communicate(timeout=60)
        else:
            end(call, number)
        if ending == "kill":  # nobody was there to clean up: the next call does
            yard.scenario([{"status": "needs_review"}])
            yard.resume()
        assert not yard.alive()
        if kind != "without its mark" or ending != "kill":
            assert not sleepers(yard)


def test_ctrl_c_says_so_and_the_task_can_go_on(yard: Yard) -> None:
    """An interrupted call exits 130, and the session is resumed afterwards."""
    yard.scenario(
        [{"run": ["touch", "begun"]}, {"hang": True}],
        [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}],
    )
    call = yard.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (yard.repo.root / "begun").exists())
    code, _, err = end(call, signal.SIGINT)
    assert code == 130
    assert err.splitlines()[-2].startswith("error: interrupted")
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_bystander_is_never_signalled(yard: Yard) -> None:
    """A process of the same user, in the same folder, without our mark and not of our family, lives on."""
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], cwd=yard.repo.root)
    try:
        yard.scenario([ORPHANS["deaf"], {"hang": True}])
        assert yard.spawn("--timeout", "1s").code == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_worker_that_lingers_after_its_last_word_is_ended(yard: Yard) -> None:
    """The final event counts: a worker that does not exit afterwards is stopped, and its work stands."""
    yard.limits(linger_timeout="1s")
    yard.scenario(
        [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}, {"finish": "done"}, {"hang": True}]
    )
    result = yard.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert not yard.alive()
