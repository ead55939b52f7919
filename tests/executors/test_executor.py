"""A configured CLI: its commands, its end and its sessions, with a fake and with a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from executors.sample_turn import SESSION
from sow import config
from sow.agents import IMPLEMENTER, REVIEWER
from sow.errors import SowError
from sow.executors import ClaudeExecutor, CursorExecutor, ExecutorRegistry, MockCommandRunner, load_executors
from sow.executors.library import CliExecutor
from sow.executors.settings import adapter


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the fake CLIs of a test; it is first on PATH, and the cache is private."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def write_cli(folder: Path, name: str, *events: dict[str, Any], code: int = 0) -> Path:
    """Makes a program that records its arguments and prints these events."""
    program = folder / name
    arguments = folder / f"{name}.args"
    lines = "\n".join(json.dumps(event) for event in events)
    program.write_text(f"#!/bin/sh\necho \"$@\" > {arguments}\ncat <<'END'\n{lines}\nEND\nexit {code}\n")
    program.chmod(0o755)
    return arguments


def result(text: str, **options: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": text, **options}


def test_a_real_process_is_shown(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a runner the program on PATH runs, and its text is printed in readable form (A4)."""
    output = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look around"}]}}
    arguments = write_cli(fake, "claude", output, result("all done"))
    ClaudeExecutor().spawn(IMPLEMENTER, "x", SESSION)
    assert f"--session-id {SESSION}" in arguments.read_text()
    assert capsys.readouterr().out == "[text] I look around\n[result] all done\n"


TRACEBACK = "Traceback (most recent call last):\n  File 'a.py', line 3, in main\nOSError: the disk is full\n"


@pytest.mark.parametrize(
    ("events", "code", "message"),
    [
        ([], 7, "claude ended with exit code 7"),
        ([], 0, "claude-code reports failed: it ended with exit code 0 and gave no result"),
        ([result("no money", is_error=True)], 0, "claude-code reports failed: no money"),
        ([result(TRACEBACK, is_error=True)], 0, "claude-code reports failed: OSError: the disk is full"),
        ([result("You have hit your usage limit", is_error=True)], 0, "claude-code reports limited: "),
    ],
)
def test_a_failed_turn_is_an_error(fake: Path, events: list[dict[str, Any]], code: int, message: str) -> None:
    """Neither a bad exit code nor an error event with exit code 0 is a success (A6)."""
    write_cli(fake, "claude", *events, code=code)
    with pytest.raises(SowError, match=message):
        ClaudeExecutor().spawn(IMPLEMENTER, "x", SESSION)


def test_the_cli_may_choose_the_session_id(fake: Path) -> None:
    """A caller resumes with its own id, also if the CLI chose another one (A6)."""
    arguments = write_cli(fake, "cursor-agent", result("ok", session_id="chat-7"))
    executor = CursorExecutor(yolo_mode=True)
    executor.spawn(IMPLEMENTER, "x", SESSION)
    assert "--resume" not in arguments.read_text()
    executor.resume(SESSION, "y")
    assert "--resume=chat-7" in arguments.read_text() and executor.cli_sessions == {SESSION: "chat-7"}


def test_a_judge_stays_a_judge(fake: Path) -> None:
    """A resumed reviewer has no more rights than a new one."""
    runner = MockCommandRunner()
    executor = ClaudeExecutor(True, runner=runner)
    executor.spawn(REVIEWER, "x", SESSION)
    first = runner.last_args
    executor.resume(SESSION, "y")
    assert "--dangerously-skip-permissions" not in (*first, *runner.last_args)


def test_settings_files_are_in_the_users_cache(fake: Path, tmp_path: Path) -> None:
    """Settings that a CLI reads from a file are written before the start, in a private folder."""
    runner = MockCommandRunner()
    CliExecutor("amp", adapter("amp"), runner).spawn(IMPLEMENTER, "x", SESSION)
    written = tmp_path / "cache/sow/executors" / SESSION / "amp.json"
    assert str(written) in runner.last_args and json.loads(written.read_text())
    assert written.parent.stat().st_mode & 0o777 == 0o700


def test_an_executor_without_sessions_cannot_resume() -> None:
    """It says so when asked, and before any process starts."""
    runner = MockCommandRunner()
    executor = CliExecutor("windsurf", adapter("windsurf"), runner)
    assert not executor.supports_resumption()
    with pytest.raises(SowError, match='executor "windsurf" does not support session resumption'):
        executor.resume(SESSION, "go on")
    assert runner.last_name == ""


def test_availability_is_the_path_of_the_program(tmp_path: Path) -> None:
    """A program on PATH is found, and a missing one is an error that names it."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    executor = ClaudeExecutor()
    assert executor.validate_availability({"PATH": str(tmp_path)}) == str(program)
    with pytest.raises(SowError, match="executor binary not found: claude"):
        executor.validate_availability({"PATH": str(tmp_path / "nowhere")})


def test_a_registry_finds_executors_by_name() -> None:
    """A registered executor is found, the last one of a name wins, and an unknown name is an error (A6)."""
    registry, first, second = ExecutorRegistry(), ClaudeExecutor(), ClaudeExecutor(True)
    registry.register("cursor", CursorExecutor())
    registry.register("claude-code", first)
    registry.register("claude-code", second)
    assert registry.get("claude-code") is second
    with pytest.raises(SowError, match="unknown executor: copilot") as raised:
        registry.get("copilot")
    assert raised.value.hint == "the executors are: claude-code, cursor"


def test_a_registry_is_made_from_settings(fake: Path, tmp_path: Path) -> None:
    """Every executor of the user's config can be spawned with its settings (A6)."""
    file = tmp_path / "sow" / "config.yaml"
    file.parent.mkdir()
    file.write_text(
        "agents:\n  executors:\n    careful: {type: claude, custom_args: [--max-turns, '9'], settings: {model: opus}}\n"
    )
    runner = MockCommandRunner()
    registry = load_executors(config.load({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}).executors, runner)
    registry.get("careful").spawn(IMPLEMENTER, "x", SESSION)
    assert runner.last_args[-2:] == ["--max-turns", "9"] and "opus" in runner.last_args
    assert registry.get("claude-code").name == "claude-code"


def test_the_exports_import_little() -> None:
    """Neither the library nor `typing` are loaded by the imports of a spawn."""
    names = ["typing", "sow.executors.library"]
    code = "import sys, sow.executors.settings, sow.executors.adapter"
    code += f"; print([name for name in {names} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_an_unknown_export_is_an_error() -> None:
    """A module with lazy names knows which it has."""
    import sow.executors

    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sow.executors.no_such_name
