"""Gemini: its command lines, its rules, and how its stream and its stderr are read."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import FOLDER, JUDGE, NARROW, SESSION, TASK_FOLDER, outcome, request, told, words
from sow.executors.adapter import READ_ONLY_COMMANDS, ProcessEnd, Role, TurnSummary
from sow.executors.clis.gemini import Gemini

NEW, OLD = ["--session-id", SESSION], ["--resume", SESSION]
STREAM = ["--output-format", "stream-json"]
POLICY = ["--policy", f"{FOLDER}/policy.toml"]
WORK = ["--approval-mode", "auto_edit"]
LOOK = ["--approval-mode", "default"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*NEW, *STREAM, *WORK, *POLICY]),
    ({"resume": True}, [*OLD, *STREAM, *WORK, *POLICY]),
    ({"yolo": True}, [*NEW, *STREAM, "--yolo"]),
    ({"yolo": True, "resume": True}, [*OLD, *STREAM, "--yolo"]),
    ({"yolo": True, "model": "m"}, [*NEW, *STREAM, "--model", "m", "--yolo"]),
    ({"custom_args": ("--debug",)}, [*NEW, *STREAM, *WORK, *POLICY, "--debug"]),
    ({"role": JUDGE}, [*NEW, *STREAM, *LOOK, *POLICY]),
    ({"role": JUDGE, "yolo": True, "resume": True}, [*OLD, *STREAM, *LOOK, *POLICY]),
    ({"role": NARROW, "yolo": True}, [*NEW, *STREAM, "--yolo", *POLICY]),
    (
        {"writable": (TASK_FOLDER, "/main/.git")},
        [*NEW, *STREAM, *WORK, "--include-directories", "/main/.git", *POLICY],
    ),
    ({"commands": (), "writable": (), "write_protected": ()}, [*NEW, *STREAM, *WORK]),
]


@all_of(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Gemini(), **asked) == expected


def rules(**asked: Any) -> list[tuple[str, Any, Any]]:
    """Returns the rules of a turn as (decision, tools, commands), highest first."""
    call = Gemini().spawn_command(request(**{"write_protected": (), **asked}))
    result = tomllib.loads(call.files.get(f"{FOLDER}/policy.toml", "")).get("rule", [])
    result.sort(key=lambda rule: -rule["priority"])
    return [(item["decision"], item["toolName"], item.get("commandPrefix")) for item in result]


SHELL = "run_shell_command"
READER = Role(name="reader", tools=("Read", "Bash"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [("deny", SHELL, None), ("allow", SHELL, ["/bin/sow", "git", *READ_ONLY_COMMANDS])]),
        ({"yolo": True}, []),
        (
            {"role": JUDGE},
            [
                ("deny", SHELL, None),
                ("deny", ["write_file", "replace"], None),
                ("allow", SHELL, ["/bin/sow", "git status", "git diff", "git log", "git show"]),
            ],
        ),
        ({"role": NARROW}, [("allow", ["read_file", "read_many_files", "replace"], None), ("deny", "*", None)]),
        (
            {"role": READER},
            [
                ("deny", SHELL, None),
                ("allow", SHELL, ["/bin/sow", "git", *READ_ONLY_COMMANDS]),
                ("allow", ["read_file", "read_many_files"], None),
                ("deny", "*", None),
            ],
        ),
        (
            {"role": READER, "yolo": True},
            [("allow", ["read_file", "read_many_files", SHELL], None), ("deny", "*", None)],
        ),
    ],
)
def test_rules(asked: dict[str, Any], expected: list[Any]) -> None:
    """A worker's rules name its allowed commands; a judge's and a restricted role's also the denied ones."""
    assert rules(**asked) == expected


def denied(path: str, **asked: Any) -> bool:
    """Tells whether a rule denies a path to the tools that write."""
    call = Gemini().spawn_command(request(**asked))
    result = tomllib.loads(call.files.get(f"{FOLDER}/policy.toml", "")).get("rule", [])
    patterns = [text["argsPattern"] for text in result if "argsPattern" in text]
    assert all("write_file" in text["toolName"] for text in result if "argsPattern" in text)
    return any(re.search(pattern, json.dumps({"file_path": path}, separators=(",", ":"))) for pattern in patterns)


@all_of(
    ("path", "closed"),
    [
        (".sow/config.yaml", True),
        (".sow/config.yaml.md", False),
        (".sow/local/sessions/1", True),
        (".sow/localities", False),
        (".sow/project/phases/implementation/tasks/020/x.md", True),
        (".sow/project/phases/implementation/tasks/010/x.md", False),
        (".git/sow/x", True),
        ("sow/config.yaml", False),
        ("made.txt", False),
    ],
)
def test_state_of_other_tasks_is_denied(path: str, closed: bool) -> None:
    """A rule matches a path in every spelling; yolo has no rules, and a judge writes nothing."""
    for start in ("/repo/", "./", ""):
        assert denied(f"{start}{path}") is closed
        assert not denied(f"{start}{path}", yolo=True)
        assert not denied(f"{start}{path}", role=JUDGE)
    assert not denied(f"/elsewhere/{path}")


def test_gemini_trusts_the_folder_and_does_not_relaunch() -> None:
    """Without trust it does not run, and as two processes it would not get signals."""
    environment = Gemini().spawn_command(request()).environment
    assert environment == {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}


