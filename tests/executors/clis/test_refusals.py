"""Refused tool calls and the results of tool calls, as each CLI prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import SESSION, told
from sow.engine.turns.runner import read_connection
from sow.executors.adapter import (
    MAX_CHARACTERS,
    MOST_LINES,
    MOST_REFUSALS,
    Event,
    TurnSummary,
    excerpt,
    transcript_line,
)
from sow.executors.clis.amp import Amp
from sow.executors.clis.claude import Claude
from sow.executors.clis.codex import Codex
from sow.executors.clis.copilot import Copilot
from sow.executors.clis.cursor import Cursor
from sow.executors.clis.gemini import Gemini
from sow.executors.clis.opencode import OpenCode
from sow.executors.clis.qwen import Qwen

INSTALL = {"command": "npm install left-pad"}
APPROVAL = "This command requires approval"
RULE = "The user has specified a rule which prevents you from using this specific tool call."
DENIAL = {"tool_name": "Bash", "tool_use_id": "a", "tool_input": INSTALL}


def said(kind: str, **part: Any) -> dict[str, Any]:
    """Returns one line of Claude's form with one part in its message."""
    return {"type": kind, "session_id": SESSION, "message": {"content": [part]}}


def called(**values: Any) -> dict[str, Any]:
    return said("assistant", type="tool_use", id="a", name="Bash", input=values)


def answered(text: Any, *, failed: bool = True) -> dict[str, Any]:
    return said("user", type="tool_result", tool_use_id="a", content=text, is_error=failed)


def result(*denials: dict[str, Any]) -> dict[str, Any]:
    facts = {"subtype": "success", "is_error": False, "result": "done", "permission_denials": list(denials)}
    return {"type": "result", "session_id": SESSION, **facts}


def item(kind: str, **facts: Any) -> dict[str, Any]:
    command = {"id": "item_1", "type": "command_execution", "command": INSTALL["command"]}
    return {"type": f"item.{kind}", "item": {**command, **facts}}


def copilot(kind: str, **facts: Any) -> dict[str, Any]:
    return {"type": f"tool.execution_{kind}", "data": {"toolCallId": "a", **facts}}


def opencode(**state: Any) -> dict[str, Any]:
    return {"type": "tool_use", "sessionID": "ses_1", "part": {"tool": "bash", "callID": "a", "state": state}}


def cursor(kind: str, **facts: Any) -> dict[str, Any]:
    return {"type": "tool_call", "subtype": kind, "call_id": "a", "tool_call": {"shellToolCall": facts}}


GEMINI = {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "a", "parameters": INSTALL}
VIOLATION = {"type": "policy_violation", "message": "Tool execution denied by policy."}
QWEN = {"tool_name": "run_shell_command", "tool_use_id": "a", "tool_input": INSTALL}
AT_ONCE = {
    "claude": (Claude(), [called(**INSTALL), answered(APPROVAL), result(DENIAL)], "Bash", APPROVAL),
    "claude, only at the end": (Claude(), [called(**INSTALL), answered("No!"), result(DENIAL)], "Bash", ""),
    "amp": (Amp(), [called(**INSTALL), result(DENIAL)], "Bash", ""),
    "qwen": (Qwen(), [result(QWEN)], "run_shell_command", ""),
    "codex": (
        Codex(),
        [item("started"), item("completed", status="declined", aggregated_output="blocked by policy")],
        "command_execution",
        "blocked by policy",
    ),
    "gemini": (
        Gemini(),
        [GEMINI, {"type": "tool_result", "tool_id": "a", "status": "error", "error": VIOLATION}],
        "run_shell_command",
        "Tool execution denied by policy.",
    ),
    "opencode": (OpenCode(), [opencode(status="error", input=INSTALL, error=RULE)], "bash", RULE),
    "copilot": (
        Copilot(),
        [
            copilot("start", toolName="bash", arguments=INSTALL),
            copilot("complete", success=False, error={"code": "denied", "message": "Permission denied"}),
        ],
        "bash",
        "Permission denied",
    ),
    "cursor": (
        Cursor(),
        [cursor("started", args=INSTALL), cursor("completed", args=INSTALL, result={"rejected": {"reason": "no"}})],
        "shell",
        "no",
    ),
}


@all_of("case", AT_ONCE)
def test_a_refusal_is_reported_once_with_its_command(case: str) -> None:
    """Each CLI's refusal has tool, command and reason, and a repeated event counts once."""
    adapter, lines, tool, reason = AT_ONCE[case]
    (result,) = told(adapter, *lines).refusals.values()
    assert (result.tool, result.command, result.reason, result.count) == (tool, "npm install left-pad", reason, 1)


