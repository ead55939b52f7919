"""Codex: its command lines, its sandbox, and how its stream is read."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from support.quick_cases import all_of

from executors.sample_turn import JUDGE, NARROW, SESSION, TASK_FOLDER, outcome, request, told, words
from sow.executors.adapter import ASSIGNED, Role, TurnSummary
from sow.executors.clis.codex import Codex

COMMON = ["exec", "--json", "--skip-git-repo-check", "--config", "features.unbounded_connection_retries=false"]
COMMON += ["--config", "features.hooks=false", "--config", 'approval_policy="never"']
TRUSTED = list(COMMON)
COMMON += ["--config", 'projects={"/repo"={trust_level="untrusted"}}']
WORKTREE = 'projects={"/repo"={trust_level="untrusted"},"/main"={trust_level="untrusted"}}'
WORK = ["--sandbox", "workspace-write", "--add-dir", "/repo/.sow", "--add-dir", TASK_FOLDER, "--add-dir", "/repo/.git"]
YOLO = "--dangerously-bypass-approvals-and-sandbox"
LOOK = ["--sandbox", "read-only"]
READER = Role(name="reader", tools=("Read", "Grep"))
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*COMMON, *WORK, "-"]),
    ({"resume": True}, [*COMMON, *WORK, "resume", SESSION, "-"]),
    ({"yolo": True}, [*COMMON, YOLO, "-"]),
    ({"yolo": True, "trusted": True}, [*TRUSTED, YOLO, "-"]),
    ({"yolo": True, "writable": ("/main/.git",)}, [*TRUSTED, "--config", WORKTREE, YOLO, "-"]),
    ({"role": JUDGE, "trusted": True}, [*COMMON, *LOOK, "-"]),
    ({"yolo": True, "resume": True}, [*COMMON, YOLO, "resume", SESSION, "-"]),
    ({"yolo": True, "model": "m"}, [*COMMON, "--model", "m", YOLO, "-"]),
    ({"custom_args": ("--oss",), "resume": True}, [*COMMON, *WORK, "--oss", "resume", SESSION, "-"]),
    ({"role": JUDGE}, [*COMMON, *LOOK, "-"]),
    ({"role": JUDGE, "yolo": True, "resume": True}, [*COMMON, *LOOK, "resume", SESSION, "-"]),
    ({"role": NARROW}, [*COMMON, *WORK, "-"]),
    ({"role": READER, "yolo": True}, [*COMMON, *LOOK, "-"]),
    ({"commands": (), "writable": (), "sow_folder": ""}, [*COMMON, "--sandbox", "workspace-write", "-"]),
]


@all_of(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Codex(), **asked) == expected


def test_codex_capabilities() -> None:
    """It chooses its session's id, reports totals of tokens and no cost, and cleans up only after SIGINT."""
    capabilities = Codex.capabilities
    assert (capabilities.session, capabilities.cumulative_tokens, capabilities.reports_cost) == (ASSIGNED, True, False)
    assert capabilities.stop_signal == signal.SIGINT


def test_the_agents_file_of_a_repository_is_named(tmp_path: Path) -> None:
    """Without trust Codex does not read AGENTS.md, so the prompt of a new session names it."""
    assert Codex().first_prompt(request(cwd=str(tmp_path)), "do it") == "do it"
    (tmp_path / "AGENTS.md").write_text("Be kind.")
    assert str(tmp_path / "AGENTS.md") in Codex().first_prompt(request(cwd=str(tmp_path)), "do it")
    assert Codex().first_prompt(request(cwd=str(tmp_path), trusted=True), "do it") == "do it"
    assert Codex().first_prompt(request(cwd=str(tmp_path), role=JUDGE), "do it") == "do it"


def item(kind: str, **facts: Any) -> dict[str, Any]:
    return {"type": f"item.{kind}", "item": {"id": "item_1", **facts}}


STARTED = {"type": "thread.started", "thread_id": SESSION}
WARNING = item("completed", type="error", message="Model metadata for `m` not found.")
RUNS = item("started", type="command_execution", command="/bin/bash -lc 'ls'", status="in_progress")
RAN = item("completed", type="command_execution", command="/bin/bash -lc 'ls'", exit_code=0, status="completed")
CHANGED = item("completed", type="file_change", changes=[{"path": "a.py", "kind": "add"}], status="completed")
TEXT = item("completed", type="agent_message", text="STUB-DONE")
USAGE = {"input_tokens": 300, "cached_input_tokens": 0, "output_tokens": 60, "reasoning_output_tokens": 0}
DONE = {"type": "turn.completed", "usage": USAGE}


