"""One turn of a worker: its start, its end, and its files on disk."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from conftest import SOW
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, wait_for


def test_a_worker_works_and_hands_in(worker: WorkerRepo) -> None:
    """A spawned worker edits real files, calls the real sow, and the call ends with its status."""
    result = worker.spawn()
    assert result.code == 0
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert (worker.repo.root / "simulated/010.md").read_text() == "Work on task 010, turn 1.\n"
    turn = worker.record()["turns"][0]
    assert (turn["kind"], turn["outcome"], turn["status"], turn["exit"]) == ("spawn", "done", "needs_review", 0)
    assert turn["cost_usd"] > 0
    assert turn["input_tokens"] > 0
    assert turn["tools"] == 4


def test_a_session_is_kept_until_the_approval(worker: WorkerRepo) -> None:
    """Sent back, a task continues in the same session with the next iteration; approved, it has no session."""
    worker.spawn()
    first = worker.repo.task("010")
    assert worker.resume("The error text tells too much").code == 0
    second = worker.repo.task("010")
    assert second["session_id"] == first["session_id"] == worker.record()["session_id"]
    assert (second["iteration"], second["status"]) == (2, "needs_review")
    assert second["feedback"][0]["text"] == "The error text tells too much"
    worker.repo.ok("approve", "010")
    assert "session_id" not in worker.repo.task("010")


@pytest.mark.full
def test_spawn_and_resume_are_in_the_projects_log(worker: WorkerRepo) -> None:
    """The project's log has the worker of each task, and the prompts of the user (A3, B12)."""
    worker.spawn()
    worker.resume("The error text tells too much")
    entries = worker.repo.ok("log", "--list", "--json").json["entries"]
    assert [entry["action"] for entry in entries[-2:]] == ["agent_spawn", "agent_resume"]
    assert entries[-1]["text"].endswith(", iteration 1: The error text tells too much")
    assert entries[-2]["text"] == f"implementer on task 010 ({worker.repo.task('010')['name']}), iteration 1"


@pytest.mark.full
def test_a_question_is_answered_by_resume(worker: WorkerRepo) -> None:
    """A paused worker is answered: its note is resolved with the answer, and the same session continues."""
    worker.scenario(
        [{"ask": "Which algorithm?"}], [{"write": {"path": "jwt.py", "text": "RS256"}}, {"status": "needs_review"}]
    )
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is paused"
    assert worker.resume("Use RS256").out.splitlines()[-1] == "task 010: status is needs_review"
    task = worker.repo.task("010")
    assert task["notes"][0]["resolution"] == "Use RS256"
    assert task["questions"][0]["answer"] == "Use RS256"
    assert "Use RS256" in worker.transcript(2, "prompt").read_text()


@pytest.mark.full
def test_an_answer_before_the_end_of_the_turn(worker: WorkerRepo) -> None:
    """An answer before the worker's turn has ended continues the task, and nothing counts as handed in."""
    go = worker.folder / "go"
    wait = {"run": ["sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done"]}
    worker.scenario([{"ask": "Which algorithm?"}, wait], [{"status": "needs_review"}])
    process = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: worker.repo.task("010")["status"] == "paused")
    worker.repo.ok("answer", "010", "Use RS256")
    go.touch()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.decode().splitlines()[-1] == "task 010: status is in_progress"
    assert [(turn["kind"], turn.get("inferred", False)) for turn in worker.record()["turns"]] == [("spawn", False)]
    assert worker.repo.task("010")["iteration"] == 2
    assert worker.resume("Continue").out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.parametrize("there", [True, False])
def test_a_scripted_worker_has_conditions(worker: WorkerRepo, there: bool) -> None:
    """The step `if` takes one branch if its program succeeds, and the other if not."""
    way = {name: [{"write": {"path": "way.txt", "text": name}}] for name in ("then", "else")}
    worker.scenario([{"if": {"run": "test -e sign.txt", **way}}, {"status": "needs_review"}])
    if there:
        (worker.repo.root / "sign.txt").touch()
    assert worker.spawn().code == 0
    assert (worker.repo.root / "way.txt").read_text() == ("then" if there else "else")


def test_a_silent_worker_with_work_counts_as_handed_in(worker: WorkerRepo) -> None:
    """A worker that does not call sow but used a tool has handed its work in, recorded as inferred."""
    worker.scenario([{"write": {"path": "a.py", "text": "x"}}])
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is needs_review"
    assert worker.record()["turns"][0]["inferred"] is True


