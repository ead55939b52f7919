"""sow doctor on executors: the program, its version, its flags and what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sow.executors.settings import adapter

CLAUDE = adapter("claude").capabilities


def install(repo: Any, name: str, text: str) -> Path:
    """Installs a program on PATH that records each of its starts."""
    folder = Path(repo.environment["HOME"]) / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/{name}.starts\n{text}\n')
    path.chmod(0o755)
    if str(folder) not in repo.environment["PATH"]:
        repo.environment["PATH"] = f"{folder}:{repo.environment['PATH']}"
    return path


def usual(version: str = "2.1.325", without: str = "") -> str:
    """A CLI that knows the flags of Claude Code, except one."""
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
    """The bound executor is shown with its program, version, flags and capabilities."""
    path = install(repo, "claude", usual())
    result = repo.ok("doctor")
    line = f"✓ claude-code: {path} 2.1.325: supports all needed flags; takes a session id, can resume, reports its cost"
    assert line in result.out.splitlines()
    assert "✓ your settings at ~/.config/sow/config.yaml do not exist, so sow uses the defaults" in result.out
    assert result.out.endswith("0 problems, 0 warnings\n")


def test_executors_as_json(repo: Any):
    """The document has every fact about each executor in use, and its roles."""
    path = install(repo, "claude", usual())
    result = executors(repo)
    assert list(result) == ["claude-code"]
    facts = result["claude-code"]
    assert facts["path"] == str(path)
    assert (facts["version"], facts["flags_known"], facts["missing_flags"]) == ("2.1.325", True, [])
    assert (facts["session"], facts["resumes"], facts["reports_cost"]) == ("given", True, True)
    assert "implementer" in facts["roles"]


def test_a_cli_is_asked_once(repo: Any):
    """The second call of doctor starts no CLI."""
    path = install(repo, "claude", usual())
    assert executors(repo)["claude-code"]["cached"] is False
    assert executors(repo)["claude-code"]["cached"] is True
    assert Path(f"{path}.starts").read_text().splitlines() == ["--version", "--help"]


def test_bound_and_configured_executors_are_examined(repo: Any):
    """Every executor that the user defined or bound is listed, and each CLI is asked once."""
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


def test_a_command_executor_is_never_started(repo: Any):
    """The program of a `command` executor would begin to work, so doctor only checks that it exists."""
    path = install(repo, "my-agent", "exit 1")
    install(repo, "claude", usual())
    configure(
        repo, f"agents:\n  executors:\n    mine:\n      type: command\n      settings:\n        command: [{path}]\n"
    )
    repo.ok("doctor")
    assert not Path(f"{path}.starts").exists()


def test_a_missing_program_is_a_warning(repo: Any):
    """A missing program is a warning with the way to install it."""
    configure(
        repo, "agents:\n  executors:\n    mine:\n      type: claude\n      settings:\n        binary: /nonexistent/x\n"
    )
    install(repo, "claude", usual())
    result = repo.ok("doctor")
    assert "⚠ mine: /nonexistent/x is not installed\n    Correct agents.executors.mine" in result.out
    assert executors(repo)["mine"]["path"] is None
    configure(repo, "agents: {default: codex}\n")
    out = repo.ok("doctor").out
    what = "⚠ codex: codex is not installed, and a run that needs it does not start"
    assert f"{what}; needed by: orchestrator, implementer, architect and 16 more" in out
    assert "claude" not in out


def test_a_missing_command_for_notifications_is_a_warning(repo: Any):
    """A missing command for notifications is a warning, and an existing one is shown."""
    configure(repo, "notify:\n  command: [no-such-program, sow]\n")
    assert "⚠ notify.command: no-such-program not found on PATH\n    runs continue without it" in repo.ok("doctor").out
    configure(repo, "notify:\n  command: [sh, -c, 'exit 0']\n")
    assert "✓ The notification command exists" in repo.ok("doctor").out


def test_missing_flags_are_reported(repo: Any):
    """A CLI whose help lacks a flag that sow uses is a warning that names the flag."""
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
    """Garbage, endless output and a failure at start are warnings, without control bytes on the terminal."""
    install(repo, "claude", text)
    result = repo.ok("doctor")
    assert words in result.out
    assert "\x1b" not in result.out
    assert executors(repo)["claude-code"]["trouble"]


@pytest.mark.full
def test_a_hanging_program_is_ended(repo: Any):
    """A CLI that never answers is a warning, and none of its processes is left."""
    child = Path(repo.environment["HOME"]) / "child"
    install(repo, "claude", f"trap '' TERM\nsleep 600 &\necho $! > {child}\nwait")
    result = repo.ok("doctor")
    assert "did not end within 15 seconds" in result.out
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not state.exists() or ") Z " in state.read_text()


def test_broken_settings_are_a_problem(repo: Any):
    """Settings that cannot be read are one problem with the path, and everything else is examined."""
    path = configure(repo, "agents:\n  bindings: 5\n")
    result = repo.sow("doctor")
    assert result.code == 1
    assert f"✗ {path}:2: agents.bindings: must be a mapping, not 5\n    fix it with 'sow config edit'" in result.out
    assert "✓ Python 3." in result.out
    assert repo.sow("doctor", "--json").json["executors"] == []


def test_bindings_to_missing_executors_are_problems(repo: Any):
    """A binding to an unknown executor and an executor without its command are problems."""
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
    """A text file with the execute permission is reported, also if doctor never starts the program."""
    path = install(repo, "mine", "")
    path.write_text("just words\n")
    place = {"claude": f"binary: {path}", "command": f"command: [{path}]"}[kind]
    configure(repo, f"agents: {{executors: {{mine: {{type: {kind}, settings: {{{place}}}}}}}}}\n")
    trouble = "it is neither a program for this machine nor a script that begins with #!"
    assert executors(repo)["mine"]["trouble"] == trouble
    assert f"⚠ mine: {path}: {trouble}" in repo.sow("doctor").out
