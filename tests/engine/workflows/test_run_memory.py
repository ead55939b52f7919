"""While a workflow runs, its own memory is the truth: state edited together with its copy is not believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.in_process_crew import Stage, Turn, design, good, member

from sow.store.formats import yaml_text
from sow.store.workflows import members


def forge(stage: Stage, name: str, **fields: Any) -> None:
    """Edit an agent's state and its copy, as far as a file goes like sow itself."""
    path = stage.root / "orchestration/state.yaml"
    state = yaml.safe_load(path.read_text())
    state["revision"] += 1
    state["workflow"]["members"][name].update(fields)
    text = yaml_text.dump(state)
    path.write_text(text)
    (copy,) = Path(stage.root, ".git/sow").glob("*/workflow.yaml")
    copy.write_text(text)


def test_a_forged_verification_is_not_believed(stage: Stage) -> None:
    """An agent that makes itself verified, in the state and its copy, is judged by its verifier all the same (F90)."""
    design(stage.home(), [member("data")])
    stage.approve()
    asked: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            asked.append(turn.name)
            if len(asked) == 1:
                passed = {"result": "passed", "missing_evidence": [], "findings": [], "round": 1}
                at = "2026-01-31T09:00:00Z"
                forge(stage, "data", status="verified", result={**passed, "verifier": "checker", "at": at})
                return turn.say(result="failed", findings=[{"severity": "error", "text": "it is broken"}])
        return str(good(turn))

    assert stage.run(script) == 0
    assert [each["result"] for each in stage.told("verification")] == ["failed", "passed"]
    assert stage.members()["data"]["iteration"] == 2


@pytest.mark.parametrize("fields", [{"rounds": 0, "tries": 0, "iteration": 7}, {"status": "session_complete"}])
def test_a_forged_field_is_taken_back(stage: Stage, fields: dict[str, Any]) -> None:
    """Fields that are the Executor's are its own, whoever writes them into the file and its copy."""
    design(stage.home(), [member("data"), member("api", "data")])
    stage.approve()
    forged: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "data" and turn.role == "implementer" and not forged:
            forged.append("x")
            forge(stage, "data", **fields)
        return str(good(turn))

    assert stage.run(script) == 0
    assert stage.members()["data"]["iteration"] == 1
    assert [each["task"] for each in stage.told("verification")] == ["data", "api"]
    assert any("together with its copy" in each["text"] for each in stage.told("set_aside"))


def test_another_process_of_a_person_counts(stage: Stage) -> None:
    """A change through sow that is no agent's counts, also one that no agent may make."""
    design(stage.home(), [member("data")])
    stage.approve()

    def script(turn: Turn) -> str:
        if turn.name == "data" and turn.role == "implementer":
            members.add_feedback(stage.home(), "data", "mind the gap")  # from a home that has no memory
            assert stage.members()["data"]["feedback"] == "mind the gap"
        return str(good(turn))

    assert stage.run(script) == 0
    assert stage.statuses() == {"data": "session_complete"}