def test_an_idle_worker_is_reminded_once_and_then_failed(worker: WorkerRepo) -> None:
    """A worker that does nothing gets one reminder in the same session; then the task is failed."""
    worker.scenario([{"say": "I am done."}])
    result = worker.spawn()
    assert (result.code, result.out.splitlines()[-1]) == (0, "task 010: status is failed")
    assert [turn["kind"] for turn in worker.record()["turns"]] == ["spawn", "reminder"]


def test_a_reminded_worker_can_still_hand_in(worker: WorkerRepo) -> None:
    """The reminder is a real turn: a worker that sets its status then has done so."""
    worker.scenario([{"say": "I am done."}], [{"status": "needs_review"}])
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


def test_an_open_note_blocks_a_silent_hand_in(worker: WorkerRepo) -> None:
    """Work with an open note is never inferred to be done."""
    worker.scenario([{"write": {"path": "a.py", "text": "x"}}, {"note": {"description": "unsure"}}])
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is failed"


@pytest.mark.full
def test_a_second_spawn_is_refused(worker: WorkerRepo) -> None:
    """A task with a session is resumed, or started fresh on demand with the state on disk."""
    worker.spawn()
    refused = worker.spawn()
    assert refused.code == 2
    assert "has a session already" in refused.err
    assert "--fresh" in refused.err
    first = worker.record()["session_id"]
    assert worker.spawn("--fresh").code == 0
    assert worker.record(2)["session_id"] != first
    assert "Do not start over" in worker.transcript(1, "prompt", session=2).read_text()


