"""Claude Code: its command lines, its permissions, and how its stream is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import CLOSED, FOLDER, JUDGE, NARROW, SESSION, TASK_FOLDER, outcome, request, told, words
from sow.executors.adapter import Role, TurnSummary
from sow.executors.clis.claude import Claude

NEW, OLD = ["-p", "--session-id", SESSION], ["-p", "--resume", SESSION]
PLAIN = ["--output-format", "stream-json", "--verbose", "--settings", '{"disableAllHooks":true}']
STREAM = [*PLAIN, "--setting-sources", "user", "--add-dir", "/repo"]
JUDGED = [*PLAIN, "--setting-sources", "user", "--allowedTools", "Bash(/bin/sow:*)", "--tools"]
RUN = ["--allowedTools", "Bash(/bin/sow:*)", "Bash(git:*)"]
DENY = ["--disallowedTools", *(f"Edit(/{item})" for item in CLOSED)]
WORK = ["--permission-mode", "acceptEdits", "--add-dir", TASK_FOLDER, "--add-dir", "/repo/.git", *RUN, *DENY]
YOLO = "--dangerously-skip-permissions"
PAINTER = Role(name="painter", tools=("Read",), description="Paints", subagent_prompt='You "paint".')
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*NEW, *STREAM, *WORK]),
    ({"resume": True}, [*OLD, *STREAM, *WORK]),
    ({"yolo": True}, [*NEW, *STREAM, YOLO]),
    ({"yolo": True, "resume": True}, [*OLD, *STREAM, YOLO]),
    ({"yolo": True, "model": "opus"}, [*NEW, *PLAIN, "--model", "opus", *STREAM[len(PLAIN) :], YOLO]),
    ({"yolo": True, "trusted": True}, [*NEW, *PLAIN, YOLO]),
    ({"trusted": True}, [*NEW, *PLAIN, *WORK]),
    ({"yolo": True, "custom_args": ("--max-turns", "9")}, [*NEW, *STREAM, YOLO, "--max-turns", "9"]),
    ({"custom_args": ("--bare",)}, [*NEW, *STREAM, *WORK, "--bare"]),
    ({"role": JUDGE}, [*NEW, *JUDGED, "Read,Grep,Glob,Bash"]),
    ({"role": JUDGE, "yolo": True, "resume": True, "trusted": True}, [*OLD, *JUDGED, "Read,Grep,Glob,Bash"]),
    ({"role": Role(name="verifier", judges=True, tools=("Read", "Edit"))}, [*NEW, *JUDGED, "Read"]),
    ({"role": NARROW}, [*NEW, *STREAM, *WORK, "--tools", "Read,Edit"]),
    ({"role": NARROW, "yolo": True}, [*NEW, *STREAM, YOLO, "--tools", "Read,Edit"]),
    (
        {"role": PAINTER, "yolo": True, "custom_args": ("--x",)},
        [*NEW, *STREAM, YOLO, "--tools", "Read,Task", "--agents", f"{FOLDER}/agents.json", "--x"],
    ),
    ({"commands": (), "writable": (), "write_protected": ()}, [*NEW, *STREAM, "--permission-mode", "acceptEdits"]),
]


@all_of(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Claude(), **asked) == expected


def test_the_number_of_retries_is_limited() -> None:
    """Claude Code's own retries would take three minutes, so their number is set."""
    assert Claude().spawn_command(request()).environment["CLAUDE_CODE_MAX_RETRIES"] == "4"


def test_a_role_from_a_file_is_passed_in_a_file() -> None:
    """A subagent role is given in a file, since the repository's own settings are left out."""
    call = Claude().resume_command(request(role=PAINTER))
    expected = {"painter": {"description": "Paints", "prompt": 'You "paint".', "tools": ["Read"]}}
    assert json.loads(call.files[f"{FOLDER}/agents.json"]) == expected
    assert Claude().spawn_command(request()).files == {}


def event(kind: str, **options: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": SESSION, **options}


INIT = event("system", subtype="init", cwd="/repo", tools=["Bash"])
TEXT = event("assistant", message={"content": [{"type": "text", "text": "hello"}]})
TOOL = event("assistant", message={"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls -l"}}]})
ANSWER = event("user", message={"role": "user", "content": [{"type": "tool_result", "content": "x"}]})
USAGE = {"input_tokens": 200, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 40}
RESULT = event(
    "result",
    subtype="success",
    is_error=False,
    result="STUB-DONE",
    num_turns=2,
    total_cost_usd=0.0016,
    usage=USAGE,
    model_usage_since_last_result={"sonnet": {"costUSD": 0.0004}, "haiku": {"costUSD": 0.0004}},
    permission_denials=[],
    api_error_status=None,
)


def retry(status: int) -> dict[str, Any]:
    return event("system", subtype="api_retry", attempt=1, max_retries=4, error_status=status, error="overloaded")


def refused(status: int) -> dict[str, Any]:
    text = f"API Error: Request rejected ({status}) · stub"
    return {**RESULT, "is_error": True, "api_error_status": status, "result": text}


def limit(status: str, at: int = 1794740000) -> dict[str, Any]:
    return event("rate_limit_event", rate_limit_info={"status": status, "resetsAt": at, "rateLimitType": "five_hour"})


def ended(subtype: str, *errors: str) -> dict[str, Any]:
    """Returns a final event with errors and no result."""
    kept = {key: value for key, value in RESULT.items() if key != "result"}
    return {**kept, "subtype": subtype, "is_error": True, "errors": list(errors)}