INIT = {"type": "init", "session_id": SESSION, "model": "gemini-2.5-pro"}
PROMPT = {"type": "message", "role": "user", "content": "do it"}
TOOL = {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "1", "parameters": {"command": "ls"}}
RAN = {"type": "tool_result", "tool_id": "1", "status": "success", "output": "x"}
DENIED = {"type": "tool_result", "tool_id": "1", "status": "error", "error": {"type": "policy_violation"}}
STATS = {"total_tokens": 240, "input_tokens": 200, "output_tokens": 40, "tool_calls": 1}
RESULT = {"type": "result", "status": "success", "stats": STATS}
LOOP = {"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}


def delta(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def failed(message: str, kind: str = "unknown") -> dict[str, Any]:
    return {"type": "result", "status": "error", "error": {"type": kind, "message": message}, "stats": STATS}


def refused(status: int) -> dict[str, Any]:
    return failed(f'[API Error: {{"error":{{"code":{status},"message":"stub","status":"UNKNOWN"}}}}]')


def test_a_stream_is_read() -> None:
    """The parts of a message are one text, and the final text is the one after the last tool."""
    story = told(Gemini(), INIT, PROMPT, delta("I look"), TOOL, RAN, delta("all "), delta("done"), RESULT)
    assert (story.session, story.tool_count, story.refusal_count) == (SESSION, 1, 0)
    assert (story.finished, story.failed, story.final_text) == (True, False, "all done")
    assert (story.input_tokens, story.output_tokens, story.cost) == (200, 40, None)


def test_a_message_is_reported_when_it_is_complete() -> None:
    """A part is not reported; the next line of another kind completes it, and a new turn begins with none."""
    adapter = Gemini()
    assert told(adapter, delta("cut "), delta("off")).last_text == ""
    assert told(adapter, INIT, delta("new"), RESULT).final_text == "new"


def test_a_denied_tool_is_counted() -> None:
    """A call that the rules refuse is a denial."""
    assert told(Gemini(), INIT, TOOL, DENIED, delta("no"), RESULT).refusal_count == 1


UNKNOWN = 'Error resuming session: Invalid session identifier "x".'
TAKEN = f'Error starting session: Session ID "{SESSION}" already exists. Use --resume to resume it'


@all_of(
    ("lines", "code", "stderr", "stopped", "kind"),
    [
        ([INIT, delta("x"), RESULT], 0, "YOLO mode is enabled.", "", "done"),
        ([INIT, delta("x"), LOOP, RESULT], 0, "", "", "done"),
        ([INIT, delta("x")], 0, "", "", "failed"),  # a signal from elsewhere: exit code 0 and no result
        ([INIT, refused(429)], 173, "", "", "limited"),
        ([INIT, refused(503)], 247, "", "", "overloaded"),
        ([INIT, refused(400)], 144, "", "", "failed"),
        ([INIT, failed("Reached max session turns", "FatalTurnLimitedError")], 53, "", "", "failed"),
        ([], 42, UNKNOWN, "", "not_found"),
        ([], 42, "Error resuming session: No previous sessions found for this project.", "", "not_found"),
        ([], 42, TAKEN, "", "in_use"),
        ([], 55, "Gemini CLI is not running in a trusted directory.", "", "failed"),
        ([INIT, delta("x"), RESULT], 0, f"Error executing tool: {UNKNOWN}", "", "done"),
        ([INIT], 0, "", "timeout", "timeout"),
        ([INIT], 0, "", "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, stopped: str, kind: str) -> None:
    """Success is a successful result and exit code 0; every other end has its kind."""
    assert outcome(Gemini(), *lines, code=code, stderr=stderr, stopped=stopped).kind == kind


@all_of(
    ("line", "status"),
    [
        ('Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{}}', 503),
        ("Attempt 2 failed with status 429. Retrying with backoff...", 429),
        ("Attempt 1 failed with 429 error (no Retry-After header). Retrying with backoff...", 429),
        ("Attempt 1 failed with 5xx error. Retrying with backoff...", 503),
        ("Attempt 3 failed: You have exhausted your capacity on this model. Retrying after 5000ms...", 429),
        ("Attempt 3 failed: it broke. Max attempts reached", None),
        ("    at retryWithBackoff (file:///x.js:1:1)", None),
        ("Error executing tool run_shell_command: Attempt 1 failed with status 429. Retrying with backoff...", None),
    ],
)
def test_a_retry_is_read_from_stderr(line: str, status: int | None) -> None:
    """Only stderr has the retry, and its status gives the kind of failure."""
    result = Gemini().read_error(line)
    assert [task.status for task in result] == ([] if status is None else [status])
    story = TurnSummary()
    for item in result:
        story.add(item)
    kind = Gemini().outcome(ProcessEnd(code=0, stop_reason="retries"), story).kind
    assert kind == {None: "failed", 429: "limited", 503: "overloaded"}[status]


GARBAGE = ["", "x", "[]", "{}", "{", '{"type":"result"}', '{"type":"result","stats":3,"error":[]}', "half a char �"]


@all_of("line", [*GARBAGE, '{"type":"tool_result","error":"x"}', '{"type":"tool_use"}'])
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is neither an error nor a success."""
    assert isinstance(told(Gemini(), line), TurnSummary)
    assert outcome(Gemini(), line, code=1).kind == "failed"