def test_a_rate_limit_changes_no_status(worker: WorkerRepo) -> None:
    """A limited worker leaves the task where it was, exit 4, with the time of the reset and its zone (A24)."""
    worker.scenario([{"limit": 3600}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    worker.repo.environment["TZ"] = "Asia/Tokyo"
    result = worker.spawn()
    assert result.code == 4
    assert "has reached its limit" in result.err
    assert "five_hour" not in result.err
    assert re.search(r"^  ! the five hour limit is reached \(until .*\d\d:\d\d JST\)$", result.err, re.MULTILINE)
    assert re.search(r"continue at .*\d\d:\d\d JST: sow agent resume 010", result.err)
    assert worker.outcomes() == ["limited"]
    assert (worker.repo.task("010")["iteration"], worker.repo.task("010")["status"]) == (1, "in_progress")
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_a_fallback_takes_over(worker: WorkerRepo) -> None:
    """A fallback of the role replaces a limited executor, with the state on disk."""
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    limited = worker.folder / "limited.yaml"
    limited.write_text("tasks: {default: [[{limit: 60}]]}\n")
    config.write_text(
        f"agents:\n  executors:\n    first: {{type: simulated, settings: {{scenario: {limited}}}}}\n"
        "  bindings:\n    implementer: first\n  fallbacks:\n    implementer: [simulated]\n"
    )
    del worker.repo.environment["SOW_AGENTS_IMPLEMENTER"]
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "simulated takes over" in result.err
    assert [worker.record(number)["executor"] for number in (1, 2)] == ["first", "simulated"]


@pytest.mark.parametrize("status", [500, 503, 529])
def test_an_overloaded_service_can_be_retried(worker: WorkerRepo, status: int) -> None:
    """An overload is exit 1 with a typed outcome; the task stays in progress and can continue."""
    worker.scenario([{"error": status}])
    result = worker.spawn()
    assert result.code == 1
    assert "overloaded" in result.err
    assert worker.repo.task("010")["status"] == "in_progress"


def test_a_worker_cannot_write_its_own_verdict(worker: WorkerRepo) -> None:
    """State files that a worker edits by hand are restored; only a legal move of its own task is kept."""
    worker.repo.ok("task", "create", "--name", "Another")
    mine, other = (str(worker.repo.task_folder(name) / "state.yaml") for name in ("010", "020"))
    worker.scenario(
        [
            {"run": ["sed", "-i", "s/status: in_progress/status: completed/", mine]},
            {"run": ["sed", "-i", "s/status: pending/status: abandoned/", other]},
            {"write": {"path": "a.py", "text": "x"}},
        ]
    )
    result = worker.spawn()
    assert worker.repo.task("010")["status"] == "needs_review"
    assert worker.repo.task("020")["status"] == "pending"
    assert "edited" in result.err


def by_hand(worker: WorkerRepo, status: str) -> dict[str, list[str]]:
    """Returns a step in which the worker writes a status into its state file."""
    path = str(worker.repo.task_folder("010") / "state.yaml")
    return {"run": ["sed", "-i", f"s/status: in_progress/status: {status}/", path]}


@pytest.mark.full
def test_a_pause_by_hand_is_a_question(worker: WorkerRepo) -> None:
    """A worker that pauses by editing its state file asks its last log entry, with a number."""
    worker.scenario([{"log": "Which algorithm?"}, by_hand(worker, "paused")], [{"status": "needs_review"}])
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is paused"
    waiting = worker.repo.ok("inbox", "--json").json["items"]
    assert [(entry["number"], entry["text"]) for entry in waiting] == [(1, "Which algorithm?")]
    worker.resume("Use RS256")
    assert worker.repo.task("010")["questions"][0]["answer"] == "Use RS256"


@pytest.mark.full
def test_an_open_note_blocks_a_hand_in_by_hand(worker: WorkerRepo) -> None:
    """Editing the state file does not avoid the condition: the state is restored, and the reason is shown."""
    worker.scenario([{"note": {"description": "unsure"}}, by_hand(worker, "needs_review")], [{"status": "failed"}])
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is failed"
    assert "task 010 has open notes: note_001; the last good state is back" in result.err


def test_a_dry_run_changes_nothing(worker: WorkerRepo) -> None:
    """--dry-run prints the command line and the names of the variables, and leaves every file as it was."""
    before = worker.repo.snapshot()
    result = worker.spawn("--dry-run")
    assert result.code == 0
    assert "-m sow.simulated --session-id" in result.out
    assert "SOW_TASK" in result.out
    assert worker.repo.snapshot() == before


def test_verbose_explains_the_executor(worker: WorkerRepo) -> None:
    """The lines are the documented ones."""
    lines = worker.spawn("--verbose").err.splitlines()
    assert lines[0].startswith("Checkout: ")
    assert lines[1].endswith("(not found, using defaults)")
    assert lines[2] == "Loading agent configuration..."
    assert lines[3:6] == [
        "Agent: implementer",
        "Executor: simulated (from environment: SOW_AGENTS_IMPLEMENTER)",
        "Settings: yolo_mode=false (default)",
    ]


@pytest.mark.full
def test_two_parallel_spawns_are_refused(worker: WorkerRepo) -> None:
    """While one call works on a task, a second is refused with the id of the first process."""
    worker.scenario([{"run": ["touch", "begun"]}, {"sleep": 4}, {"status": "needs_review"}])
    first = worker.start("agent", "spawn", "implementer", "010")
    from support.simulated_workers import wait_for

    wait_for(lambda: (worker.repo.root / "begun").exists())
    second = worker.resume()
    assert second.code == 4
    assert f"pid {first.pid}" in second.err
    assert first.communicate(timeout=300)[0].decode().splitlines()[-1] == "task 010: status is needs_review"


LATE = {
    "a limit": ([{"limit": 60}], "limited", "the turn ended badly (limited: "),
    "the time": (
        [{"hang": True}],
        "timeout",
        "(timeout: it took longer than --timeout (10s) allows)",
    ),
    "an exit code": ([{"exit": 7}], "failed", "the turn ended badly (failed: it ended with exit code 7"),
}


@few_of("case", LATE, 0, always=("a limit", "an exit code"))
def test_a_failure_after_a_status_changes_nothing(worker: WorkerRepo, case: str) -> None:
    """A failure after a legal status does not change it: exit 0 with a remark, and no fallback starts."""
    steps, outcome, remark = LATE[case]
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agents: {fallbacks: {implementer: [simulated]}}\n")
    worker.scenario([{"status": "needs_review"}, *steps])
    result = worker.spawn("--timeout", "10s")
    assert result.code == 0, result
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert remark in result.err and "after its worker had set the status" in result.err
    assert (worker.outcomes(), worker.repo.task("010")["iteration"]) == ([outcome], 1)
    assert not (worker.repo.root / ".sow/local/sessions/010/2").exists()


@pytest.mark.full
def test_the_text_of_a_resume_is_kept_after_an_interruption(worker: WorkerRepo) -> None:
    """If the task is still in progress, the text is feedback and in the log, without a new iteration."""
    worker.scenario([{"limit": 60}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    worker.spawn()
    worker.resume("Mind the tests")
    task = worker.repo.task("010")
    assert ([entry["text"] for entry in task["feedback"]], task["iteration"]) == (["Mind the tests"], 1)
    entry = worker.repo.ok("status", "--json").json["log"][-1]
    assert (entry["action"], entry["text"]) == ("agent_resume", "task 010 (Add login), iteration 1: Mind the tests")


def test_a_failed_turn_fails_the_call(worker: WorkerRepo) -> None:
    """A worker that dies fails its spawn or its resume, and the error says how to continue (A15)."""
    worker.scenario([{"kill": True}], [{"kill": True}])
    result = worker.spawn()
    assert result.code == 1
    assert "error: agent execution failed: it was ended by SIGKILL (killed) and gave no result" in result.err
    assert 'try again: sow agent resume 010 "Continue"' in result.err
    assert "or start a new session: sow agent spawn implementer 010 --fresh" in result.err
    resumed = worker.resume("Continue")
    assert resumed.code == 1
    assert "error: agent resumption failed: it was ended by SIGKILL (killed) and gave no result" in resumed.err


@pytest.mark.full
def test_the_final_text_is_kept_and_shown_once(worker: WorkerRepo) -> None:
    """It is in a file of its own and in the document; people see it once, live or at the end."""
    worker.scenario([{"status": "needs_review"}, {"say": "All is done here."}], [{"status": "failed"}])
    shown = worker.spawn()
    assert shown.out.count("All is done here.") == 1
    path = worker.transcript(ending="txt")
    assert (path.read_text(), path.stat().st_mode & 0o077) == ("All is done here.\n", 0)
    worker.scenario([{"status": "needs_review"}, {"finish": "Only the result says this."}, {"exit": 0}])
    late = worker.spawn("--fresh")
    assert late.out.splitlines()[-2] == "Only the result says this."
    assert worker.resume("go on", "--json").json["text"] == "Only the result says this."


@pytest.mark.full
def test_sow_in_a_folder_with_a_blank_is_quoted(worker: WorkerRepo) -> None:
    """Every command in a prompt works in a shell, wherever sow is."""
    place = worker.folder / "my programs"
    place.mkdir()
    shutil.copy(SOW, place / "sow")
    worker.scenario([{"say": "done"}], [{"say": "done"}], [{"status": "needs_review"}])
    for case in (("agent", "spawn", "implementer", "010"), ("agent", "resume", "010", "go on")):
        environment = worker.repo.environment
        subprocess.run([place / "sow", *case], cwd=worker.repo.root, env=environment, capture_output=True, timeout=300)
    for turn in (1, 2, 3):
        text = worker.transcript(turn, "prompt").read_text()
        assert f"'{place}/sow' task set --id 010 status needs_review" in text
        assert text.count(f"{place}/sow") == text.count(f"'{place}/sow'")


def test_a_scenario_in_the_home_is_found(worker: WorkerRepo) -> None:
    """A path in the settings may begin with ~."""
    (worker.folder / "home" / "mine.yaml").write_text("tasks: {default: [[{say: from home}, {status: failed}]]}\n")
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agents: {executors: {mine: {type: simulated, settings: {scenario: ~/mine.yaml}}}}\n")
    assert "from home" in worker.spawn("--executor", "mine").out


@pytest.mark.full
def test_a_decision_between_two_turns_reaches_the_worker(worker: WorkerRepo) -> None:
    """The prompt that continues a session has the decisions since its last turn, and no older ones (B3)."""
    worker.repo.ok("project", "remember", "Logs are JSON")
    memories = worker.repo.project / "context/memories.md"
    memories.write_text(memories.read_text().replace("## 20", "## 19"))
    worker.scenario([{"status": "needs_review"}], [{"status": "needs_review"}], [{"status": "needs_review"}])
    worker.spawn()
    assert "Logs are JSON" in worker.transcript(1, "prompt").read_text()
    worker.resume("Once more")
    assert "Logs are JSON" not in worker.transcript(2, "prompt").read_text()
    worker.repo.ok("project", "remember", "Logs are plain text")
    worker.resume("Once more")
    text = worker.transcript(3, "prompt").read_text()
    assert "Logs are plain text" in text
    assert "Logs are JSON" not in text