def test_a_stream_is_read() -> None:
    """Texts, tool calls, the final text, tokens with those of the cache, and the cost of this turn alone."""
    story = told(Claude(), INIT, TEXT, TOOL, ANSWER, RESULT)
    assert (story.session, story.tool_count, story.turns, story.last_text) == (SESSION, 1, 2, "hello")
    assert (story.finished, story.failed, story.final_text) == (True, False, "STUB-DONE")
    assert (story.input_tokens, story.output_tokens, story.cost) == (212, 40, pytest.approx(0.0008))


def test_an_older_version_has_only_the_total_cost() -> None:
    """If the cost of the turn is missing, the total is used."""
    older = {key: value for key, value in RESULT.items() if key != "model_usage_since_last_result"}
    assert told(Claude(), older).cost == pytest.approx(0.0016)


def test_denied_tools_are_counted() -> None:
    """Claude reports a turn with denied tools as a success; the denials are counted apart."""
    denials = [{"tool_name": "Bash", "tool_use_id": "1", "tool_input": {}}, {"tool_name": "Write"}]
    story = told(Claude(), TOOL, {**RESULT, "permission_denials": denials})
    assert (story.refusal_count, story.failed, story.finished) == (2, False, True)


SESSION_LIMIT = "You've hit your session limit · resets 5:30am (Asia/Calcutta)"
UNKNOWN = f"No conversation found with session ID: {SESSION}"


@all_of(
    ("lines", "code", "stderr", "stopped", "kind"),
    [
        ([INIT, TEXT, RESULT], 0, "", "", "done"),
        ([INIT, TEXT, RESULT], 143, "", "linger", "done"),
        ([INIT, TEXT, RESULT], 1, "", "", "failed"),
        ([INIT, TEXT], 0, "", "", "failed"),
        ([INIT, ended("error_during_execution")], 0, "", "", "failed"),  # SIGINT from elsewhere: exit code 0
        ([INIT, ended("error_max_turns", "Reached maximum number of turns (1)")], 1, "", "", "failed"),
        ([INIT, ended("error_max_budget_usd", "Reached maximum budget ($0.01)")], 1, "", "", "failed"),
        ([INIT, retry(429), refused(429)], 1, "", "", "limited"),
        ([INIT, retry(529), refused(529)], 1, "", "", "overloaded"),
        ([INIT, retry(529)], 143, "", "retries", "overloaded"),
        ([INIT, retry(529), TEXT, RESULT], 0, "", "", "done"),
        ([INIT, retry(529), TEXT, ended("error_max_turns", "Reached")], 1, "", "", "failed"),
        ([INIT, refused(404)], 1, "", "", "failed"),
        ([INIT, limit("rejected"), refused(429)], 1, "", "", "limited"),
        ([INIT, limit("allowed_warning"), TEXT, RESULT], 0, "", "", "done"),
        ([INIT, {**RESULT, "is_error": True, "result": SESSION_LIMIT}], 1, "", "", "limited"),
        ([ended("error_during_execution", UNKNOWN)], 1, UNKNOWN, "", "not_found"),
        ([], 1, UNKNOWN, "", "not_found"),
        ([], 1, f"Error: Session ID {SESSION} is already in use.", "", "in_use"),
        ([], 1, "error: unknown option '--bogus'", "", "failed"),
        ([INIT], 143, "", "timeout", "timeout"),
        ([INIT], 143, "", "silence", "timeout"),
        ([INIT, ended("error_during_execution")], 0, "", "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, stopped: str, kind: str) -> None:
    """Success is a final event without its error flag and exit code 0; every other end has its kind."""
    assert outcome(Claude(), *lines, code=code, stderr=stderr, stopped=stopped).kind == kind


def test_a_limit_has_its_reset_time() -> None:
    """The reset time of a limit comes from the event, else from the final text."""
    assert outcome(Claude(), limit("rejected"), refused(429), code=1).reset_at == 1794740000
    assert outcome(Claude(), limit("rejected"), code=1).reason == "the five hour limit is reached"
    output = {**RESULT, "is_error": True, "result": "Claude AI usage limit reached|1794741111"}
    assert outcome(Claude(), output, code=1).reset_at == 1794741111
    assert outcome(Claude(), {**output, "result": SESSION_LIMIT}, code=1).reset_at == 0


def test_prose_about_limits_is_no_limit() -> None:
    """An agent's text about limits, or about lost sessions, is only text."""
    prose = event("assistant", message={"content": [{"type": "text", "text": f"{SESSION_LIMIT}. {UNKNOWN}"}]})
    assert outcome(Claude(), prose, {**RESULT, "result": SESSION_LIMIT}).kind == "done"
    assert outcome(Claude(), prose, ended("error_max_turns", "Reached"), code=1).kind == "failed"


def test_another_session_id_is_reported() -> None:
    """An id other than the requested one is in the result, where the turn checks it."""
    assert told(Claude(), {**INIT, "session_id": "another"}).session == "another"


GARBAGE = ["", "x", "[]", "{}", "{", '{"type":"result"}', '{"type":"assistant","message":3}', "half a char �"]
GARBAGE += ['{"type":"rate_limit_event","rate_limit_info":[]}', '{"type":"result","usage":[],"errors":{}}', "[" * 5000]


@all_of("line", GARBAGE)
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is neither an error nor a success."""
    assert isinstance(told(Claude(), line), TurnSummary)
    assert outcome(Claude(), line, code=1).kind == "failed"
