"""Verified outputs are pinned: one that somebody changes afterwards is verified again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.in_process_crew import Stage, Turn, design, good, member

from sow.domain.workflows.stages import MAX_VERIFICATIONS


def output(stage: Stage, name: str) -> Path:
    return stage.root / "orchestration/agents" / name / "task_output/out.md"


def rounds(stage: Stage, name: str) -> list[str]:
    return [each["result"] for each in stage.told("verification") if each["task"] == name]


@pytest.mark.parametrize("how", ["overwrite", "remove", "add"])
def test_a_later_agent_overwrites_a_verified_output(stage: Stage, how: str) -> None:
    """The owner of a changed output works again, its work is verified again, and the run says why (F91)."""
    design(stage.home(), [member("data"), member("api", "data")])
    stage.approve()
    spoiled: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "api" and turn.role == "implementer" and not spoiled:
            spoiled.append(how)
            path = output(stage, "data")
            if how == "overwrite":
                path.write_text("spoiled\n")
            elif how == "remove":
                path.unlink()
            else:
                path.with_name("more.md").write_text("more\n")
        return str(good(turn))

    assert stage.run(script) == 0
    assert rounds(stage, "data") == ["passed", "passed"]
    assert any("task_output" in each["text"] and "verified" in each["text"] for each in stage.told("set_aside"))
    assert stage.statuses() == {"data": "session_complete", "api": "session_complete"}
    if how != "add":
        assert output(stage, "data").read_text() != "spoiled\n"


def test_an_output_that_changes_before_others_start_holds_them(stage: Stage) -> None:
    """Nobody starts from an output that is not what was verified."""
    design(stage.home(), [member("data"), member("other"), member("api", "data", "other")])
    stage.approve()
    seen: list[str] = []
    spoiled: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "other" and turn.role == "implementer":
            if not rounds(stage, "data"):
                return "I wait"
            if not spoiled:
                spoiled.append("x")
                output(stage, "data").write_text("spoiled\n")
        if turn.name == "api" and turn.role == "implementer":
            seen.append(output(stage, "data").read_text())
        return str(good(turn))

    assert stage.run(script) == 0
    assert "spoiled\n" not in seen


def test_an_output_that_changes_while_it_is_verified(stage: Stage) -> None:
    """A verdict on outputs that changed meanwhile does not count: the verifier is asked again."""
    design(stage.home(), [member("data")])
    stage.approve()
    asked: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            asked.append(turn.name)
            if len(asked) == 1:
                output(stage, "data").write_text("changed\n")
        return str(good(turn))

    assert stage.run(script) == 0
    assert len(asked) == 2


def test_an_output_that_is_spoiled_again_and_again_is_a_question(stage: Stage) -> None:
    """After as many rounds as a refused agent has, a person is asked."""
    design(stage.home(), [member("data"), member("api", "data")])
    stage.approve()

    class Spoiler(list[dict[str, Any]]):
        def append(self, event: dict[str, Any]) -> None:
            super().append(event)
            if event["event"] == "verification" and event["task"] == "data":
                output(stage, "data").write_text(f"spoiled {len(self)}\n")

    stage.events = Spoiler()
    assert stage.run(good) == 4
    assert rounds(stage, "data") == ["passed"] * MAX_VERIFICATIONS
    assert stage.members()["data"]["question"]["kind"] == "rounds"
    assert stage.statuses()["api"] == "pending"


def test_a_run_after_the_end_finds_a_change(stage: Stage) -> None:
    """What was changed between two calls is found by the second one before anything builds on it."""
    design(stage.home(), [member("data"), member("api", "data")])
    stage.approve()

    def first(turn: Turn) -> str:
        if turn.name == "api" and turn.role == "implementer":
            raise KeyboardInterrupt
        return str(good(turn))

    with pytest.raises(KeyboardInterrupt):
        stage.run(first)
    output(stage, "data").write_text("by hand\n")
    assert stage.run(good) == 0
    assert rounds(stage, "data") == ["passed", "passed"]
