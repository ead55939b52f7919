"""One turn of a worker: how it starts, how it ends, and what is on disk then."""

from __future__ import annotations

import pytest
from workers import Yard


def test_a_worker_works_and_hands_in(yard: Yard) -> None:
    """A spawned worker edits real files, calls the real sow, and the call ends with its status."""
    result = yard.spawn()
    assert result.code == 0
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert (yard.repo.root / "simulated/010.md").read_text() == "Work on task 010, turn 1.\n"
    turn = yard.record()["turns"][0]
    assert (turn["kind"], turn["outcome"], turn["status"], turn["exit"]) == ("spawn", "done", "needs_review", 0)
    assert turn["cost_usd"] > 0
    assert turn["input_tokens"] > 0
    assert turn["tools"] == 4


def test_the_session_is_kept_through_reviews_and_cleared_at_the_end(yard: Yard) -> None:
    """Sent back, a task goes on in the same session with the next iteration; approved, it has no session any more."""
    yard.spawn()
    first = yard.repo.task("010")
    assert yard.resume("The error text tells too much").code == 0
    second = yard.repo.task("010")
    assert second["session_id"] == first["session_id"] == yard.record()["session_id"]
    assert (second["iteration"], second["status"]) == (2, "needs_review")
    assert second["feedback"][0]["text"] == "The error text tells too much"
    yard.repo.ok("approve", "010")
    assert "session_id" not in yard.repo.task("010")


def test_a_question_is_answered_by_resume(yard: Yard) -> None:
    """A paused worker is answered: its note is resolved with the answer, and the same session goes on."""
    yard.scenario(
        [{"ask": "Which algorithm?"}], [{"write": {"path": "jwt.py", "text": "RS256"}}, {"status": "needs_review"}]
    )
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is paused"
    assert yard.resume("Use RS256").out.splitlines()[-1] == "task 010: status is needs_review"
    task = yard.repo.task("010")
    assert task["notes"][0]["resolution"] == "Use RS256"
    assert task["questions"][0]["answer"] == "Use RS256"
    assert "Use RS256" in yard.transcript(2, "prompt").read_text()


def test_a_silent_worker_with_work_counts_as_handed_in(yard: Yard) -> None:
    """A worker that never heard of sow but used a tool has handed its work in, which is recorded as inferred."""
    yard.scenario([{"write": {"path": "a.py", "text": "x"}}])
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is needs_review"
    assert yard.record()["turns"][0]["inferred"] is True


def test_an_idle_worker_is_reminded_once_and_then_failed(yard: Yard) -> None:
    """A worker that does nothing gets one reminder in the same session; then the task is failed."""
    yard.scenario([{"say": "I am done."}])
    result = yard.spawn()
    assert (result.code, result.out.splitlines()[-1]) == (0, "task 010: status is failed")
    assert [turn["kind"] for turn in yard.record()["turns"]] == ["spawn", "reminder"]


def test_a_reminded_worker_can_still_hand_in(yard: Yard) -> None:
    """The reminder is a real turn: a worker that sets its status then has done so."""
    yard.scenario([{"say": "I am done."}], [{"status": "needs_review"}])
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


def test_an_open_note_keeps_a_silent_worker_from_being_done(yard: Yard) -> None:
    """Work with an open note is never inferred to be done."""
    yard.scenario([{"write": {"path": "a.py", "text": "x"}}, {"note": {"description": "unsure"}}])
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is failed"


def test_a_second_spawn_is_refused(yard: Yard) -> None:
    """A task with a session is resumed, or started afresh on demand with what is on disk."""
    yard.spawn()
    refused = yard.spawn()
    assert refused.code == 2
    assert "has a session already" in refused.err
    assert "--fresh" in refused.err
    first = yard.record()["session_id"]
    assert yard.spawn("--fresh").code == 0
    assert yard.record(2)["session_id"] != first
    assert "Do not start over" in yard.transcript(1, "prompt", session=2).read_text()


