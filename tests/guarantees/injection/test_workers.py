"""S1 for workers: no typed value becomes a flag of an agent CLI or starts a program."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml
from conftest import Repo
from support.call_server import Caller
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture
from guarantees.hostile_values import HOSTILE
from sow.system.terminal import escape_control

SPAWN = ("agent", "spawn", "implementer", "010", "--executor", "simulated", "--dry-run")
FIELDS = {
    "model": lambda value: (*SPAWN, f"--model={value}"),
    "timeout": lambda value: (*SPAWN, f"--timeout={value}"),
    "executor": lambda value: ("agent", "spawn", "implementer", "010", "--dry-run", f"--executor={value}"),
    "agent": lambda value: ("agent", "spawn", "--dry-run", "--", value, "010"),
    "task": lambda value: ("agent", "spawn", "--dry-run", "--", "implementer", value),
    "prompt": lambda value: ("prompt", "--", value),
    "shown agent": lambda value: ("agent", "show", "--", value),
}
VALUES = [text for text in dict.fromkeys(HOSTILE) if text and "\0" not in text and len(text) < 10_000]


@few_of("field", FIELDS, 1)
def test_a_hostile_value_is_refused_or_one_word(repo: Repo, field: str):
    """Every third hostile value is refused before any change, or reaches the command line as one plain word."""
    repo.ok("task", "create", "--name", "Add login")
    before = repo.snapshot()
    for value in [*VALUES[::3], "--dangerously-skip-permissions", "-x"]:
        result = repo.sow(*FIELDS[field](value))
        assert "Traceback" not in result.err, value
        if result.code == 0 and field == "model":
            parts = shlex.split(result.out.splitlines()[0])
            assert parts[parts.index("--model") + 1] == value
            assert not value.startswith("-")
        elif result.code:
            assert result.code == 2, (value, result)
    assert repo.snapshot() == before
    assert repo.sow(*FIELDS["model"]("--dangerously-skip-permissions")).code == 2


# It writes down its words and its stdin, and nothing else; that it changes nothing is allowed.
RECORDER = """#!/bin/sh
printf '%s\\0' "$0" "$@" > "$HOME/words"
cat > "$HOME/stdin"
"""
STDIN = "typed on standard input"


@pytest.fixture
def worked(repo: Repo) -> Repo:
    """A task that a recording program has handed in."""
    home = Path(repo.environment["HOME"])
    program = home / "recorder"
    program.write_text(RECORDER)
    program.chmod(0o755)
    config = home / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True)
    executor = {"type": "command", "settings": {"command": [str(program), "work"], "allow_empty": True}}
    agents = {"executors": {"recorder": executor}, "bindings": {"implementer": "recorder"}}
    config.write_text(yaml.safe_dump({"agents": agents}))
    repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")
    repo.ok("agent", "spawn", "implementer", "010")
    return repo


def pause(repo: Repo) -> None:
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    repo.ok("note", "add", "--task", "010", "--description", "Which?", "--context", "c")
    repo.ok("note", "escalate", "1", "--task", "010", "--reason", "r")
    repo.ok("task", "set", "--id", "010", "status", "paused")


@few_of("paused", [False, True], 1, ids=["sent back", "answered"])
def test_the_text_of_a_resume_goes_to_stdin_only(caller: Caller, worked: Repo, paused: bool):
    """Every hostile text is refused without a change, or is the worker's stdin and its feedback, byte for byte."""
    if paused:
        pause(worked)
    home = Path(worked.environment["HOME"])
    program, accepted = str(home / "recorder"), 0
    before = Picture(worked.root)
    for value in dict.fromkeys(HOSTILE):
        arguments = ("agent", "resume", "--json", "--", "010", value)
        answer = caller.call(*arguments, cwd=worked.root, environment=worked.environment, stdin=STDIN.encode())
        started = [item for item in answer.started if item[0] != "git"]
        if answer.code:
            assert (answer.code, started, before.changes()) == (2, [], []), (value[:80], answer)
            continue
        output = STDIN if value == "-" else value
        assert started == [[program, "work"]], value
        assert (home / "words").read_text() == f"{program}\0work\0"
        assert (home / "stdin").read_bytes().startswith(f"{output}\n\n(Task 010, iteration ".encode()), value
        view = caller.call("task", "show", "010", "--json", cwd=worked.root, environment=worked.environment)
        shown = json.loads(view.out)
        # This worker changes nothing. Then a remark on handed in work is not kept, and an answer is.
        assert not paused or shown["feedback"][-1]["text"] == escape_control(output).strip(), value
        assert not paused or shown["notes"][0]["resolution"] == shown["questions"][0]["answer"] == output
        accepted += 1
        before.bring_back()
    assert accepted > 120
    assert not list(worked.root.parent.rglob("owned"))
