"""Qwen Code: its command lines, its permissions, and how its stream and its own record are read."""

from __future__ import annotations

import json
from typing import Any

from support.quick_cases import all_of

from executors.sample_turn import CLOSED, JUDGE, NARROW, SESSION, TASK_FOLDER, outcome, request, told, words
from sow.executors.adapter import ProcessEnd, Role, TurnSummary
from sow.executors.clis.qwen import Qwen

NEW, OLD = ["--session-id", SESSION], ["--resume", SESSION]
STREAM = ["--output-format", "stream-json"]
RUN = ["run_shell_command(/bin/sow *)", "run_shell_command(git *)"]
WRITE = ["write_file(//repo/**)", "edit(//repo/**)", "notebook_edit(//repo/**)"]
DENY = ["--exclude-tools"]
DENY += [f"{tool}(/{item})" for item in CLOSED for tool in ("write_file", "edit", "notebook_edit")]
WORK = ["--approval-mode", "default", "--allowed-tools", *RUN, *WRITE, *DENY]
AFAR = ["write_file(//main/.git/**)", "edit(//main/.git/**)", "notebook_edit(//main/.git/**)"]
WORKTREE = ["--approval-mode", "default", "--add-dir", "/main/.git", "--allowed-tools", *RUN, *WRITE, *AFAR, *DENY]
LOOK = ["--approval-mode", "default", "--safe-mode", "--allowed-tools", RUN[0]]
LOOK += ["--exclude-tools", "write_file", "edit", "notebook_edit"]
REST = ["run_shell_command", "monitor", "grep_search", "glob", "list_directory", "agent", "send_message", "skill"]
REST += ["web_fetch", "enter_worktree", "exit_worktree", "cron_create", "cron_delete", "loop_wakeup"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*NEW, *STREAM, *WORK]),
    ({"resume": True}, [*OLD, *STREAM, *WORK]),
    ({"writable": (TASK_FOLDER, "/main/.git")}, [*NEW, *STREAM, *WORKTREE]),
    ({"yolo": True}, [*NEW, *STREAM, "--yolo"]),
    ({"yolo": True, "resume": True}, [*OLD, *STREAM, "--yolo"]),
    ({"yolo": True, "model": "m"}, [*NEW, *STREAM, "--model", "m", "--yolo"]),
    ({"custom_args": ("--debug",)}, [*NEW, *STREAM, *WORK, "--debug"]),
    ({"role": JUDGE}, [*NEW, *STREAM, *LOOK]),
    ({"role": JUDGE, "yolo": True, "resume": True}, [*OLD, *STREAM, *LOOK]),
    (
        {"role": NARROW, "yolo": True},
        [*NEW, *STREAM, "--yolo", "--exclude-tools", "write_file", "notebook_edit", *REST],
    ),
    (
        {"role": Role(name="reader", judges=True, tools=("Read", "Bash", "Edit"))},
        [*NEW, *STREAM, *LOOK, *REST[2:]],
    ),
]


@all_of(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Qwen(), **asked) == expected


def test_folder_names_are_escaped_in_patterns() -> None:
    """Pattern characters in a folder's name are escaped."""
    result = words(Qwen(), cwd="/a[b](c)", writable=(), commands=(), write_protected=())
    assert "write_file(//a\\[b\\]\\(c\\)/**)" in result


def test_qwen_does_not_relaunch() -> None:
    """It would relaunch itself, and a signal to the launcher alone would leave its worker alive."""
    assert Qwen().spawn_command(request()).environment["QWEN_CODE_NO_RELAUNCH"] == "true"
    assert Qwen.capabilities.stops_group and Qwen.capabilities.cumulative_tokens


