"""OpenCode: its command lines, its permissions, and how its stream is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import FOLDER, JUDGE, NARROW, TASK_FOLDER, outcome, request, told, words
from sow.executors.clis.opencode import OpenCode

ID = "ses_e21fc5e00ffe6gXxQcZAtWI2n3"
COMMON = ["run", "--format", "json"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*COMMON, "--title", "sow implementer", "--dir", "/repo"]),
    ({"yolo": True}, [*COMMON, "--title", "sow implementer", "--dir", "/repo", "--auto"]),
    ({"model": "p/m"}, [*COMMON, "--title", "sow implementer", "--dir", "/repo", "--model", "p/m"]),
    ({"custom_args": ("--pure",)}, [*COMMON, "--title", "sow implementer", "--dir", "/repo", "--pure"]),
    ({"role": JUDGE, "yolo": True}, [*COMMON, "--title", "sow reviewer", "--dir", "/repo"]),
    ({"resume": True, "session": ID}, [*COMMON, "--session", ID, "--dir", "/repo"]),
]


def step(reason: str, **options: Any) -> dict[str, Any]:
    tokens = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 7, "write": 3}}
    part = {"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0.0006, **options}
    return {"type": "step_finish", "sessionID": ID, "part": part}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "sessionID": ID, "part": {"type": "text", "text": words}}


def tool(**state: Any) -> dict[str, Any]:
    return {"type": "tool_use", "sessionID": ID, "part": {"type": "tool", "tool": "bash", "state": state}}


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(OpenCode(), **asked) == expected


def permission(**changes: Any) -> Any:
    return json.loads(OpenCode().spawn_command(request(**changes)).environment["OPENCODE_PERMISSION"])


def test_a_worker_may_use_its_folder_and_commands() -> None:
    """Without yolo it may edit, run sow and git, and reach the task folder and the git folder; nothing is asked."""
    rules = permission()
    assert list(rules["bash"].items())[:3] == [("*", "deny"), ("/bin/sow *", "allow"), ("git *", "allow")]
    assert (rules["bash"]["cat *"], rules["bash"]["find* -delete*"]) == ("allow", "deny")
    assert list(rules["bash"]).index("find *") < list(rules["bash"]).index("find* -delete*")
    assert rules["external_directory"] == {"*": "deny", f"{TASK_FOLDER}/*": "allow", "/repo/.git/*": "allow"}
    assert '"ask"' not in json.dumps(rules)


def test_state_of_other_tasks_is_denied() -> None:
    """The last matching pattern decides, so its own folder comes after the folder of all tasks."""
    assert list(permission()["edit"].items()) == [
        ("*", "allow"),
        (".git/*", "allow"),
        (".git/sow/*", "deny"),
        (".sow/local/*", "deny"),
        (".sow/config.yaml", "deny"),
        (".sow/project/phases/implementation/tasks/*", "deny"),
        (".sow/project/phases/implementation/tasks/010/*", "allow"),
    ]
    assert "edit" not in permission(yolo=True)


def test_a_judge_may_not_edit() -> None:
    """Also with yolo_mode no judge may edit."""
    rules = permission(role=JUDGE, yolo=True)
    assert rules["edit"] == "deny"
    assert list(rules["bash"].items()) == [
        ("*", "deny"),
        ("/bin/sow *", "allow"),
        *((f"git {name} *", "allow") for name in ("status", "diff", "log", "show")),
        *((f"git *{name}*", "deny") for name in ("--output", "--ext-diff", "--textconv")),
    ]


def test_an_agents_tools_restrict_it() -> None:
    """A tool that the agent's file does not name is denied, with and without yolo."""
    for yolo in (False, True):
        rules = permission(role=NARROW, yolo=yolo)
        assert (rules["bash"], rules["task"], rules["webfetch"]) == ("deny", "deny", "deny")
        assert rules.get("edit") != "deny"


def test_an_untrusted_repositorys_settings_are_off() -> None:
    """Its opencode.json is not read; its AGENTS.md is, but not by a judge."""
    call = OpenCode().spawn_command(request())
    assert call.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    config = f"{FOLDER}/opencode.json"
    assert call.environment["OPENCODE_CONFIG"] == config
    assert json.loads(call.files[config]) == {"instructions": ["/repo/AGENTS.md", "/repo/CLAUDE.md"]}
    assert json.loads(OpenCode().spawn_command(request(role=JUDGE)).files[config]) == {"instructions": []}


def test_a_trusted_repositorys_settings_are_on_except_for_judges() -> None:
    """If the user trusts the repository OpenCode reads its settings, but never for a judge."""
    trusted = OpenCode().spawn_command(request(trusted=True))
    assert set(trusted.environment) == {"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_PERMISSION"} and not trusted.files
    judge = OpenCode().spawn_command(request(trusted=True, role=JUDGE))
    assert judge.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


def test_a_turn_is_the_sum_of_its_steps() -> None:
    """Cost and tokens of all steps add up, a tool call counts once, the last text is the result."""
    used = tool(status="completed", input={"command": "ls"})
    story = told(
        OpenCode(), {"type": "step_start", "sessionID": ID}, used, step("tool-calls"), text("all"), step("stop")
    )
    assert (story.session, story.tool_count, story.refusal_count, story.final_text) == (ID, 1, 0, "all")
    assert (story.cost, story.input_tokens, story.output_tokens) == (0.0012, 220, 50)
    assert outcome(OpenCode(), used, step("tool-calls"), text("all"), step("stop")).kind == "done"


def test_work_after_a_stop_continues_the_turn() -> None:
    """A stop with more work after it, as after a compaction, is not the turn's end."""
    assert not told(OpenCode(), text("so far"), step("stop"), tool(status="completed")).finished


def test_a_refused_tool_is_counted() -> None:
    """Both forms of a refusal count as denied, and a tool's own failure does not."""
    refused = tool(status="error", error="The user has specified a rule which prevents you from using this tool call.")
    asked = tool(status="error", error="The user rejected permission to use this specific tool call.")
    assert told(OpenCode(), refused, asked, tool(status="error", error="exit 1")).refusal_count == 2


ERROR = {"name": "APIError", "data": {"message": "stub", "statusCode": 429}}


@all_of(
    ("lines", "code", "stderr", "kind"),
    [
        ([{"type": "error", "sessionID": ID, "error": ERROR}], 1, "", "limited"),
        ([{"type": "error", "error": {**ERROR, "data": {"statusCode": 503}}}], 1, "", "overloaded"),
        ([{"type": "error", "error": {"name": "UnknownError", "data": {}}}], 1, "", "failed"),
        ([], 1, "Error: Session not found", "not_found"),
        ([text("half"), step("tool-calls")], 0, "", "failed"),
        ([text("half"), step("length")], 0, "", "failed"),
        ([], 0, "", "failed"),
        (["not json", text("x"), step("stop")], 0, "", "done"),
        ([text("x"), step("stop")], -15, "", "failed"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, stderr: str, kind: str) -> None:
    """Success is the last step's stop and exit code 0; every other end has its kind."""
    assert outcome(OpenCode(), *lines, code=code, stderr=stderr).kind == kind


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '{"type":"text","part":7}', '{"type":"step_finish","part":{"tokens":[]}}']
)
def test_any_line_can_be_read(line: str) -> None:
    """A line of another shape is no error."""
    told(OpenCode(), line)
