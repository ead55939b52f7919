"""The solution architect: on its own desk, on call, with a task of the plan, and when nobody waits for it any more."""

from __future__ import annotations

from pathlib import Path

from support.in_process_crew import Script, Stage, Turn, design, good, member, plan_text

from sow.domain.workflows import contract_block
from sow.executors.adapter import Outcome

ASKED = "solution_architect_agent"


def asking(*names: str, then: Script = good) -> Script:
    """Agents of which some ask something technical in their first turn; the workflow architect passes it on."""
    passed: set[str] = set()

    def script(turn: Turn) -> str | Outcome:
        if turn.role == "workflow-architect":
            first = "waits. These notes have an answer" not in turn.prompt
            return turn.decide("solution_architect", "Which one?") if first else turn.decide("answer", "The first")
        if turn.name in names and turn.name not in passed:
            passed.add(turn.name)
            turn.escalate("Which one?", "technology")
            turn.set("blocked")
            return "blocked"
        return then(turn)

    return script


def architect(name: str = ASKED, **more: object) -> dict[str, object]:
    return member(name, role="solution_architect", agent="solution-architect", **more)


def test_an_architect_with_a_task_of_the_plan_keeps_it(stage: Stage) -> None:
    """A question of another is decided beside the planned task, at a desk of its own; both are verified."""
    design(stage.home(), [member("data"), architect()], groups=["data", ASKED])
    assert stage.run(asking("data")) == 0
    assert stage.log.index("solution_architect_on_call:spawn") < stage.log.index(f"{ASKED}:spawn")
    assert set(stage.statuses().values()) == {"session_complete"}
    assert stage.members()[ASKED]["task_id"] == architect()["task_id"]
    told = stage.root / f"orchestration/agents/{ASKED}/agent_instructions.md"
    assert contract_block.ASKED not in told.read_text()


def test_an_architect_on_call_keeps_what_the_design_tells_it(stage: Stage) -> None:
    """Questions are put behind the instructions of the design, which are still approved as they are."""
    design(stage.home(), [member("data"), member("api"), architect("wise")], groups=["data", "api"])
    told = stage.root / "orchestration/agents/wise/agent_instructions.md"
    before = told.read_text()
    assert stage.run(asking("data", "api")) == 0
    assert [each for each in stage.log if each == "wise:spawn"] == ["wise:spawn"] * 2
    assert contract_block.remove_blocks(told.read_text()) == contract_block.remove_blocks(before)
    assert told.read_text().count(contract_block.ASKED) == told.read_text().count(contract_block.START) == 1
    assert "note_001 of api" in told.read_text() and "note_001 of data" not in told.read_text()


def test_a_doer_of_the_architects_name_is_left_alone(stage: Stage) -> None:
    """Where the usual desk belongs to somebody of the plan, questions are decided at another."""
    design(stage.home(), [member("data"), member(ASKED)], groups=["data", ASKED])
    assert stage.run(asking("data")) == 0
    assert stage.statuses()["solution_architect_on_call"] == "session_complete"
    assert stage.members()[ASKED]["kind"] == "doer"


def test_who_waits_behind_another_ends_though_there_is_one_place(stage: Stage) -> None:
    """Two askers and one place after a stop: whoever has the place lets the architect work, and both come to an end."""
    stopped: list[str] = []

    def broken(turn: Turn) -> str | Outcome:
        if turn.name == ASKED and not stopped:
            stopped.append(turn.name)
            return Outcome("limited", reason="later", reset_at=1)
        return good(turn)

    script = asking("last", "early", then=broken)
    design(stage.home(), [member("early"), member("last")], groups=[["early", "last"]])
    assert stage.run(script) == 0
    assert set(stage.statuses().values()) == {"session_complete"}
    assert not stage.told("answered")


def test_who_waits_for_a_failed_architect_is_not_started_again_and_again(stage: Stage) -> None:
    """An architect that failed is a person's question: its asker waits once, and goes on with the answer."""

    def failing(turn: Turn) -> str | Outcome:
        return Outcome("failed", reason="no such file") if turn.name == ASKED else good(turn)

    script = asking("data", then=failing)
    design(stage.home(), [member("data"), member("slow")], groups=[["data", "slow"]])
    assert stage.run(script) == 1
    assert len([each for each in stage.told("task_started") if each["task"] == "data"]) == 1
    assert stage.statuses()["slow"] == "verified"
    assert stage.answer("Try again") == 1
    assert stage.run(asking(then=good)) == 0


def test_who_is_taken_out_of_the_plan_keeps_nobody(stage: Stage) -> None:
    """An agent that waits and is in the plan no more, and the architect that worked for it, are let go at the end."""
    files = stage.root / "orchestration/workflow_coordination_plan.md"

    def failing(turn: Turn) -> str | Outcome:
        if turn.name != ASKED:
            return good(turn)
        turn.note("The first is older")
        return Outcome("failed", reason="no such file")

    design(stage.home(), [member("data"), member("other")], groups=[["data", "other"]])
    assert stage.run(asking("data", then=failing)) == 1
    files.write_text(plan_text([member("other"), member("third")], groups=["other", "third"]))
    text = Path(stage.root, "orchestration/agents/other/agent_instructions.md").read_text()
    third = stage.root / "orchestration/agents/third/agent_instructions.md"
    third.parent.mkdir()
    third.write_text(contract_block.remove_blocks(text))
    stage.approve()
    assert stage.run(good) == 0
    assert stage.statuses() == {"other": "session_complete", "third": "session_complete", ASKED: "pending"}
    notes = [note for session in stage.sessions() for note in session["notes"]]
    assert {note["status"] for note in notes} == {"resolved"}
    assert len(notes) == 4  # one of the asker, and one of each try of the architect