def error(message: str) -> dict[str, Any]:
    return {"type": "error", "message": message}


def failed(message: str) -> dict[str, Any]:
    return {"type": "turn.failed", "error": {"message": message}}


RETRY = error("Reconnecting... 1/5 (unexpected status 503 Service Unavailable: stub 503, url: http://x/v1/responses)")
OVERLOAD = "unexpected status 503 Service Unavailable: stub 503, url: http://x/v1/responses"
RATE = "exceeded retry limit, last status: 429 Too Many Requests"
OFFLINE = "Connection failed: error sending request"
UNKNOWN = f"Error: thread/resume: thread/resume failed: no rollout found for thread id {SESSION} (code -32600)"


def test_a_stream_is_read() -> None:
    """Each tool is reported once, the last message is the final text, and a warning is no error."""
    story = told(Codex(), STARTED, WARNING, {"type": "turn.started"}, RUNS, RAN, CHANGED, TEXT, DONE)
    assert (story.session, story.tool_count, story.error) == (SESSION, 2, "")
    assert (story.finished, story.failed, story.final_text) == (True, False, "STUB-DONE")
    assert (story.input_tokens, story.output_tokens, story.cost) == (300, 60, None)


def test_a_declined_command_is_a_denial() -> None:
    """A command that the CLI declined is counted as a refusal."""
    declined = item("completed", type="command_execution", command="rm", status="declined")
    assert told(Codex(), RUNS, declined, TEXT, DONE).refusal_count == 1


@all_of(
    ("lines", "code", "stderr", "stopped", "kind"),
    [
        ([STARTED, TEXT, DONE], 0, "", "", "done"),
        ([STARTED, TEXT, DONE], 1, "", "", "failed"),
        ([STARTED, TEXT], 0, "", "", "failed"),
        ([STARTED], 1, "", "", "failed"),  # SIGINT from elsewhere
        ([STARTED, error(RATE), failed(RATE)], 1, "", "", "limited"),
        ([STARTED, RETRY, error(OVERLOAD), failed(OVERLOAD)], 1, "", "", "overloaded"),
        ([STARTED, RETRY, RETRY], -2, "", "retries", "overloaded"),
        ([STARTED, RETRY, TEXT, DONE], 0, "", "", "done"),
        ([STARTED, error(OFFLINE), failed(OFFLINE)], 1, "", "", "failed"),
        ([STARTED, failed("You've hit your usage limit. Try again later.")], 1, "", "", "limited"),
        ([STARTED, failed("Missing environment variable: `OPENAI_API_KEY`.")], 1, "", "", "failed"),
        ([], 1, UNKNOWN, "", "not_found"),
        ([], 2, "error: unexpected argument '--bogus' found", "", "failed"),
        ([STARTED], 1, "", "timeout", "timeout"),
        ([STARTED], 1, "", "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, stopped: str, kind: str) -> None:
    """Success is a completed turn and exit code 0; every other end has its kind."""
    assert outcome(Codex(), *lines, code=code, stderr=stderr, stopped=stopped).kind == kind


def test_a_failure_has_the_clis_message() -> None:
    """The reason of a failed turn is the CLI's message, not the first line of a warning on stderr."""
    output = "WARNING: proceeding, even though we could not create PATH aliases"
    assert outcome(Codex(), STARTED, failed(OFFLINE), code=1, stderr=output).reason == OFFLINE


def test_a_retry_is_no_error() -> None:
    """Repeated connections are one event, with the status that caused them."""
    result = told(Codex(), STARTED, RETRY, RETRY)
    assert (result.retries, result.error_status, result.finished) == (2, 503, False)
    assert told(Codex(), STARTED, error(OVERLOAD)).retries == 0


def test_another_session_id_is_reported() -> None:
    """For an unknown id it starts another session without an error; the result has that session's id."""
    assert told(Codex(), {**STARTED, "thread_id": "another"}, TEXT, DONE).session == "another"


GARBAGE = ["", "x", "[]", "{}", "{", '{"type":"item.completed","item":3}', "half a char �", '{"type":"turn.failed"}']
GARBAGE += ['{"type":"item.completed","item":{"type":"file_change","changes":[1]}}', '{"type":"error","message":{}}']


@all_of("line", GARBAGE)
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is neither an error nor a success."""
    assert isinstance(told(Codex(), line), TurnSummary)
    assert outcome(Codex(), line, code=1).kind == "failed"
