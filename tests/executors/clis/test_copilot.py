"""Copilot: its command lines, its permissions, and how its stream and its usage file are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import CLOSED, FOLDER, JUDGE, NARROW, SESSION, TASK_FOLDER, outcome, request, told, words
from sow.executors.adapter import TurnSummary
from sow.executors.clis.copilot import Copilot

COMMON = ["-C", "/repo", "--output-format", "json", "--usage-output-file", f"{FOLDER}/usage.json"]
COMMON += ["--no-auto-update", "--no-ask-user"]
RUN = ["--disallow-temp-dir", "--allow-tool=shell(/bin/sow:*)", "--allow-tool=shell(git:*)", "--add-dir=/bin"]
WRITE = [f"--allow-tool=write({item}/**)" for item in ("/repo", TASK_FOLDER, "/repo/.git")]
WRITE += [f"--deny-tool=write({item})" for item in CLOSED]
WRITE += [f"--add-dir={TASK_FOLDER}", "--add-dir=/repo/.git"]
BLIND = ["--deny-tool=shell(git:*)", "--no-custom-instructions"]
NEW = ["--session-id", SESSION]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*NEW, *COMMON, *RUN, *WRITE]),
    ({"yolo": True}, [*NEW, *COMMON, "--allow-all"]),
    ({"model": "m", "yolo": True}, [*NEW, *COMMON, "--model", "m", "--allow-all"]),
    ({"custom_args": ("--banner",), "yolo": True}, [*NEW, *COMMON, "--allow-all", "--banner"]),
    ({"role": JUDGE, "yolo": True}, [*NEW, *COMMON, RUN[0], RUN[1], RUN[3], "--deny-tool=write", *BLIND]),
    ({"role": NARROW, "yolo": True}, [*NEW, *COMMON, "--allow-all", "--available-tools=view,edit"]),
    ({"resume": True, "yolo": True}, [f"--resume={SESSION}", *COMMON, "--allow-all"]),
]


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


RESULT = {"type": "result", "sessionId": SESSION, "exitCode": 0, "usage": {"premiumRequests": 0}}


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Copilot(), **asked) == expected


def test_a_stream_is_read() -> None:
    """Messages are text, a started tool is a call, a denied one is counted, the result names the session."""
    story = told(
        Copilot(),
        event("assistant.message", content="", toolRequests=[{"name": "bash"}]),
        event("tool.execution_start", toolName="bash", arguments={"command": "ls"}),
        event("tool.execution_complete", success=False, error={"code": "denied", "message": "Permission denied"}),
        event("assistant.message_delta", deltaContent="h"),
        event("assistant.message", content="hello", toolRequests=[]),
        RESULT,
    )
    assert (story.session, story.tool_count, story.refusal_count) == (SESSION, 1, 1)
    assert (story.finished, story.failed, story.final_text) == (True, False, "hello")


def test_tokens_come_from_the_usage_file() -> None:
    """The sum of all models is the session's; a file of another shape gives no tokens."""
    assert Copilot().spawn_command(request()).report == f"{FOLDER}/usage.json"
    models = {name: {"usage": {"inputTokens": 200, "outputTokens": 40}} for name in ("a", "b")}
    story = told(Copilot(), RESULT)
    for item in Copilot().read_report(json.dumps({"modelMetrics": models})):
        story.add(item)
    assert (story.input_tokens, story.output_tokens, story.finished) == (400, 80, True)
    assert Copilot.capabilities.cumulative_tokens
    for text in ("", "{", "[]", '{"modelMetrics": 3}', '{"modelMetrics": {}}'):
        assert Copilot().read_report(text) == []


FAILED = {**RESULT, "exitCode": 1}


def refused(status: int) -> list[dict[str, Any]]:
    output = json.dumps({"message": f"stub {status}", "code": str(status)})
    tried = event("model.call_failure", statusCode=status, errorMessage=output)
    return [tried, tried, event("session.error", errorType="query", message="Failed", statusCode=status), FAILED]


@all_of(
    ("lines", "code", "stderr", "stopped", "kind"),
    [
        ([event("assistant.message", content="x"), RESULT], 0, "", "", "done"),
        (refused(429), 1, "", "", "limited"),
        (refused(503), 1, "", "", "overloaded"),
        (refused(404), 1, "", "", "failed"),
        (refused(429)[:2], 0, "", "retries", "limited"),
        ([*refused(503)[:2], event("assistant.message", content="x"), RESULT], 0, "", "", "done"),
        ([], 1, "Error: No session, task, or name matched 'x'.", "", "not_found"),
        ([FAILED], 0, "", "", "failed"),
        ([event("assistant.message", content="x")], 0, "", "", "failed"),
        ([], 0, "", "timeout", "timeout"),
        ([], 0, "", "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, stopped: str, kind: str) -> None:
    """Success is a result with exit code 0 in the stream and of the process; every other end has its kind."""
    assert outcome(Copilot(), *lines, code=code, stderr=stderr, stopped=stopped).kind == kind


def test_a_retry_has_the_servers_message() -> None:
    """The message inside the error is what a person reads."""
    assert Copilot().read(json.dumps(refused(429)[0]))[0].text == "stub 429"


@pytest.mark.parametrize("line", ["", "x", "[]", "{}", '{"type":"result"}', '{"type":"session.error","data":[]}'])
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is no error."""
    assert isinstance(told(Copilot(), line), TurnSummary)
