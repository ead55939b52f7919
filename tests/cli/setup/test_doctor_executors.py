"""sow doctor on executors: the program, its version, its flags and what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sow.executors.executor_types import adapter

CLAUDE = adapter("claude").capabilities


def install(repo: Any, name: str, text: str) -> Path:
    """Put a program on PATH that notes each of its starts."""
    folder = Path(repo.environment["HOME"]) / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/{name}.starts\n{text}\n')
    path.chmod(0o755)
    if str(folder) not in repo.environment["PATH"]:
        repo.environment["PATH"] = f"{folder}:{repo.environment['PATH']}"
    return path


def usual(version: str = "2.1.325", without: str = "") -> str:
    """A CLI that knows the flags of Claude Code, but for one."""
    flags = " ".join(required_flag for required_flag in CLAUDE.required_flags if required_flag != without)
    return f'[ "$1" = --version ] && echo "{version} (Claude Code)" || echo "usage: claude {flags}"'


def configure(repo: Any, text: str) -> Path:
    path = Path(repo.environment["HOME"]) / ".config/sow/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def executors(repo: Any, **options: str) -> dict[str, dict[str, Any]]:
    return {executor["name"]: executor for executor in repo.sow("doctor", "--json", **options).json["executors"]}


def test_a_healthy_executor(repo: Any):
    """The bound executor is told with its program, its version, its flags and what it can do."""
    path = install(repo, "claude", usual())
    result = repo.ok("doctor")
    line = f"✓ claude-code: {path} 2.1.325: supports all needed flags; takes a session id, can resume, reports its cost"
    assert line in result.out.splitlines()
    assert "✓ your settings at ~/.config/sow/config.yaml do not exist, so sow uses the defaults" in result.out
    assert result.out.endswith("0 problems, 0 warnings\n")


def test_the_same_for_programs(repo: Any):
    """The document has every fact on each executor in use, and the roles that it plays."""
    path = install(repo, "claude", usual())
    result = executors(repo)
    assert list(result) == ["claude-code"]
    facts = result["claude-code"]
    assert facts["path"] == str(path)
    assert (facts["version"], facts["flags_known"], facts["missing_flags"]) == ("2.1.325", True, [])
    assert (facts["session"], facts["resumes"], facts["reports_cost"]) == ("given", True, True)
    assert "implementer" in facts["roles"]


def test_it_is_asked_once(repo: Any):
    """The second call of the doctor starts no CLI."""
    path = install(repo, "claude", usual())
    assert executors(repo)["claude-code"]["cached"] is False
    assert executors(repo)["claude-code"]["cached"] is True
    assert Path(f"{path}.starts").read_text().splitlines() == ["--version", "--help"]


def test_what_is_bound_or_configured_is_examined(repo: Any):
    """Every executor that the user defined or bound is there, and nothing else; a CLI is asked once for all of them."""
    path = install(repo, "claude", usual())
    configure(
        repo,
        "agents:\n  executors:\n    opus:\n      type: claude\n    mine:\n      type: command\n"
        "      settings:\n        command: [my-agent]\n  bindings:\n    planner: simulated\n",
    )
    install(repo, "my-agent", "exit 1")
    result = executors(repo, SOW_AGENTS_REVIEWER="opus")
    assert set(result) == {"claude-code", "opus", "mine", "simulated"}
    assert result["opus"]["roles"] == ["reviewer"]
    assert result["simulated"]["roles"] == ["planner"]
    assert (result["mine"]["version"], result["mine"]["flags_known"]) == (None, None)
    assert Path(f"{path}.starts").read_text().splitlines() == ["--version", "--help"]


def test_a_program_of_the_users_own_is_never_started(repo: Any):
    """The program of a `command` executor would begin to work, so the doctor only looks whether it is there."""
    path = install(repo, "my-agent", "exit 1")
    install(repo, "claude", usual())
    configure(
        repo, f"agents:\n  executors:\n    mine:\n      type: command\n      settings:\n        command: [{path}]\n"
    )
    repo.ok("doctor")
    assert not Path(f"{path}.starts").exists()


def test_a_missing_program_is_a_warning(repo: Any):
    """An executor whose program is missing is a warning with the way to install it."""
    configure(
        repo, "agents:\n  executors:\n    mine:\n      type: claude\n      settings:\n        binary: /nonexistent/x\n"
    )
    install(repo, "claude", usual())
    result = repo.ok("doctor")
    assert "⚠ mine: /nonexistent/x is not installed\n    Correct agents.executors.mine" in result.out
    assert executors(repo)["mine"]["path"] is None
    configure(repo, "agents: {default: codex}\n")
    out = repo.ok("doctor").out
    assert "⚠ codex: codex is not installed; needed by: orchestrator, implementer, architect and 16 more" in out
    assert "claude" not in out


def test_a_missing_command_for_notifications_is_a_warning(repo: Any):
    """A run would find that out when nobody looks; one that is there is reported to be."""
    configure(repo, "notify:\n  command: [no-such-program, sow]\n")
    assert "⚠ notify.command: no-such-program not found on PATH\n    runs continue without it" in repo.ok("doctor").out
    configure(repo, "notify:\n  command: [sh, -c, 'exit 0']\n")
    assert "✓ The notification command exists" in repo.ok("doctor").out


def test_flags_that_are_gone_are_told(repo: Any):
    """A CLI whose help lacks a flag that we use is a warning that names the flag."""
    install(repo, "claude", usual("3.0.0", without="--session-id"))
    result = repo.ok("doctor")
    assert "3.0.0: this version does not support --session-id;" in result.out
    assert executors(repo)["claude-code"]["missing_flags"] == ["--session-id"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exec cat /dev/zero", "said far too much"),
        ("printf '\\377\\033[31m\\0'", "no version in what it says"),
        ("exit 9", "--version ended with exit code 9"),
    ],
)
def test_a_strange_program_is_a_warning(repo: Any, text: str, words: str):
    """Garbage, endless output and failure at start are warnings, with no control byte on the terminal."""
    install(repo, "claude", text)
    result = repo.ok("doctor")
    assert words in result.out
    assert "\x1b" not in result.out
    assert executors(repo)["claude-code"]["trouble"]


def test_a_program_that_hangs_does_not_hang_the_doctor(repo: Any):
    """A CLI that never answers is a warning, and nothing of it is alive afterwards."""
    child = Path(repo.environment["HOME"]) / "child"
    install(repo, "claude", f"trap '' TERM\nsleep 600 &\necho $! > {child}\nwait")
    result = repo.ok("doctor")
    assert "did not end within 15 seconds" in result.out
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not state.exists() or ") Z " in state.read_text()


def test_broken_settings_are_a_problem(repo: Any):
    """Settings that cannot be read are one problem with the file, and the rest is examined all the same."""
    path = configure(repo, "agents:\n  bindings: 5\n")
    result = repo.sow("doctor")
    assert result.code == 1
    assert f"✗ {path}:2: agents.bindings: must be a mapping, not 5\n    fix it with 'sow config edit'" in result.out
    assert "✓ Python 3." in result.out
    assert repo.sow("doctor", "--json").json["executors"] == []


def test_settings_that_fit_nothing_are_problems(repo: Any):
    """A binding to nobody and an executor that lacks its command are problems, the others are examined."""
    install(repo, "claude", usual())
    configure(repo, "agents:\n  executors:\n    mine:\n      type: command\n  bindings:\n    planner: cusor\n")
    result = repo.sow("doctor", "--json")
    assert result.code == 1
    text = [finding["what"] for finding in result.json["findings"] if finding["state"] == "problem"]
    assert text[0].startswith("agents.executors.mine.settings.command: is missing")
    assert text[1] == "agents.bindings.planner: unknown executor: cusor"
    assert [executor["name"] for executor in result.json["executors"]] == ["claude-code"]


@pytest.mark.parametrize("kind", ["claude", "command"])
def test_a_file_that_is_no_program_is_a_warning(repo: Any, kind: str):
    """A text with the right to be executed is told, also where the program is never asked for anything."""
    path = install(repo, "mine", "")
    path.write_text("just words\n")
    place = {"claude": f"binary: {path}", "command": f"command: [{path}]"}[kind]
    configure(repo, f"agents: {{executors: {{mine: {{type: {kind}, settings: {{{place}}}}}}}}}\n")
    trouble = "it is neither a program for this machine nor a script that begins with #!"
    assert executors(repo)["mine"]["trouble"] == trouble
    assert f"⚠ mine: {path}: {trouble}" in repo.sow("doctor").out
