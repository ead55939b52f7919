"""Windsurf: its command line, its plain text, and whole turns with a stand-in for `devin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from conftest import SOW, Repo

from executors.sample_turn import JUDGE, READER, outcome, told, words
from sow.executors.clis.windsurf import Windsurf

COMMON = ["-p", "--prompt-file", "/dev/stdin"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, COMMON),
    ({"yolo": True}, [*COMMON, "--permission-mode", "dangerous"]),
    ({"model": "swe-1"}, [*COMMON, "--model", "swe-1"]),
    ({"custom_args": ("--cascade",)}, [*COMMON, "--cascade"]),
    ({"role": JUDGE, "yolo": True}, COMMON),
    ({"role": READER, "yolo": True}, COMMON),
]


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Windsurf(), **asked) == expected


@pytest.mark.parametrize(("code", "kind"), [(0, "done"), (1, "failed")])
def test_only_the_exit_code_counts(code: int, kind: str) -> None:
    """Its output has no format: every line is text, and the exit code is the result."""
    assert told(Windsurf(), "Hello", "", "world").raw == "Hello\nworld\n"
    assert outcome(Windsurf(), "Hello", code=code).kind == kind


@pytest.fixture
def worker(repo: Repo, tmp_path: Path) -> Repo:
    """A repository whose implementer is the fake, with yolo_mode on."""
    fakes.install(repo, "devin", tmp_path / "bin")
    repo.environment["SOW_AGENTS_IMPLEMENTER"] = "windsurf"
    path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True)
    executor = {"type": "windsurf", "settings": {"yolo_mode": True}}
    path.write_text(yaml.safe_dump({"agents": {"executors": {"windsurf": executor}}}))
    return repo


def spawn(repo: Repo, directives: str) -> Any:
    repo.ok("task", "create", "--name", f"Work {directives}", "--agent", "implementer")
    return repo.sow("agent", "spawn", "implementer", "010")


def test_a_turn_from_spawn_to_completion(worker: Repo) -> None:
    """A worker that sets its status has handed in, and the task can be completed."""
    result = spawn(worker, f"[[sh:echo made > made.txt]] [[sh:{SOW} task set --id 010 status needs_review]]")
    assert result.code == 0 and result.out.endswith("task 010: status is needs_review\n"), result
    assert (worker.root / "made.txt").read_text() == "made\n"
    worker.ok("task", "set", "--id", "010", "status", "completed")


def test_changed_files_are_a_hand_in(worker: Repo) -> None:
    """Its tool calls are not printed, so the change in the working folder counts."""
    result = spawn(worker, "[[sh:echo made > made.txt]]")
    assert result.out.endswith("task 010: status is needs_review\n"), result
    path = worker.root / ".sow/local/sessions/010/1/record.yaml"
    assert yaml.safe_load(path.read_text())["session"]["turns"][0]["inferred"] is True


def test_a_worker_without_a_change_fails_at_once(worker: Repo) -> None:
    """There is no session for a reminder, so one turn without a change is the end."""
    result = spawn(worker, "[[say:I had a look]]")
    assert result.out.endswith("task 010: status is failed\n"), result
    assert not (worker.root / ".sow/local/sessions/010/1/turn-002.out").exists()


def test_a_resume_is_refused(worker: Repo) -> None:
    """A resume is refused before anything is written; the hint is a fresh session."""
    spawn(worker, f"[[sh:{SOW} task set --id 010 status paused]]")
    before = worker.snapshot()
    result = worker.sow("agent", "resume", "010", "Use RS256")
    assert result.code == 2 and worker.snapshot() == before
    assert 'error: executor "windsurf" does not support session resumption' in result.err
    assert "Cannot resume task 010. Consider:" in result.err
    assert "- Switching to an executor with session support (claude-code, cursor)" in result.err


def test_a_question_is_answered_before_the_fresh_session(worker: Repo) -> None:
    """Each refusal names the next command: an answer, and then a new worker with that answer."""
    spawn(worker, f"[[sh:{SOW} task set --id 010 status paused]]")
    refused = worker.sow("agent", "spawn", "implementer", "010", "--fresh")
    assert (refused.code, refused.err.splitlines()[1]) == (2, 'hint: answer it: sow answer 1 "…"')
    worker.ok("answer", "1", "Use RS256")
    refused = worker.sow("agent", "spawn", "implementer", "010")
    assert refused.err.splitlines()[1] == "hint: start a new session: sow agent spawn implementer 010 --fresh"
    worker.ok("agent", "spawn", "implementer", "010", "--fresh")


def test_failed_work_continues_in_a_fresh_session(worker: Repo) -> None:
    """`--fresh` replaces a resume, and the new session gets the state on disk."""
    spawn(worker, "[[sh:echo made > made.txt]]")
    worker.ok("agent", "spawn", "implementer", "010", "--fresh")
    prompt = (worker.root / ".sow/local/sessions/010/2/turn-001.prompt").read_text()
    assert "An earlier session worked on this task and is gone" in prompt
