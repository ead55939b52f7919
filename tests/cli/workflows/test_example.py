"""The example workflow runs to its end with one command and no account, and uses the whole protocol."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW
from support.paths import ROOT
from support.simulated_workers import environment_of, processes

EXAMPLE = ROOT / "examples" / "workflow-user-management"


class Played:
    """The results of one run of the example."""

    def __init__(self, folder: Path, out: str) -> None:
        self.out = out
        self.repo = folder / "repo"
        self.archive = self.repo / "orchestration/archive/user_management"
        state = yaml.safe_load((self.archive / "state.yaml").read_text())
        self.workflow: dict[str, Any] = state["workflow"]

    def member_folder(self, name: str) -> Path:
        return self.archive / "agents" / name

    def notes(self, name: str) -> list[dict[str, Any]]:
        (session,) = (self.member_folder(name) / "completion_drive").glob("session_*.json")
        result: list[dict[str, Any]] = json.loads(session.read_text())["notes"]
        return result

    def journal(self, event: str) -> list[dict[str, Any]]:
        lines = [
            json.loads(line)
            for path in sorted((self.repo / ".sow/local/runs").glob("*/journal.jsonl"))
            for line in path.read_text().splitlines()
        ]
        return [line for line in lines if line["event"] == event]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Runs the example's script once, as a person calls it."""
    folder = tmp_path_factory.mktemp("example") / "place"
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SOW": SOW, "USER": "ada", "HOME": str(folder)}
    result = subprocess.run(
        ["sh", str(EXAMPLE / "run.sh"), str(folder)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not [pid for pid in processes() if f"HOME={folder}/home".encode() in environment_of(pid)]
    return Played(folder, result.stdout)


@pytest.mark.full
def test_the_workflow_is_complete_and_archived(played: Played) -> None:
    """Every agent's session is complete, no note is open, and the whole workflow is in the archive."""
    assert played.workflow["status"] == "completed"
    assert {member["status"] for member in played.workflow["members"].values()} == {"session_complete"}
    shown = json.loads((played.archive / "shared_status.json").read_text())
    assert shown["overall_completion_drive_gate"] == "clear" and shown["status"] == "completed"
    assert "workflow user_management is in orchestration/archive/user_management/" in played.out


def test_the_outputs_are_in_the_repository(played: Played) -> None:
    """The outputs are real files, each with its version in the state."""
    for path in ("src/users_api.py", "web/sign_up.html", "docs/users.md"):
        assert (played.repo / path).is_file(), path
    schema = (played.member_folder("database_agent") / "task_output/schema.sql").read_text()
    assert "UNIQUE COLLATE NOCASE" in schema and "created_at" in schema
    versions = {output["path"]: output["version"] for output in played.workflow["members"]["database_agent"]["outputs"]}
    assert list(versions.values()) == [2]


def test_one_escalation_is_answered_by_a_person(played: Played) -> None:
    """The database agent's question was asked as w1, answered, checked by the architect, and is in its note."""
    assert "sow answer w1" in played.out
    note = played.notes("database_agent")[0]
    assert (note["status"], note["resolved_by"]) == ("resolved", "user")
    assert "COLLATE NOCASE" in note["resolution"]


def test_one_escalation_is_decided_by_the_solution_architect(played: Played) -> None:
    """Its decision was verified and became the resolution, which the API follows."""
    (note,) = played.notes("api_agent")
    assert note["resolved_by"] == "workflow_executor" and "scrypt" in note["resolution"]
    decision = (played.member_folder("solution_architect_agent") / "task_output/decision.md").read_text()
    assert "hashlib.scrypt" in decision and "hashlib.scrypt" in (played.repo / "src/users_api.py").read_text()
    assert [
        entry["result"] for entry in played.journal("verification") if entry["task"] == "solution_architect_agent"
    ] == ["passed"]


def test_one_failed_verification_is_fixed(played: Played) -> None:
    """Verification 1 failed with missing evidence, verification 2 passed, and both are kept."""
    history = played.member_folder("database_agent") / "verification_history"
    rounds = [json.loads(path.read_text()) for path in sorted(history.iterdir())]
    assert [item["result"] for item in rounds] == ["failed", "passed"]
    assert rounds[0]["missing_evidence"] == ["a column created_at in schema.sql"]
    assert not (played.member_folder("database_agent") / "verification_results.json").exists()


def test_one_loop_is_ended_by_a_person(played: Played) -> None:
    """When the form's agent asked the same a third time, the person got the question with its history."""
    routes = [
        escalation.get("route")
        for escalation in played.workflow["escalations"]
        if escalation["member"] == "frontend_agent"
    ]
    assert len(routes) == 3 and routes[-1] == "loop"
    (asked,) = [entry for entry in played.journal("question") if entry["task"] == "frontend_agent"]
    assert asked["kind"] == "loop" and asked["text"].count("note_00") >= 3
    assert played.notes("frontend_agent")[2]["resolved_by"] == "user"


def test_the_last_group_works_in_parallel(played: Played) -> None:
    """No agent started before its dependencies were verified; the form and the page were started together."""
    started = [entry["task"] for entry in played.journal("task_started")]
    assert list(dict.fromkeys(started)) == ["database_agent", "api_agent", "frontend_agent", "docs_agent"]
    begun = {entry["task"]: entry["t"] for entry in reversed(played.journal("task_started"))}
    ended = {entry["task"]: entry["t"] for entry in played.journal("task_ended") if entry["task"] == "docs_agent"}
    assert begun["frontend_agent"] < ended["docs_agent"]


def test_every_session_is_archived_and_listed(played: Played) -> None:
    """Each agent's notes are under their final name, in the index and in the clean-up log."""
    archivist = played.member_folder("archival_agent")
    index = (archivist / "archive_index.json").read_text()
    for name in played.workflow["members"]:
        (session,) = (played.member_folder(name) / "completion_drive").glob("session_*.json")
        assert session.name in index
        assert session.name.endswith(f"_{json.loads(session.read_text())['task_id']}.json")
    assert json.loads((archivist / "cleanup_log.json").read_text())


def test_the_script_answers_with_the_commands_of_the_inbox(played: Played) -> None:
    """The example shows how a question is found and answered."""
    for text in ("$ sow inbox", "$ sow answer w1 ", "$ sow answer w2 ", "$ sow workflow archive"):
        assert text in played.out