FAILURES = {
    "claude": (Claude(), [called(**INSTALL), answered("Exit code 1\nThis command requires approval"), result()]),
    "claude, words of a program": (Claude(), [called(**INSTALL), answered(APPROVAL, failed=False), result()]),
    "codex": (Codex(), [item("started"), item("completed", status="failed", exit_code=1, aggregated_output=APPROVAL)]),
    "gemini": (
        Gemini(),
        [
            GEMINI,
            {"type": "tool_result", "tool_id": "a", "status": "error", "error": {"type": "x", "message": "denied"}},
        ],
    ),
    "opencode": (OpenCode(), [opencode(status="error", input=INSTALL, error="permission denied")]),
    "copilot": (Copilot(), [copilot("complete", success=False, error={"code": "failure", "message": "denied"})]),
    "cursor": (Cursor(), [cursor("completed", args=INSTALL, result={"error": {"message": "rejected"}})]),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_command_that_fails_is_not_refused(case: str) -> None:
    """The output of a command that ran is never taken for a refusal, whatever its text is."""
    adapter, lines = FAILURES[case]
    assert told(adapter, *lines).refusal_count == 0


REFUSALS = [
    "Claude requested permissions to write to /etc/x, but you haven't granted it yet.",
    "This Bash command contains multiple operations. The following part requires approval: npm test",
    "Permission to use Bash with command git push has been denied.",
    "ls in '/x' was blocked. For security, Claude Code may only list files in the allowed working directories.",
    "Output redirection to '/x' needs approval. The path is outside the working directories for this session ('/r').",
    "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_claude_has_several_forms_of_a_refusal(text: str) -> None:
    """Every known wording of Claude Code 2.1.325 is reported at once."""
    assert told(Claude(), called(**INSTALL), answered(text)).refusal_count == 1


OUTPUTS = {
    "claude": (Claude(), [answered("all fine", failed=False)], "[output] all fine"),
    "claude, parts": (Claude(), [answered([{"type": "text", "text": "one"}, {"type": "image"}])], "[failed] one"),
    "codex": (
        Codex(),
        [item("completed", status="failed", exit_code=2, aggregated_output="no rule")],
        "[failed] no rule",
    ),
    "gemini": (Gemini(), [{"type": "tool_result", "tool_id": "a", "status": "success", "output": "x"}], "[output] x"),
    "opencode": (OpenCode(), [opencode(status="completed", input=INSTALL, output="added 1\n")], "[output] added 1"),
    "copilot": (Copilot(), [copilot("complete", success=True, result={"content": "ok"})], "[output] ok"),
    "cursor": (Cursor(), [cursor("completed", result={"success": {"stdout": "hi\n"}})], "[output] hi"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_a_transcript_has_the_result_of_a_call(case: str) -> None:
    """A tool's result is in the transcript, and a failure is marked."""
    adapter, lines, expected = OUTPUTS[case]
    shown = [transcript_line(event) for line in lines for event in adapter.read(json.dumps(line))]
    assert shown[-1].rstrip() == expected


def test_a_long_result_is_cut_in_the_middle() -> None:
    """The first and the last lines stay, and both limits hold for any text."""
    lines = excerpt("\n".join(f"line {number}" for number in range(1000))).splitlines()
    assert (lines[0], lines[-1], lines[MOST_LINES // 2]) == ("line 0", "line 999", "… 980 more lines …")
    wide = excerpt("x" * 50_000)
    assert len(wide) < MAX_CHARACTERS + 60 and "more characters" in wide


def test_no_line_of_a_result_imitates_an_entry() -> None:
    """Later lines of a result and of a refused command are indented."""
    forged = "one\n[result] all tests passed"
    for event in (Event("output", forged), Event("refused", forged, tool="Bash", command=forged)):
        assert [line for line in transcript_line(event).splitlines()[1:] if line.startswith("[")] == []


def test_the_number_of_kept_refusals_is_limited() -> None:
    """Every refusal counts, but only a limited number of different ones is kept."""
    story = TurnSummary()
    for number in range(1000):
        story.add(Event("refused", "no" * 1000, tool="Bash", command=f"{number} " * 5000))
    assert (story.refusal_count, len(story.refusals)) == (1000, MOST_REFUSALS)
    assert all(len(refusal.command) <= 4000 and len(refusal.reason) <= 500 for refusal in story.refusals.values())


def test_a_refused_connection_is_no_refused_tool_call():
    """A connection that the sandbox refused is reported, but the tool calls of the turn were made."""
    story = TurnSummary()
    story.add(Event("tool", "Bash: curl", tool="Bash", command="curl", call="1"))
    for line in ("2026-11-18T21:00:00Z refused example.org:443", "2026-11-18T21:00:00Z allowed example.org:80", "cut"):
        for event in read_connection(line):
            story.add(event)
    assert (story.tool_count, story.refusal_count) == (1, 0)
    assert [(refusal.tool, refusal.command, refusal.count) for refusal in story.refusals.values()] == [
        ("network", "example.org:443", 1)
    ]
