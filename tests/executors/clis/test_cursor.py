"""Cursor: its command lines, how its stream is read, and whole turns with a stand-in for `cursor-agent`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from conftest import SOW, Repo

from executors.sample_turn import JUDGE, READER, SESSION, outcome, told, words
from sow.executors.clis.cursor import Cursor

COMMON = ["--output-format", "stream-json", "--trust", "--workspace", "/repo"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["--print", *COMMON]),
    ({"yolo": True}, ["--print", *COMMON, "--force"]),
    ({"model": "gpt-5"}, ["--print", *COMMON, "--model", "gpt-5"]),
    ({"custom_args": ("--approve-mcps",)}, ["--print", *COMMON, "--approve-mcps"]),
    ({"role": JUDGE, "yolo": True}, ["--print", *COMMON, "--mode", "ask"]),
    ({"role": READER, "yolo": True}, ["--print", *COMMON, "--mode", "ask"]),
    ({"resume": True, "yolo": True}, ["--print", f"--resume={SESSION}", *COMMON, "--force"]),
]
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "all done", "session_id": SESSION}


def called(subtype: str, **result: Any) -> dict[str, Any]:
    call = {"shellToolCall": {"args": {"command": "ls"}, **({"result": result} if result else {})}}
    return {"type": "tool_call", "subtype": subtype, "session_id": SESSION, "tool_call": call}


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Cursor(), **asked) == expected


def test_a_stream_is_read() -> None:
    """The chat's id comes first, a call counts once, a rejected one is denied, and the result is the text."""
    story = told(
        Cursor(),
        {"type": "system", "subtype": "init", "session_id": SESSION, "model": "Auto"},
        {"type": "thinking", "subtype": "delta", "text": "hm", "session_id": SESSION},
        called("started"),
        called("completed", success={"exitCode": 0}),
        called("started"),
        called("completed", rejected={"reason": "no"}),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "all"}]}, "session_id": SESSION},
        RESULT,
    )
    assert (story.session, story.tool_count, story.refusal_count, story.final_text) == (SESSION, 2, 1, "all done")
    assert (story.finished, story.failed, story.cost, story.input_tokens) == (True, False, None, None)


@pytest.mark.parametrize(
    ("lines", "code", "stderr", "kind"),
    [
        ([RESULT], 0, "", "done"),
        ([], 1, "Error: not logged in", "failed"),
        ([{**RESULT, "is_error": True}], 0, "", "failed"),
        (["T: only the auto model works"], 1, "", "failed"),
        ([], 0, "", "failed"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, kind: str) -> None:
    """Success is a result and exit code 0; a failure has no JSON, only text on stderr."""
    assert outcome(Cursor(), *lines, code=code, stderr=stderr).kind == kind


@pytest.fixture
def worker(repo: Repo, tmp_path: Path) -> Repo:
    """A repository whose implementer is the fake, with yolo_mode on."""
    fakes.install(repo, "cursor-agent", tmp_path / "bin")
    repo.environment["SOW_AGENTS_IMPLEMENTER"] = "cursor"
    configure(repo, yolo_mode=True)
    return repo


def configure(repo: Repo, **settings: Any) -> None:
    path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"agents": {"executors": {"cursor": {"type": "cursor", "settings": settings}}}}))


def spawn(repo: Repo, directives: str) -> Any:
    repo.ok("task", "create", "--name", f"Work {directives}", "--agent", "implementer")
    return repo.sow("agent", "spawn", "implementer", "010")


def record(repo: Repo, number: int = 1) -> dict[str, Any]:
    path = repo.root / f".sow/local/sessions/010/{number}/record.yaml"
    session: dict[str, Any] = yaml.safe_load(path.read_text())["session"]
    return session


def test_a_task_from_work_to_completion(worker: Repo) -> None:
    """The chat's id comes from the stream, a resume continues the same chat, and completion clears it."""
    first = spawn(worker, f"[[sh:echo made > made.txt]] [[sh:{SOW} task set --id 010 status paused]]")
    assert first.code == 0 and first.out.endswith("task 010: status is paused\n"), first
    assert (worker.root / "made.txt").read_text() == "made\n"
    session = record(worker)["session_id"]
    assert worker.task("010")["session_id"] == session != record(worker)["key"]
    assert (record(worker)["turns"][0]["tools"], record(worker)["turns"][0]["cost_usd"]) == (2, None)
    second = worker.ok("agent", "resume", "010", f"Use RS256 [[sh:{SOW} task set --id 010 status needs_review]]")
    assert "(earlier: sh:echo made > made.txt" in second.out
    assert record(worker)["session_id"] == session and worker.task("010")["iteration"] == 2
    worker.ok("task", "set", "--id", "010", "status", "completed")
    assert "session_id" not in worker.task("010")


def test_a_lost_chat_is_replaced(worker: Repo) -> None:
    """A resume that is answered by another chat is stopped, and a new session starts with the state on disk."""
    spawn(worker, f"[[sh:{SOW} task set --id 010 status paused]]")
    for path in Path(worker.environment["HOME"], ".cursor-chats").iterdir():
        path.unlink()
    result = worker.ok("agent", "resume", "010", f"Go on [[sh:{SOW} task set --id 010 status needs_review]]")
    assert "the session is gone" in result.err and "answered with another session" in result.err
    assert worker.task("010")["session_id"] == record(worker, 2)["session_id"] != record(worker, 1)["session_id"]
    prompt = (worker.root / ".sow/local/sessions/010/2/turn-001.prompt").read_text()
    assert "An earlier session worked on this task and is gone" in prompt


def test_without_yolo_the_hint_names_the_setting(worker: Repo) -> None:
    """Without yolo_mode Cursor only proposes: the setting is named before the start, and the turn fails (A11)."""
    configure(worker)
    result = spawn(worker, "[[sh:touch made.txt]]")
    assert result.code == 0 and result.out.endswith("task 010: status is failed\n"), result
    assert not (worker.root / "made.txt").exists()
    assert result.err.startswith("note: cursor can change nothing without yolo_mode: true in agents.executors.cursor.")
    assert result.err.count("can change nothing") == 1
    assert "The worker was denied what it needed" in result.err


def test_a_failure_without_json(worker: Repo) -> None:
    """An end without a result is no success, and the text on stderr is the reason."""
    result = spawn(worker, "[[fail:Error: you are not logged in]]")
    assert result.code == 1 and "failed: Error: you are not logged in" in result.err, result
    assert worker.task("010")["status"] == "in_progress"


def test_a_missing_program_is_reported_first(repo: Repo) -> None:
    """Without cursor-agent on PATH the error comes before anything is written."""
    repo.ok("task", "create", "--name", "Work", "--agent", "implementer")
    before = repo.snapshot()
    result = repo.sow("agent", "spawn", "implementer", "010", "--executor", "cursor")
    assert result.code == 2 and "error: executor binary not found: cursor-agent" in result.err
    assert 'Executor "cursor" requires the cursor-agent CLI' in result.err
    assert repo.snapshot() == before


def test_a_repository_with_settings_needs_trust(worker: Repo) -> None:
    """If a file of the repository could grant more permissions, nothing starts and nothing is written."""
    folder = worker.root / ".cursor"
    folder.mkdir()
    (folder / "cli.json").write_text('{"permissions": {"allow": ["Shell(*)"]}}')
    worker.ok("task", "create", "--name", "Work", "--agent", "implementer")
    before = worker.snapshot()
    result = worker.sow("agent", "spawn", "implementer", "010")
    assert result.code == 2 and "cursor would obey .cursor/cli.json of this repository" in result.err, result
    assert worker.snapshot() == before
