"""R6: the session id is on disk before the agent starts, and resume takes the right door."""

from __future__ import annotations

import shutil
import signal

import pytest
import yaml
from conftest import SOW
from fakes import install
from support.quick_cases import few_of
from support.simulated_workers import Yard, end, wait_for

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


@pytest.mark.full
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
    """A CLI that refuses an id as taken is a turn that did not happen, with its own words and the way out."""
    yard.scenario([{"stderr": "Error: Session ID {task} is already in use."}, {"exit": 1}])
    result = yard.spawn()
    assert (result.code, yard.outcomes()) == (1, ["in_use"])
    assert "agent execution failed: in_use: Error: Session ID 010 is already in use." in result.err
    assert "or start a new session: sow agent spawn implementer 010 --fresh" in result.err
    yard.scenario(WORK)
    assert yard.spawn("--fresh").out.splitlines()[-1] == "task 010: status is needs_review"


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


def play(yard: Yard, executor: str) -> None:
    """Bind the stand-in of one CLI, and take its first turn."""
    install(yard.repo, CLIS[executor], yard.folder / "bin")
    settings = {"agents": {"executors": {executor: {"type": CLIS[executor].removesuffix("-agent")}}}}
    settings["agents"]["executors"][executor]["settings"] = {"yolo_mode": True}
    config = yard.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(yaml.safe_dump(settings))
    yard.repo.environment |= {"AMP_API_KEY": "dummy-key", "SOW_AGENTS_IMPLEMENTER": executor}
    yard.repo.ok("task", "set", "--id", "010", "name", f"[[sh:{SOW} task set status needs_review]]")
    assert yard.spawn().out.splitlines()[-1] == "task 010: status is needs_review"


@few_of("executor", CLIS, 3)
def test_every_cli_goes_on_in_its_session(yard: Yard, executor: str) -> None:
    """What a CLI was told before is known to it in its second turn, under the id that the task has."""
    play(yard, executor)
    before = yard.repo.task("010")["session_id"]
    assert yard.resume("[[say:Hello again]]", "--json").json["text"].startswith("Hello again (earlier: ")
    assert yard.repo.task("010")["session_id"] == before == yard.record()["session_id"]
    assert [turn["kind"] for turn in yard.record()["turns"][:2]] == ["spawn", "resume"]


@few_of("executor", [each for each in CLIS if each != "amp"], 2)
def test_every_cli_that_forgot_its_session_gets_a_fresh_one(yard: Yard, executor: str) -> None:
    """Whether a CLI says that it does not know the session, or answers with another one, a fresh one has the packet."""
    play(yard, executor)
    for chats in (yard.folder / "home").glob(".*-chats"):
        shutil.rmtree(chats)
    result = yard.resume("Make it faster")
    assert "the session is gone (" in result.err, result
    assert [turn["kind"] for turn in yard.record(2)["turns"]][:1] == ["recovery"]
    prompt = yard.transcript(1, "prompt", session=2).read_text()
    assert "Do not start over" in prompt and "Make it faster" in prompt
    assert yard.repo.task("010")["session_id"] == yard.record(2)["session_id"]


@pytest.mark.full
def test_a_cli_whose_words_are_not_known_is_no_dead_end(yard: Yard) -> None:
    """Where nobody knows how a CLI speaks of an unknown session, the turn failed, and the hint names the way out."""
    play(yard, "amp")
    for chats in (yard.folder / "home").glob(".*-chats"):
        shutil.rmtree(chats)
    result = yard.resume("Make it faster")
    assert (result.code, yard.outcomes()) == (1, ["done", "failed"]), result
    assert "or start a new session: sow agent spawn implementer 010 --fresh" in result.err
    assert yard.spawn("--fresh").code == 0


