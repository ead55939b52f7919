"""A workflow's run trusts its own memory: state that is edited together with its copy does not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.in_process_crew import CrewRepo, Turn, design, member, obedient_agent

from sow.store.formats import yaml_text
from sow.store.workflows import members


def forge(crew_repo: CrewRepo, name: str, **fields: Any) -> None:
    """Edits an agent's state and its copy, as far as a file can imitate sow."""
    path = crew_repo.root / "orchestration/state.yaml"
    state = yaml.safe_load(path.read_text())
    state["revision"] += 1
    state["workflow"]["members"][name].update(fields)
    text = yaml_text.dump(state)
    path.write_text(text)
    (copy,) = Path(crew_repo.root, ".git/sow").glob("*/workflow.yaml")
    copy.write_text(text)


def test_a_forged_verification_does_not_count(crew_repo: CrewRepo) -> None:
    """An agent that sets itself to verified, in the state and its copy, is still judged by its verifier (F90)."""
    design(crew_repo.home(), [member("data")])
    crew_repo.approve()
    asked: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            asked.append(turn.name)
            if len(asked) == 1:
                passed = {"result": "passed", "missing_evidence": [], "findings": [], "round": 1}
                at = "2026-01-31T09:00:00Z"
                forge(crew_repo, "data", status="verified", result={**passed, "verifier": "checker", "at": at})
                return turn.say(result="failed", findings=[{"severity": "error", "text": "it is broken"}])
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert [event["result"] for event in crew_repo.events_of("verification")] == ["failed", "passed"]
    assert crew_repo.members()["data"]["iteration"] == 2


@pytest.mark.parametrize("fields", [{"rounds": 0, "tries": 0, "iteration": 7}, {"status": "session_complete"}])
def test_a_forged_field_is_restored(crew_repo: CrewRepo, fields: dict[str, Any]) -> None:
    """Fields of the Executor do not change, whatever an agent writes into the file and its copy."""
    design(crew_repo.home(), [member("data"), member("api", "data")])
    crew_repo.approve()
    forged: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "data" and turn.role == "implementer" and not forged:
            forged.append("x")
            forge(crew_repo, "data", **fields)
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert crew_repo.members()["data"]["iteration"] == 1
    assert [event["task"] for event in crew_repo.events_of("verification")] == ["data", "api"]
    assert any("together with its copy" in entry["text"] for entry in crew_repo.events_of("set_aside"))


def test_a_change_of_a_person_counts(crew_repo: CrewRepo) -> None:
    """A change through sow by a person counts, also one that no agent may make."""
    design(crew_repo.home(), [member("data")])
    crew_repo.approve()

    def script(turn: Turn) -> str:
        if turn.name == "data" and turn.role == "implementer":
            members.add_feedback(crew_repo.home(), "data", "mind the gap")  # from a home that has no memory
            assert crew_repo.members()["data"]["feedback"] == "mind the gap"
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert crew_repo.statuses() == {"data": "session_complete"}
