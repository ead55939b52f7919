"""R6: the session id is on disk before the agent starts, and a resume continues the right session."""

from __future__ import annotations

import shutil
import signal

import pytest
import yaml
from conftest import SOW
from fakes import install
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, end, wait_for

WORK = [{"write": {"path": "a.py", "text": "x"}}, {"status": "needs_review"}]


def test_the_id_is_on_disk_before_the_first_instruction(worker: WorkerRepo) -> None:
    """In its first step the worker sees a state file that names its session."""
    worker.scenario([{"run": ["cp", str(worker.repo.task_folder("010") / "state.yaml"), "seen.yaml"]}, *WORK])
    worker.spawn()
    assert worker.record()["key"] in (worker.repo.root / "seen.yaml").read_text()


@pytest.mark.parametrize("steps", [[{"kill": True}], [{"run": ["touch", "begun"]}, {"hang": True}]])
def test_a_dead_worker_is_resumed_in_its_session(worker: WorkerRepo, steps: list[dict[str, object]]) -> None:
    """After the death of the worker or of sow the same session continues."""
    worker.scenario(steps, WORK)
    if "kill" in steps[0]:
        assert worker.spawn().code == 1
    else:
        call = worker.start("agent", "spawn", "implementer", "010")
        wait_for(lambda: (worker.repo.root / "begun").exists())
        end(call, signal.SIGKILL)
    before = worker.repo.task("010")
    assert before["status"] == "in_progress"
    result = worker.resume()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert worker.repo.task("010")["session_id"] == before["session_id"]
    assert not worker.alive()


def test_killed_between_the_record_and_the_start(worker: WorkerRepo) -> None:
    """A session whose process never started is unknown to the CLI: a fresh one starts with the state on disk."""
    worker.spawn()
    memory = worker.folder / "home" / ".local" / "state" / "sow-simulated"
    (memory / f"{worker.record()['session_id']}.json").unlink()
    result = worker.resume("Make it faster")
    assert result.code == 0, result
    assert "the session is gone" in result.err
    prompt = worker.transcript(1, "prompt", session=2).read_text()
    assert "Do not start over" in prompt
    assert "Make it faster" in prompt
    assert worker.repo.task("010")["session_id"] == worker.record(2)["session_id"]


@pytest.mark.full
def test_another_session_id_is_noticed(worker: WorkerRepo) -> None:
    """A CLI that silently starts another session on resume is stopped, and a fresh one gets all information."""
    worker.scenario(
        WORK, [{"other_session": "11111111-1111-4111-8111-111111111111"}, {"say": "Who am I?"}, {"hang": True}]
    )
    worker.spawn()
    worker.scenario(
        WORK, [{"other_session": "11111111-1111-4111-8111-111111111111"}, {"say": "Who am I?"}, {"hang": True}]
    )
    result = worker.resume()
    assert worker.outcomes()[1] == "not_found"
    assert "another session" in result.err
    assert worker.record(2)["turns"][0]["kind"] == "recovery"
    assert not worker.alive()


def test_a_session_in_use_is_reported(worker: WorkerRepo) -> None:
    """If a CLI refuses an id as taken, the turn did not happen; the error has the CLI's text and a hint."""
    worker.scenario([{"stderr": "Error: Session ID {task} is already in use."}, {"exit": 1}])
    result = worker.spawn()
    assert (result.code, worker.outcomes()) == (1, ["in_use"])
    assert "agent execution failed: in_use: Error: Session ID 010 is already in use." in result.err
    assert "or start a new session: sow agent spawn implementer 010 --fresh" in result.err
    worker.scenario(WORK)
    assert worker.spawn("--fresh").out.splitlines()[-1] == "task 010: status is needs_review"


CLIS = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "copilot": "copilot",
    "qwen": "qwen",
    "cursor": "cursor-agent",
    "amp": "amp",
}


def play(worker: WorkerRepo, executor: str) -> None:
    """Binds the fake of one CLI, and takes its first turn."""
    install(worker.repo, CLIS[executor], worker.folder / "bin")
    settings = {"agents": {"executors": {executor: {"type": CLIS[executor].removesuffix("-agent")}}}}
    settings["agents"]["executors"][executor]["settings"] = {"yolo_mode": True}
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(yaml.safe_dump(settings))
    worker.repo.environment |= {"AMP_API_KEY": "dummy-key", "SOW_AGENTS_IMPLEMENTER": executor}
    worker.repo.ok("task", "set", "--id", "010", "name", f"[[sh:{SOW} task set status needs_review]]")
    assert worker.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


@few_of("executor", CLIS, 3)
def test_every_cli_continues_its_session(worker: WorkerRepo, executor: str) -> None:
    """Each CLI knows its first prompt in its second turn, under the id that the task has."""
    play(worker, executor)
    before = worker.repo.task("010")["session_id"]
    assert worker.resume("[[say:Hello again]]", "--json").json["text"].startswith("Hello again (earlier: ")
    assert worker.repo.task("010")["session_id"] == before == worker.record()["session_id"]
    assert [turn["kind"] for turn in worker.record()["turns"][:2]] == ["spawn", "resume"]


@few_of("executor", [item for item in CLIS if item != "amp"], 2)
def test_a_forgotten_session_is_replaced(worker: WorkerRepo, executor: str) -> None:
    """If a CLI does not know the session, or answers with another one, a fresh one gets all information."""
    play(worker, executor)
    for chats in (worker.folder / "home").glob(".*-chats"):
        shutil.rmtree(chats)
    result = worker.resume("Make it faster")
    assert "the session is gone (" in result.err, result
    assert [turn["kind"] for turn in worker.record(2)["turns"]][:1] == ["recovery"]
    prompt = worker.transcript(1, "prompt", session=2).read_text()
    assert "Do not start over" in prompt and "Make it faster" in prompt
    assert worker.repo.task("010")["session_id"] == worker.record(2)["session_id"]