def test_a_rate_limit_is_waiting_and_no_attempt(yard: Yard) -> None:
    """A limited worker leaves the task where it was, exit 4, with the time of the reset."""
    yard.scenario([{"limit": 3600}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    result = yard.spawn()
    assert result.code == 4
    assert "has reached its limit" in result.err
    assert yard.outcomes() == ["limited"]
    assert (yard.repo.task("010")["iteration"], yard.repo.task("010")["status"]) == (1, "in_progress")
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


def test_a_fallback_takes_over(yard: Yard) -> None:
    """Where a role names a fallback, a limited executor is followed by it, with a packet of what is on disk."""
    config = yard.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    limited = yard.folder / "limited.yaml"
    limited.write_text("tasks: {default: [[{limit: 60}]]}\n")
    config.write_text(
        f"agents:\n  executors:\n    first: {{type: simulated, settings: {{scenario: {limited}}}}}\n"
        "  bindings:\n    implementer: first\n  fallbacks:\n    implementer: [simulated]\n"
    )
    del yard.repo.environment["SOW_AGENTS_IMPLEMENTER"]
    result = yard.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "simulated takes over" in result.err
    assert [yard.record(number)["executor"] for number in (1, 2)] == ["first", "simulated"]


@pytest.mark.parametrize("status", [500, 503, 529])
def test_an_overloaded_service_is_a_turn_that_did_not_happen(yard: Yard, status: int) -> None:
    """An overload is exit 1 with a typed outcome; the task stays in progress and can go on."""
    yard.scenario([{"error": status}])
    result = yard.spawn()
    assert result.code == 1
    assert "overloaded" in result.err
    assert yard.repo.task("010")["status"] == "in_progress"


def test_a_worker_cannot_write_its_own_verdict(yard: Yard) -> None:
    """State files that a worker edits by hand are put back; only a legal move of its own task is taken from them."""
    yard.repo.ok("task", "create", "--name", "Another")
    mine, other = (str(yard.repo.desk(each) / "state.yaml") for each in ("010", "020"))
    yard.scenario(
        [
            {"run": ["sed", "-i", "s/status: in_progress/status: completed/", mine]},
            {"run": ["sed", "-i", "s/status: pending/status: abandoned/", other]},
            {"write": {"path": "a.py", "text": "x"}},
        ]
    )
    result = yard.spawn()
    assert yard.repo.task("010")["status"] == "needs_review"
    assert yard.repo.task("020")["status"] == "pending"
    assert "edited" in result.err


def test_a_dry_run_changes_nothing(yard: Yard) -> None:
    """--dry-run prints the command line and the names of the environment, and leaves every file as it was."""
    before = yard.repo.snapshot()
    result = yard.spawn("--dry-run")
    assert result.code == 0
    assert "-m sow.simulated --session-id" in result.out
    assert "SOW_TASK" in result.out
    assert yard.repo.snapshot() == before


def test_verbose_says_how_the_executor_was_chosen(yard: Yard) -> None:
    """The resolution lines are the documented ones."""
    lines = yard.spawn("--verbose").err.splitlines()
    assert lines[0] == "Loading agent configuration..."
    assert lines[1].endswith("(not found, using defaults)")
    assert lines[2:5] == [
        "Agent: implementer",
        "Executor: simulated (from environment: SOW_AGENTS_IMPLEMENTER)",
        "Settings: yolo_mode=false (default)",
    ]


def test_two_spawns_at_once_share_nothing(yard: Yard) -> None:
    """While one call works on a task, a second is refused, naming the process that has it."""
    yard.scenario([{"run": ["touch", "begun"]}, {"sleep": 4}, {"status": "needs_review"}])
    first = yard.start("agent", "spawn", "implementer", "010")
    from workers import wait_for

    wait_for(lambda: (yard.repo.root / "begun").exists())
    second = yard.resume()
    assert second.code == 4
    assert f"pid {first.pid}" in second.err
    assert first.communicate(timeout=30)[0].decode().splitlines()[-1] == "task 010: status is needs_review"
