"""Amp: its command lines, its permission rules, and whole turns with a stand-in for `amp`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from conftest import SOW, Repo

from executors.sample_turn import FOLDER, JUDGE, READER, TASK_FOLDER, TASKS, outcome, request, told, words
from sow.executors.clis.amp import Amp

THREAD = "T-5928a90d-d53b-488f-a829-4e36442142ee"
COMMON = ["--execute", "--stream-json", "--no-ide", "--no-notifications"]
KEEP = ["--no-archive-after-execute"]
RULES = ["--settings-file", f"{FOLDER}/amp.json"]
ALL = ["--dangerously-allow-all"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*COMMON, *KEEP, *RULES]),
    ({"yolo": True}, [*COMMON, *KEEP, *ALL]),
    ({"yolo": True, "custom_args": ("--mode", "high")}, [*COMMON, *KEEP, *ALL, "--mode", "high"]),
    ({"yolo": True, "role": JUDGE}, [*COMMON, *KEEP, *RULES]),
    ({"yolo": True, "role": READER}, [*COMMON, *KEEP, *RULES]),
    ({"resume": True, "session": THREAD}, ["threads", "continue", THREAD, *COMMON, *RULES]),
    ({"resume": True, "session": THREAD, "yolo": True}, ["threads", "continue", THREAD, *COMMON, *ALL]),
]
LOOPHOLES = ["*--output*", "*--ext-diff*", "*--textconv*"]
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": THREAD}


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Amp(), **asked) == expected


def rules(**changes: Any) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(Amp().spawn_command(request(**changes)).files[f"{FOLDER}/amp.json"])[
        "amp.permissions"
    ]
    return data


def test_rules_allow_commands_and_refuse_the_rest() -> None:
    """The first matching rule decides, so allowed commands come first; a judge may not edit."""
    closed, allowed, rest = [rule for rule in rules() if rule["tool"] == "Bash"]
    assert closed["action"] == "reject" and "find* -delete*" in closed["matches"]["cmd"]
    assert allowed["action"] == "allow" and allowed["matches"]["cmd"][:4] == ["/bin/sow", "/bin/sow *", "git", "git *"]
    assert {"cat *", "grep *", "find *"} <= set(allowed["matches"]["cmd"])
    assert rest == {"tool": "Bash", "action": "reject"}
    edits = [rule for rule in rules() if rule["tool"] == "edit_file"]
    assert [(edit.get("matches", {}).get("path", ["*"])[0], edit["action"]) for edit in edits] == [
        (f"{TASK_FOLDER}/*", "allow"),
        (f"{TASKS}/*", "reject"),
        ("/repo/.sow/config.yaml", "reject"),
        ("/repo/.sow/local/*", "reject"),
        ("/repo/.git/sow/*", "reject"),
        ("/repo/.git/*", "allow"),
        ("/repo/*", "allow"),
        ("*", "reject"),
    ]
    judged = rules(role=JUDGE)
    assert {"tool": "edit_file", "action": "reject"} in judged
    assert judged[0] == {"tool": "Bash", "matches": {"cmd": LOOPHOLES}, "action": "reject"}
    assert "git *" not in json.dumps(judged) and "git log *" in json.dumps(judged)


@pytest.mark.parametrize(
    ("lines", "code", "kind", "reason"),
    [
        ([RESULT], 0, "done", ""),
        ([{**RESULT, "subtype": "error_during_execution", "is_error": True, "result": ""}], 1, "failed", "no result"),
        ([{**RESULT, "is_error": True, "result": "no credits"}], 1, "failed", "no credits"),
        ([{"type": "result", "subtype": "error_max_turns", "is_error": True, "error": "too long"}], 1, "failed", "too"),
        ([], 0, "failed", "no result"),
    ],
)
def test_ends_of_a_turn(lines: list[Any], code: int, kind: str, reason: str) -> None:
    """Its result has Claude Code's form; an error's text is the reason."""
    result = outcome(Amp(), *lines, code=code)
    assert result.kind == kind and reason in result.reason


def test_a_stream_is_read() -> None:
    """The thread's id comes first; calls, text and tokens have Claude Code's form."""
    content = [{"type": "text", "text": "so"}, {"type": "tool_use", "name": "Bash", "input": {"cmd": "ls"}}]
    story = told(
        Amp(),
        {"type": "system", "subtype": "init", "session_id": THREAD},
        {"type": "assistant", "message": {"content": content}, "session_id": THREAD},
        {**RESULT, "usage": {"input_tokens": 100, "output_tokens": 20}},
    )
    assert (story.session, story.tool_count, story.final_text) == (THREAD, 1, "done")
    assert (story.input_tokens, story.output_tokens, story.cost) == (100, 20, None)


@pytest.fixture
def worker(repo: Repo, tmp_path: Path) -> Repo:
    """A repository whose implementer is the fake, with yolo_mode off."""
    fakes.install(repo, "amp", tmp_path / "bin")
    repo.environment |= {"SOW_AGENTS_IMPLEMENTER": "amp", "AMP_API_KEY": "dummy-key-of-amp"}
    return repo


def spawn(repo: Repo, directives: str, *more: str) -> Any:
    repo.ok("task", "create", "--name", f"Work {directives}", "--agent", "implementer")
    return repo.sow("agent", "spawn", "implementer", "010", *more)


def record(repo: Repo) -> dict[str, Any]:
    path = repo.root / ".sow/local/sessions/010/1/record.yaml"
    session: dict[str, Any] = yaml.safe_load(path.read_text())["session"]
    return session


def test_a_task_without_yolo(worker: Repo) -> None:
    """The rules let it commit and call sow but not edit a file, and the thread continues."""
    commit = "git commit -q --allow-empty -m made"
    first = spawn(worker, f"[[sh:{commit}]] [[sh:touch no.txt]] [[sh:{SOW} task set --id 010 status paused]]")
    assert first.code == 0 and first.out.endswith("task 010: status is paused\n"), first
    assert worker.git("log", "-1", "--format=%s") == "made\n" and not (worker.root / "no.txt").exists()
    thread = record(worker)["session_id"]
    assert thread.startswith("T-") and worker.task("010")["session_id"] == thread
    second = worker.ok("agent", "resume", "010", f"Use RS256 [[sh:{SOW} task set --id 010 status needs_review]]")
    assert f"(earlier: sh:{commit}" in second.out
    assert [turn["input_tokens"] for turn in record(worker)["turns"]] == [100, 100]
    worker.ok("task", "set", "--id", "010", "status", "completed")


def test_a_failed_turn_has_its_reason(worker: Repo) -> None:
    """An error result is no success."""
    result = spawn(worker, "[[fail:out of credits]]")
    assert result.code == 1 and "out of credits" in result.err, result


def test_a_login_prompt_is_ended(worker: Repo) -> None:
    """Without a key amp waits for a code forever; the silence limit ends that."""
    del worker.environment["AMP_API_KEY"]
    path = Path(worker.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump({"limits": {"silence_timeout": "1s"}}))
    result = spawn(worker, "[[say:hello]]")
    assert result.code == 1 and "was stopped: its silence was longer than limits.silence_timeout" in result.err, result


def test_amp_takes_no_model(worker: Repo) -> None:
    """Amp has modes, not models, and an error says so before it starts."""
    result = spawn(worker, "[[say:hello]]", "--model", "opus")
    assert result.code == 2 and 'executor "amp" takes no model' in result.err