def event(kind: str, **options: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": SESSION, **options}


INIT = event("system", subtype="init", cwd="/repo")
GOAL = event("stream_event", event={"type": "goal_state"})
TOOL = event("assistant", message={"content": [{"type": "tool_use", "name": "edit", "input": {"file_path": "a.py"}}]})
TEXT = event("assistant", message={"content": [{"type": "text", "text": "hello"}]})
USAGE = {"input_tokens": 400, "output_tokens": 80, "cache_read_input_tokens": 0, "total_tokens": 480}
RESULT = event("result", subtype="success", is_error=False, num_turns=2, result="STUB-DONE", usage=USAGE)
DENIALS = [{"tool_name": "run_shell_command", "tool_use_id": "1", "tool_input": {"command": "touch x"}}]


def failed(message: str) -> dict[str, Any]:
    kept = {key: value for key, value in RESULT.items() if key != "result"}
    return {**kept, "subtype": "error_during_execution", "is_error": True, "error": {"message": message}}


def test_a_stream_is_read() -> None:
    """The stream has Claude's form; its tokens are those of the whole session, and it has no cost."""
    story = told(Qwen(), INIT, GOAL, TOOL, TEXT, RESULT)
    assert (story.session, story.tool_count, story.turns) == (SESSION, 1, 2)
    assert (story.finished, story.failed, story.final_text) == (True, False, "STUB-DONE")
    assert (story.input_tokens, story.output_tokens, story.cost) == (400, 80, None)
    assert told(Qwen(), TOOL, {**RESULT, "permission_denials": DENIALS}).refusal_count == 1


UNKNOWN = f"No saved session found with ID {SESSION}. Run `qwen --resume` without an ID to choose."
TAKEN = f"Error: Session Id {SESSION} already exists (active or archived). Delete or unarchive it first."


@all_of(
    ("lines", "code", "stderr", "stopped", "kind"),
    [
        ([INIT, TEXT, RESULT], 0, "Ripgrep not available", "", "done"),
        ([INIT, TEXT], 53, "Reached max session turns for this session.", "", "failed"),
        ([INIT, TEXT, RESULT], 1, "", "", "failed"),
        ([INIT], -15, "", "", "failed"),
        ([INIT, TEXT, failed("[API Error: 429 stub 429]")], 1, "", "", "limited"),
        ([INIT, TEXT, failed("[API Error: 529 stub 529]")], 1, "", "", "overloaded"),
        ([INIT, TEXT, failed("[API Error: 404 stub 404]")], 1, "", "", "failed"),
        ([], 1, UNKNOWN, "", "not_found"),
        ([], 1, TAKEN, "", "in_use"),
        ([INIT], -15, "", "timeout", "timeout"),
        ([INIT], -15, "", "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, stopped: str, kind: str) -> None:
    """Success is a final event without its error flag and exit code 0; every other end has its kind."""
    assert outcome(Qwen(), *lines, code=code, stderr=stderr, stopped=stopped).kind == kind


def api_error(status: int) -> str:
    facts = {"event.name": "qwen-code.api_error", "status_code": status, "error_message": f"{status} stub"}
    return json.dumps({"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": facts}})


def test_a_failed_request_is_read_from_its_record() -> None:
    """It retries for minutes without output; its record of the session has each failure."""
    environment = {"HOME": "/home/ada"}
    path = f"/home/ada/.qwen/projects/-home-ada-my-repo/chats/{SESSION}.jsonl"
    assert Qwen().log_path(request(cwd="/home/ada/my.repo"), environment) == path
    assert Qwen().log_path(request(), {**environment, "QWEN_HOME": "/q"}).startswith("/q/projects/-repo/")
    story = TurnSummary()
    for line in (api_error(529), '{"type":"user"}', "x", api_error(529)):
        for item in Qwen().read_log(line):
            story.add(item)
    assert (story.retries, story.error_status) == (2, 529)
    assert Qwen().outcome(ProcessEnd(code=-15, stop_reason="retries"), story).kind == "overloaded"


GARBAGE = ["", "x", "[]", "{}", "{", '{"type":"result"}', '{"type":"result","error":3}', "half a char �"]


@all_of("line", [*GARBAGE, '{"systemPayload":[]}', '{"systemPayload":{"uiEvent":"x"}}'])
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is neither an error nor a success."""
    assert isinstance(told(Qwen(), line), TurnSummary)
    assert Qwen().read_log(line) == []
    assert outcome(Qwen(), line, code=1).kind == "failed"
