"""Q1 for workers: a bad call is refused before anything is written, with the place and the next step."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from support.simulated_workers import WorkerRepo, wait_for

FAKE = """#!/bin/sh
{body}
"""


def fake(worker: WorkerRepo, name: str, body: str) -> None:
    """Makes a program of this name, first on PATH."""
    folder = worker.folder / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(FAKE.format(body=body))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    worker.repo.environment["PATH"] = f"{folder}:{worker.repo.environment['PATH']}"


ROWS = [
    (("agent", "spawn", "implementor", "010"), 2, "unknown agent: implementor", "implementer"),
    (("agent", "spawn", "orchestrator", "010"), 2, "the orchestrator is no worker", "sow agent spawn implementer 010"),
    (
        ("agent", "spawn", "orchestrator", "010", "--dry-run"),
        2,
        "the orchestrator is no worker",
        "sow prompt templates",
    ),
    (("agent", "spawn", "implementer", "999"), 2, "there is no task 999", "010"),
    (("agent", "spawn", "implementer", "x"), 2, "'x' is not a task id", "010"),
    (("agent", "spawn", "implementer"), 2, "TASK is missing", "usage:"),
    (("agent", "spawn", "reviewer", "010"), 2, "task 010 is for implementer", "sow task set 010 agent reviewer"),
    (("agent", "spawn", "implementer", "010", "--worktree"), 2, "only sow run uses worktrees", "sow run PLAN"),
    (
        ("agent", "spawn", "implementer", "010", "--executor", "nobody"),
        2,
        "unknown executor: nobody",
        "Available executors:",
    ),
    (("agent", "spawn", "implementer", "010", "--executor", "codex"), 2, "executor binary not found: codex", "PATH"),
    (("agent", "spawn", "implementer", "010", "--timeout", "soon"), 2, "'soon' is not a duration", "90s"),
    (("agent", "resume", "010", "go on"), 2, "no session found for task 010", "sow agent spawn implementer 010"),
    (("agent", "resume", "010", ""), 2, "the prompt is empty", "words"),
    (("agent", "resume", "010", "@missing.txt"), 2, "there is no file 'missing.txt'", "@"),
    (("agent", "show", "nobody"), 2, "unknown agent: nobody", "sow agent list"),
    (("agent", "validate", "missing.md"), 2, "missing.md", "path"),
    (("prompt", "guidance/nobody/base"), 2, "guidance/nobody/base", "prompt"),
]


@pytest.mark.parametrize("words, code, error, hint", ROWS)
def test_a_wrong_call_is_refused(worker: WorkerRepo, words: tuple[str, ...], code: int, error: str, hint: str) -> None:
    """A wrong call prints one error line, one hint line with the next step, and changes nothing."""
    worker.repo.environment["PATH"] = f"{Path(__import__('sys').executable).parent}:/usr/bin:/bin"
    before = worker.repo.snapshot()
    result = worker.repo.sow(*words)
    assert result.code == code, result
    assert [line for line in result.err.splitlines() if line.startswith("error:")] == [result.err.splitlines()[0]]
    assert error in result.err.splitlines()[0]
    assert hint in result.err
    assert "Traceback" not in result.err
    assert worker.repo.snapshot() == before


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_an_ended_task_gets_no_worker(worker: WorkerRepo, status: str) -> None:
    """No worker starts on a completed or abandoned task, and its earlier worker is not resumed."""
    if status == "completed":
        worker.spawn()
        worker.repo.ok("approve", "010")
    else:
        worker.repo.ok("task", "abandon", "010", "--reason", "no longer wanted")
    for result in (worker.spawn(), worker.resume()):
        assert (result.code, result.err.splitlines()[0]) == (2, f"error: task 010 is {status}")


def test_a_question_without_a_session_can_be_answered(worker: WorkerRepo) -> None:
    """A task that a person paused is answered first, as the hint says; then a worker can start."""
    worker.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    worker.repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which?")
    result = worker.spawn()
    assert result.err.splitlines() == ["error: task 010 waits for an answer", 'hint: answer it: sow answer 1 "…"']
    worker.repo.ok("answer", "1", "Use RS256")
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_worker_spawns_no_worker(worker: WorkerRepo) -> None:
    """A worker cannot start another worker, nor resume itself with an answer."""
    worker.spawn()
    for case in (("agent", "spawn", "implementer", "010", "--fresh"), ("agent", "resume", "010", "yes")):
        result = worker.repo.sow(*case, SOW_TASK="010", SOW_AGENT="implementer")
        assert result.code == 2
        assert "a worker may not" in result.err


LONG = 2 << 20


@pytest.mark.full
def test_feedback_of_two_megabytes(worker: WorkerRepo) -> None:
    """The worker gets the whole text as feedback; as an answer, which the state stores, it is refused."""
    text = worker.folder / "long.txt"
    text.write_text("e" * LONG)
    worker.scenario([{"status": "needs_review"}], [{"ask": "Which?"}], [{"status": "needs_review"}])
    worker.spawn()
    assert worker.resume(f"@{text}").out.splitlines()[-1] == "task 010: status is paused"
    assert worker.transcript(2, "prompt").read_text().startswith("e" * LONG + "\n")
    assert len(worker.repo.task("010")["feedback"][0]["text"]) == LONG
    before = worker.repo.snapshot()
    refused = worker.resume(f"@{text}")
    assert (refused.code, f"the answer is {LONG} characters long" in refused.err) == (2, True), refused
    assert worker.repo.snapshot() == before


def test_feedback_that_is_too_large_to_read_back_is_refused(worker: WorkerRepo) -> None:
    """Feedback that would exceed the limit of a file is refused, and nothing changes."""
    text = worker.folder / "long.txt"
    text.write_text("\x01" * LONG)  # each becomes its picture, of three bytes
    worker.spawn()
    before = worker.repo.snapshot()
    refused = worker.resume(f"@{text}")
    assert (refused.code, "too long to be read back" in refused.err) == (2, True), refused
    assert worker.repo.snapshot() == before


def test_a_binary_that_prints_garbage(worker: WorkerRepo) -> None:
    """The turn of a program that is no agent counts as not started, and its output is shown."""
    fake(worker, "claude", "echo 'segmentation fault'; echo 'cannot open display' >&2; exit 3")
    result = worker.spawn("--executor", "claude-code")
    assert result.code == 1
    assert "cannot open display" in result.err
    assert worker.record()["turns"][0]["exit"] == 3


def test_a_binary_that_hangs_at_its_start(worker: WorkerRepo) -> None:
    """A program that prints nothing is ended by the silence limit, and leaves nothing behind."""
    worker.limits(silence_timeout="1s")
    fake(worker, "claude", "exec sleep 300")
    result = worker.spawn("--executor", "claude-code")
    assert (result.code, "silence" in result.err) == (1, True)
    assert not worker.alive()


def test_a_failed_first_turn_can_be_retried(worker: WorkerRepo) -> None:
    """After a start that failed, resume continues: the CLI does not know the session, so a fresh one starts."""
    fake(
        worker,
        "claude",
        'case "$2" in --resume) echo "No conversation found with session ID: $3" >&2;; esac; exit 1',
    )
    assert worker.spawn("--executor", "claude-code").code == 1
    result = worker.resume()
    assert "the session is gone" in result.err


def test_a_task_is_claimed_while_a_worker_works(worker: WorkerRepo) -> None:
    """During a turn other calls can change any task, but no second worker can start on this one."""
    worker.scenario([{"run": ["touch", "begun"]}, {"sleep": 3}, {"status": "needs_review"}])
    call = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    worker.repo.ok("task", "create", "--name", "Another")
    worker.repo.ok("log", "--task", "010", "a word from outside")
    assert worker.spawn("--fresh").code == 4
    call.communicate(timeout=300)
    assert call.returncode == 0


def test_another_role_takes_a_task_only_on_purpose(worker: WorkerRepo) -> None:
    """The refused spawn changes nothing; the command of its hint works (A25)."""
    assert worker.repo.sow("agent", "spawn", "planner", "010").code == 2
    assert worker.repo.task("010")["assigned_agent"] == "implementer"
    worker.repo.ok("task", "set", "--id", "010", "agent", "planner")
    assert worker.repo.ok("agent", "spawn", "planner", "010", "--executor", "simulated", "--dry-run").code == 0


def test_without_a_login_the_user_is_told_to_log_in(worker: WorkerRepo) -> None:
    """Claude's message about a missing login comes with the login command, before the command that continues (A23)."""
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "Not logged in · Please run /login"}
    fake(worker, "claude", f"cat > /dev/null\necho '{json.dumps(result)}'\nexit 1")
    outcome = worker.repo.sow("agent", "spawn", "implementer", "010", "--executor", "claude-code")
    assert outcome.code == 1 and "failed: Not logged in" in outcome.err
    hint = outcome.err.partition("hint: ")[2]
    assert hint.startswith("start `claude` once and log in, then continue: sow agent resume 010"), outcome
