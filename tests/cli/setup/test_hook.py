"""sow hook: what an agent CLI is told at session start, and which files it may not edit."""

from __future__ import annotations

import json

import pytest
from conftest import Repo


def before_edit(repo: Repo, path: object) -> tuple[int, str]:
    output = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": path}})
    result = repo.sow("hook", "before-edit", stdin=output.encode())
    return result.code, result.err


def test_a_session_gets_the_state_of_the_project(task_repo: Repo) -> None:
    """The hook prints the project, its tasks, open questions and the next step in a few lines."""
    lines = task_repo.ok("hook", "session-start", stdin=b"{}").out.splitlines()
    assert lines[0] == "This branch has a sow project: Add authentication (feat/auth)."
    assert lines[1] == "Tasks: 1 in_progress. 0 waiting for the user (sow inbox)."
    assert lines[2].startswith("Next: ") and "sow continue --print" in lines[3]


def test_without_a_project_the_hook_prints_nothing(bare_repo: Repo, tmp_path) -> None:
    """Without sow or a repository the hook prints no context and exits without an error."""
    assert bare_repo.ok("hook", "session-start").out == ""
    bare_repo.ok("init")
    assert bare_repo.ok("hook", "session-start").out == ""
    assert "not in a git repository" in bare_repo.ok("hook", "session-start", cwd=tmp_path).out


def test_a_problem_does_not_stop_a_session(task_repo: Repo) -> None:
    """A project of another branch is named with the fix, and the session begins."""
    task_repo.git("switch", "-q", "-c", "other")
    assert "belongs to branch feat/auth" in task_repo.ok("hook", "session-start").out


@pytest.mark.parametrize(
    "path",
    [
        "/r/.sow/project/state.yaml",
        "/r/.sow/project/phases/implementation/tasks/010/state.yaml",
        ".sow/project/state.yaml",
        "/r/.sow/local/runs/1/journal.jsonl",
        "/r/.sow/project/log.md",
        "/r/.sow/project/phases/implementation/tasks/010/log.md",
        "/r/orchestration/agents/api_agent/log.md",
        "/r/orchestration/shared_status.json",
        "/r/orchestration/state.yaml",
    ],
)
def test_state_files_are_not_edited_by_hand(task_repo: Repo, path: str) -> None:
    """Exit 2 stops the edit of a state file or a log, and the hint names the commands (B7)."""
    code, err = before_edit(task_repo, path)
    assert code == 2 and path in err and "sow task set" in err


@pytest.mark.parametrize(
    "path", ["/r/src/state.yaml", "/r/.sow/knowledge/adrs/1.md", "", None, 5, "orchestration/notes.md", "/r/log.md"]
)
def test_other_files_may_be_edited(task_repo: Repo, path: object) -> None:
    """Code, knowledge and documents may be edited."""
    assert before_edit(task_repo, path) == (0, "")


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b"not json", b'{"tool_input": []}', b'{"tool_input": null}'])
def test_a_wrong_hook_call_stops_nothing(task_repo: Repo, said: bytes) -> None:
    """Exit 1 is an error that no CLI takes for a refusal."""
    result = task_repo.sow("hook", "before-edit", stdin=said)
    assert result.code == 1 and result.err.startswith("error: ")


def test_the_settings_can_be_printed(bare_repo: Repo) -> None:
    """The printed settings are those that the installation writes."""
    printed = json.loads(bare_repo.ok("hook", "settings").out)
    bare_repo.ok("install", "claude")
    assert json.loads((bare_repo.root / ".claude/settings.json").read_text())["hooks"] == printed["hooks"]