@few_of("executor", [each for each in CLIS if each != "amp"], 2)
def test_killed_after_every_clis_first_word(yard: Yard, executor: str) -> None:
    """After kill -9 of sow in the middle of a turn the session goes on, whoever had chosen its id."""
    play(yard, executor)
    # The next prompt repeats this text, because the turn did not end well; a second time it does nothing.
    call = yard.start("agent", "resume", "010", "[[sh:test -e begun || (touch begun; sleep 300)]]")
    wait_for(lambda: (yard.repo.root / "begun").exists())
    end(call, signal.SIGKILL)
    yard.resume(f"[[sh:{SOW} task set status failed]]")
    assert [turn.get("outcome") for turn in yard.record()["turns"]] == ["done", "lost", "done"]
    assert not yard.alive()


def test_a_silent_cli_is_stopped(yard: Yard) -> None:
    """A CLI that says nothing for longer than the silence allows is stopped, and the session can go on."""
    yard.limits(silence_timeout="1s")
    yard.scenario([{"hang": True}], WORK)
    result = yard.spawn()
    assert result.code == 1
    assert "was stopped: its silence was longer than limits.silence_timeout (1s) allows" in result.err
    assert not yard.alive()
    yard.limits(silence_timeout="10m")  # the next turn may be slow to begin
    assert yard.resume().out.splitlines()[-1] == "task 010: status is needs_review"


@pytest.mark.full
def test_without_a_record_a_fresh_session_starts(yard: Yard) -> None:
    """On another machine, where the record is missing, resume starts a fresh session with the packet."""
    yard.spawn()
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


@pytest.mark.full
def test_another_executor_goes_on_with_the_task(yard: Yard) -> None:
    """With --executor of another type a fresh session starts, for the true reason, and the task has that one."""
    yard.spawn()
    install(yard.repo, "claude", yard.folder / "bin")
    result = yard.resume(f"[[sh:{SOW} task set status needs_review]]", "--executor", "claude-code", "--verbose")
    assert "Executor: claude-code (from --executor)" in result.err
    assert "note: the session belongs to simulated, and claude-code cannot continue it: a fresh" in result.err
    assert (yard.record(2)["executor"], yard.repo.task("010")["status"]) == ("claude-code", "needs_review")


@pytest.mark.full
def test_another_executor_of_the_type_goes_on_with_the_session(yard: Yard) -> None:
    """With --executor of the same type it is the same session, with the other one's settings."""
    yard.spawn()
    second = yard.folder / "second.yaml"
    second.write_text("tasks: {default: [[{say: by the second}, {status: failed}]]}\n")
    config = yard.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"agents: {{executors: {{second: {{type: simulated, settings: {{scenario: {second}}}}}}}}}\n")
    assert "by the second" in yard.resume("go on", "--executor", "second").out
    assert [turn["kind"] for turn in yard.record()["turns"]] == ["spawn", "resume"]


@pytest.mark.full
def test_an_executor_that_is_gone_is_no_dead_end(yard: Yard) -> None:
    """A session of an executor that was taken out of the settings goes on with one that is named."""
    config = yard.folder / "home" / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agents: {executors: {mine: {type: simulated}}}\n")
    assert yard.spawn("--executor", "mine").code == 0
    config.unlink()
    refused = yard.resume()
    assert (refused.code, "executor mine, which is no longer configured" in refused.err) == (2, True)
    assert "sow agent resume 010 … --executor NAME" in refused.err
    assert yard.resume("go on", "--executor", "simulated").code == 0
    assert [turn["kind"] for turn in yard.record()["turns"]] == ["spawn", "resume"]


@pytest.mark.full
def test_a_folder_that_is_gone_is_the_reason(yard: Yard) -> None:
    """A session belongs to its folder; where that is gone a fresh one starts, and says why."""
    yard.spawn()
    record = yard.repo.root / ".sow/local/sessions/010/1/record.yaml"
    record.write_text(
        record.read_text()
        .replace(f"cwd: {yard.repo.root}", "cwd: /gone")
        .replace(f'cwd: "{yard.repo.root}"', 'cwd: "/gone"')
    )
    assert "the folder of the session is gone (/gone): a fresh session starts" in yard.resume().err


def test_a_record_names_its_project(yard: Yard) -> None:
    """Ids of tasks come again in the next project of a checkout, so a session says whose task it was."""
    yard.spawn()
    assert yard.record()["project_id"] == yard.repo.ok("status", "--json").json["project"]["project_id"]
