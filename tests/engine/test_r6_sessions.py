"""R6: the session id is on disk before the agent starts, and resume takes the right door."""

from __future__ import annotations

import signal

import pytest
from workers import Yard, end, wait_for

WORK = [{"write": {"path": "a.py", "text": "x"}}, {"status": "needs_review"}]


def test_the_id_is_on_disk_before_the_first_instruction(yard: Yard) -> None:
    """What the worker sees in its first step is a state file that names its session already."""
    yard.scenario([{"run": ["cp", str(yard.repo.desk("010") / "state.yaml"), "seen.yaml"]}, *WORK])
    yard.spawn()
    assert yard.record()["key"] in (yard.repo.root / "seen.yaml").read_text()


@pytest.mark.parametrize("steps", [[{"kill": True}], [{"run": ["touch", "begun"]}, {"hang": True}]])
def test_a_worker_that_dies_is_resumed_in_its_session(yard: Yard, steps: list[dict[str, object]]) -> None:
    """After the worker's own death, or ours, the same session goes on where it was."""
    yard.scenario(steps, WORK)
    if "kill" in steps[0]:
        assert yard.spawn().code == 1
    else:
        call = yard.start("agent", "spawn", "implementer", "010")
        wait_for(lambda: (yard.repo.root / "begun").exists())
        end(call, signal.SIGKILL)
    before = yard.repo.task("010")
    assert before["status"] == "in_progress"
    result = yard.resume()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert yard.repo.task("010")["session_id"] == before["session_id"]
    assert not yard.alive()


def test_killed_between_the_record_and_the_start(yard: Yard) -> None:
    """A session whose process never started is unknown to the CLI: a fresh one starts from what is on disk."""
    yard.spawn()
    memory = yard.folder / "home" / ".local" / "state" / "sow-simulated"
    (memory / f"{yard.record()['session_id']}.json").unlink()
    result = yard.resume("Make it faster")
    assert result.code == 0, result
    assert "the session is gone" in result.err
    prompt = yard.transcript(1, "prompt", session=2).read_text()
    assert "Do not start over" in prompt
    assert "Make it faster" in prompt
    assert yard.repo.task("010")["session_id"] == yard.record(2)["session_id"]


def test_another_id_in_the_answer_is_not_the_session(yard: Yard) -> None:
    """A CLI that silently starts another session on resume is stopped, and a fresh one gets the whole packet."""
    yard.scenario(
        WORK, [{"other_session": "11111111-1111-4111-8111-111111111111"}, {"say": "Who am I?"}, {"hang": True}]
    )
    yard.spawn()
    yard.scenario(
        WORK, [{"other_session": "11111111-1111-4111-8111-111111111111"}, {"say": "Who am I?"}, {"hang": True}]
    )
    result = yard.resume()
    assert yard.outcomes()[1] == "not_found"
    assert "another session" in result.err
    assert yard.record(2)["turns"][0]["kind"] == "recovery"
    assert not yard.alive()


def test_a_session_in_use_is_said(yard: Yard) -> None:
    """A CLI that refuses an id as taken is a turn that did not happen, with its own words."""
    yard.spawn()
    record = yard.record()
    memory = yard.folder / "home" / ".local" / "state" / "sow-simulated"
    assert (memory / f"{record['session_id']}.json").exists()
    import subprocess
    import sys

    again = subprocess.run(
        [sys.executable, "-m", "sow.simulated", "--session-id", record["session_id"]],
        env={**yard.repo.environment},
        input=b"hello",
        capture_output=True,
    )
    assert again.returncode == 1
    assert b"is already in use" in again.stderr


def test_a_silent_cli_is_stopped(yard: Yard) -> None:
    """A CLI that says nothing for longer than the silence allows is stopped, and the session can go on."""
    yard.limits(silence_timeout="1s")
    yard.scenario([{"hang": True}], WORK)
    result = yard.spawn()
    assert result.code == 1
    assert "silence" in result.err
    assert not yard.alive()
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_without_a_record_a_fresh_session_starts(yard: Yard) -> None:
    """On another machine, where the record is missing, resume starts a fresh session with the packet."""
    yard.spawn()
    import shutil

    shutil.rmtree(yard.repo.root / ".sow/local/sessions")
    result = yard.resume()
    assert result.code == 0
    assert "no record of the session" in result.err


def test_resume_without_a_session_says_so(yard: Yard) -> None:
    """A task that was never started has no session, in the documented words."""
    result = yard.resume()
    assert result.code == 2
    assert result.err.splitlines() == [
        "error: no session found for task 010",
        "hint: Task has not been started or session has expired.",
        "      Use `sow agent spawn implementer 010` to start a new session.",
    ]
