"""No secret of the environment gets into a committed file, through any command that takes text."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from conftest import Repo

SECRET = "sk-dummy-Zq81/pt+44=x"
WORDS = f"the key is {SECRET}, and again {base64.b64encode(SECRET.encode()).decode()}"
KEY = {"EXAMPLE_API_KEY": SECRET}


def left_in(root: Path) -> list[str]:
    """Returns the files outside of git's own folder that have the secret, plain or in base64."""
    forms = (SECRET.encode(), base64.b64encode(SECRET.encode())[:20])
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [str(path) for path in files if any(form in path.read_bytes() for form in forms)]


ENTRIES = {
    "log": [("log", "--task", "010", WORDS)],
    "agent log": [("agent", "log", WORDS)],
    "note": [("note", "add", "--task", "010", "--description", WORDS, "--context", WORDS)],
    "resolution": [
        ("note", "add", "--task", "010", "--description", "d", "--context", "c"),
        ("note", "resolve", "1", "--task", "010", "--resolution", WORDS),
    ],
    "escalation": [
        ("note", "add", "--task", "010", "--description", "d", "--context", "c"),
        ("note", "escalate", "1", "--task", "010", "--reason", WORDS),
    ],
    "question": [("task", "set", "--id", "010", "status", "paused", "--reason", WORDS)],
    "answer": [("task", "set", "--id", "010", "status", "paused", "--reason", "which?"), ("answer", "1", WORDS)],
    "feedback": [("feedback", "add", "010", WORDS)],
    "task": [("task", "create", "--name", WORDS, "--agent", "implementer", "--description", WORDS)],
    "criterion": [("task", "create", "--name", "n", "--agent", "implementer", "--criterion", WORDS)],
    "name": [("task", "set", "--id", "010", "name", WORDS)],
    "phase": [("phase", "add", "review", "--reason", WORDS)],
    "abandoned": [("task", "abandon", "010", "--reason", WORDS)],
    "memory": [("project", "remember", WORDS)],
    "decision record": [("adr", "new", f"Use {SECRET}")],
}  # fmt: skip


@pytest.mark.parametrize("calls", ENTRIES.values(), ids=ENTRIES)
def test_no_command_writes_a_secret(task_repo: Repo, calls: list[tuple[str, ...]]):
    """Every command that takes a text masks the values of secret variables (F53)."""
    for call in calls:
        task_repo.ok(*call, **KEY)
    assert left_in(task_repo.root) == []
    assert any(b"********" in path.read_bytes() for path in (task_repo.root / ".sow").rglob("*") if path.is_file())


def test_a_variable_of_the_settings_is_masked(task_repo: Repo):
    """A worker's own call masks variables that the settings pass to it, whatever their names are."""
    task_repo.ok("agent", "log", f"found {SECRET}", PLAIN_NAME=SECRET, SOW_STRUCK="PLAIN_NAME", SOW_TASK="010")
    assert left_in(task_repo.root) == []


def test_an_imported_plan_has_no_secret(repo: Repo, tmp_path: Path):
    """The text of a plan is masked in the project, and a second import finds no change."""
    plan = tmp_path / "plan.md"
    plan.write_text(f"# Plan\n\n## Task 1: Use {SECRET}\n\nCall it with {WORDS}.\n")
    repo.ok("plan", "import", str(plan), "--yes", **KEY)
    assert left_in(repo.root) == []
    assert "1 unchanged" in repo.ok("plan", "import", str(plan), "--yes", **KEY).out


def test_state_stays_readable(task_repo: Repo):
    """A field with only the secret is written so that it can be read back."""
    task_repo.ok("task", "set", "--id", "010", "name", "abcdefgh", DB_PASSWORD="abcdefgh")
    assert task_repo.task("010")["name"] == "********"


def test_fields_of_sow_are_left_alone(task_repo: Repo):
    """A weak password that is also a word of the state changes no status and no agent's name."""
    task_repo.ok("task", "set", "--id", "010", "priority", "high", DB_PASSWORD="implementer", API_KEY="in_progress")
    shown = task_repo.task("010")
    assert (shown["status"], shown["assigned_agent"]) == ("in_progress", "implementer")
