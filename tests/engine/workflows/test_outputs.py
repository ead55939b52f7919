"""Verified outputs are pinned: an output that is changed afterwards is verified again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.in_process_crew import CrewRepo, Turn, design, member, obedient_agent

from sow.domain.workflows.member_stages import MAX_VERIFICATIONS


def output(crew_repo: CrewRepo, name: str) -> Path:
    return crew_repo.root / "orchestration/agents" / name / "task_output/out.md"


def rounds(crew_repo: CrewRepo, name: str) -> list[str]:
    return [event["result"] for event in crew_repo.events_of("verification") if event["task"] == name]


@pytest.mark.parametrize("how", ["overwrite", "remove", "add"])
def test_an_overwritten_output_is_verified_again(crew_repo: CrewRepo, how: str) -> None:
    """The owner of a changed output works again, its work is verified again, and the run says why (F91)."""
    design(crew_repo.home(), [member("data"), member("api", "data")])
    crew_repo.approve()
    spoiled: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "api" and turn.role == "implementer" and not spoiled:
            spoiled.append(how)
            path = output(crew_repo, "data")
            if how == "overwrite":
                path.write_text("spoiled\n")
            elif how == "remove":
                path.unlink()
            else:
                path.with_name("more.md").write_text("more\n")
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert rounds(crew_repo, "data") == ["passed", "passed"]
    assert any(
        "task_output" in entry["text"] and "verified" in entry["text"] for entry in crew_repo.events_of("set_aside")
    )
    assert crew_repo.statuses() == {"data": "session_complete", "api": "session_complete"}
    if how != "add":
        assert output(crew_repo, "data").read_text() != "spoiled\n"


def test_a_changed_output_delays_its_readers(crew_repo: CrewRepo) -> None:
    """No agent starts from an output that differs from the verified one."""
    design(crew_repo.home(), [member("data"), member("other"), member("api", "data", "other")])
    crew_repo.approve()
    seen: list[str] = []
    spoiled: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "other" and turn.role == "implementer":
            if not rounds(crew_repo, "data"):
                return "I wait"
            if not spoiled:
                spoiled.append("x")
                output(crew_repo, "data").write_text("spoiled\n")
        if turn.name == "api" and turn.role == "implementer":
            seen.append(output(crew_repo, "data").read_text())
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert "spoiled\n" not in seen


def test_an_output_that_changes_during_its_verification(crew_repo: CrewRepo) -> None:
    """A verdict on outputs that changed meanwhile does not count: the verifier is asked again."""
    design(crew_repo.home(), [member("data")])
    crew_repo.approve()
    asked: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            asked.append(turn.name)
            if len(asked) == 1:
                output(crew_repo, "data").write_text("changed\n")
        return str(obedient_agent(turn))

    assert crew_repo.run(script) == 0
    assert len(asked) == 2


def test_an_output_that_changes_repeatedly_is_a_question(crew_repo: CrewRepo) -> None:
    """After the allowed number of verifications a person is asked."""
    design(crew_repo.home(), [member("data"), member("api", "data")])
    crew_repo.approve()

    class Spoiler(list[dict[str, Any]]):
        def append(self, event: dict[str, Any]) -> None:
            super().append(event)
            if event["event"] == "verification" and event["task"] == "data":
                output(crew_repo, "data").write_text(f"spoiled {len(self)}\n")

    crew_repo.events = Spoiler()
    assert crew_repo.run(obedient_agent) == 4
    assert rounds(crew_repo, "data") == ["passed"] * MAX_VERIFICATIONS
    assert crew_repo.members()["data"]["question"]["kind"] == "rounds"
    assert crew_repo.statuses()["api"] == "pending"


def test_the_next_run_finds_a_change(crew_repo: CrewRepo) -> None:
    """A change between two calls is found by the second one before other agents use it."""
    design(crew_repo.home(), [member("data"), member("api", "data")])
    crew_repo.approve()

    def first(turn: Turn) -> str:
        if turn.name == "api" and turn.role == "implementer":
            raise KeyboardInterrupt
        return str(obedient_agent(turn))

    with pytest.raises(KeyboardInterrupt):
        crew_repo.run(first)
    output(crew_repo, "data").write_text("by hand\n")
    assert crew_repo.run(obedient_agent) == 0
    assert rounds(crew_repo, "data") == ["passed", "passed"]