@pytest.mark.full
def test_an_unknown_message_has_a_hint(worker: WorkerRepo) -> None:
    """If a CLI's message about an unknown session is not known, the turn fails, and the hint has the next command."""
    play(worker, "amp")
    for chats in (worker.folder / "home").glob(".*-chats"):
        shutil.rmtree(chats)
    result = worker.resume("Make it faster")
    assert (result.code, worker.outcomes()) == (1, ["done", "failed"]), result
    assert "or start a new session: sow agent spawn implementer 010 --fresh" in result.err
    assert worker.spawn("--fresh").code == 0


@few_of("executor", [item for item in CLIS if item != "amp"], 2)
def test_killed_after_every_clis_first_output(worker: WorkerRepo, executor: str) -> None:
    """After kill -9 of sow during a turn the session continues, whether sow or the CLI chose its id."""
    play(worker, executor)
    # The next prompt repeats this text, because the turn did not end well; a second time it does nothing.
    call = worker.start("agent", "resume", "010", "[[sh:test -e begun || (touch begun; sleep 300)]]")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    end(call, signal.SIGKILL)
    worker.resume(f"[[sh:{SOW} task set status failed]]")
    assert [turn.get("outcome") for turn in worker.record()["turns"]] == ["done", "lost", "done"]
    assert not worker.alive()


def test_a_silent_cli_is_stopped(worker: WorkerRepo) -> None:
    """A CLI that prints nothing for longer than the limit is stopped, and the session can continue."""
    worker.limits(silence_timeout="1s")
    worker.scenario([{"hang": True}], WORK)
    result = worker.spawn()
    assert result.code == 1
    assert "was stopped: its silence was longer than limits.silence_timeout (1s) allows" in result.err
    assert not worker.alive()
    worker.limits(silence_timeout="10m")  # the next turn may be slow to begin
    assert worker.resume().out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_without_a_record_a_fresh_session_starts(worker: WorkerRepo) -> None:
    """On another machine without the record, resume starts a fresh session with all information."""
    worker.spawn()
    shutil.rmtree(worker.repo.root / ".sow/local/sessions")
    result = worker.resume()
    assert result.code == 0
    assert "no record of the session" in result.err


def test_resume_without_a_session_is_refused(worker: WorkerRepo) -> None:
    """A task that was never started has no session, and the documented error says so."""
    result = worker.resume()
    assert result.code == 2
    assert result.err.splitlines() == [
        "error: no session found for task 010",
        "hint: Task has not been started or session has expired.",
        "      Use `sow agent spawn implementer 010` to start a new session.",
    ]


@pytest.mark.full
def test_another_executor_type_starts_a_fresh_session(worker: WorkerRepo) -> None:
    """With --executor of another type a fresh session starts, with the right reason, and the task has it."""
    worker.spawn()
    install(worker.repo, "claude", worker.folder / "bin")
    result = worker.resume(f"[[sh:{SOW} task set status needs_review]]", "--executor", "claude-code", "--verbose")
    assert "Executor: claude-code (from --executor)" in result.err
    assert "note: the session belongs to simulated, and claude-code cannot continue it: a fresh" in result.err
    assert (worker.record(2)["executor"], worker.repo.task("010")["status"]) == (
        "claude-code",
        "needs_review",
    )


@pytest.mark.full
def test_another_executor_of_the_type_continues_the_session(worker: WorkerRepo) -> None:
    """With --executor of the same type the session continues with the other one's settings."""
    worker.spawn()
    second = worker.folder / "second.yaml"
    second.write_text("tasks: {default: [[{say: by the second}, {status: failed}]]}\n")
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"agents: {{executors: {{second: {{type: simulated, settings: {{scenario: {second}}}}}}}}}\n")
    assert "by the second" in worker.resume("go on", "--executor", "second").out
    assert [turn["kind"] for turn in worker.record()["turns"]] == ["spawn", "resume"]


@pytest.mark.full
def test_a_removed_executor_can_be_replaced(worker: WorkerRepo) -> None:
    """A session of an executor that is no longer in the settings continues with a named one."""
    config = worker.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agents: {executors: {mine: {type: simulated}}}\n")
    assert worker.spawn("--executor", "mine").code == 0
    config.unlink()
    refused = worker.resume()
    assert (refused.code, "executor mine, which is no longer configured" in refused.err) == (2, True)
    assert "sow agent resume 010 … --executor NAME" in refused.err
    assert worker.resume("go on", "--executor", "simulated").code == 0
    assert [turn["kind"] for turn in worker.record()["turns"]] == ["spawn", "resume"]


@pytest.mark.full
def test_a_missing_folder_starts_a_fresh_session(worker: WorkerRepo) -> None:
    """A session belongs to its folder; if that is gone a fresh one starts, with the reason."""
    worker.spawn()
    record = worker.repo.root / ".sow/local/sessions/010/1/record.yaml"
    record.write_text(
        record.read_text()
        .replace(f"cwd: {worker.repo.root}", "cwd: /gone")
        .replace(f'cwd: "{worker.repo.root}"', 'cwd: "/gone"')
    )
    assert "the folder of the session is gone (/gone): a fresh session starts" in worker.resume().err


def test_a_record_names_its_project(worker: WorkerRepo) -> None:
    """Task ids are used again in the next project of a checkout, so a session names its project."""
    worker.spawn()
    assert worker.record()["project_id"] == worker.repo.ok("status", "--json").json["project"]["project_id"]
