"""What changes under a run: the plan, limits of an executor, files that agents break, a person's hand on the state."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process_crew import PERSON_, Script, Stage, Turn, design, good, member, plan_text, write_design

from sow.agents.registry import AgentRegistry
from sow.domain.workflows import contract_block
from sow.engine.workflows import design_check
from sow.errors import Waiting
from sow.executors.adapter import Outcome

GROUPS = ["data", ["api", "page"]]


def edits_plan(stage: Stage, *names: str, verdict: str = "Quality Control: GREEN") -> Script:
    """Agents of which `data` asks, and an architect that changes the plan for some when it answers."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return f"I looked at it.\n\n{verdict}"
        if turn.role == "workflow-architect":
            entries = [member("data"), member("api", "data"), member("page", "data")]
            for each in entries:
                if each["name"] in names:
                    each["criteria"] = ["the output is there, and good"]
            path = stage.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text(entries, GROUPS))
            decisions = [{"note": each, "route": "answer", "resolution": "Blue"} for each in turn.asked]
            return turn.say(decisions=decisions, plan_changed=True)
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return good(turn)

    return script


def crew(stage: Stage) -> None:
    design(stage.home(), [member("data"), member("api", "data"), member("page", "data")], GROUPS)


def test_a_changed_section_waits_for_approval_and_the_others_go_on(stage: Stage) -> None:
    """The architect changes one agent's part of the plan: that one is held, all others come to their end."""
    crew(stage)
    assert stage.run(edits_plan(stage, "api")) == 4
    assert stage.statuses() == {"data": "verified", "api": "pending", "page": "verified"}
    assert stage.told("plan_changed")[0]["sections"] == ["api"]
    assert "design_verifier:review" in stage.log
    workflow = stage.workflow()
    assert workflow["verified"]["passed"] is True
    assert workflow["approval"]["digest"] != workflow["verified"]["digest"]
    assert stage.run(good, yes=True) == 0
    assert stage.told("approved")[-1]["how"] == "--yes"


def test_yes_approves_changes_of_this_run(stage: Stage) -> None:
    """With --yes a changed plan that passes its verification goes on, and the journal says how it was approved."""
    crew(stage)
    assert stage.run(edits_plan(stage, "api"), yes=True) == 0
    assert [each["how"] for each in stage.told("approved")] == ["--yes"]
    assert set(stage.statuses().values()) == {"session_complete"}


def test_a_change_that_is_refused_is_not_approved_by_yes(stage: Stage) -> None:
    """A RED word of the Design Verifier holds the agents concerned, whatever was said before."""
    crew(stage)
    assert stage.run(edits_plan(stage, "api", verdict="Quality Control: RED"), yes=True) == 4
    assert stage.statuses()["api"] == "pending"
    assert stage.workflow()["verified"]["passed"] is False


def test_a_limit_is_no_try(stage: Stage) -> None:
    """An executor that has reached its limit rests, nothing is counted, and the agent goes on afterwards."""
    calls: list[str] = []

    def script(turn: Turn) -> str | Outcome:
        calls.append(turn.name)
        return Outcome("limited", reason="come back later", reset_at=1) if len(calls) < 5 else good(turn)

    design(stage.home(), [member("data")])
    assert stage.run(script) == 0
    assert stage.members()["data"]["tries"] == 0
    assert len(stage.told("limit")) == 4


def test_broken_notes_are_set_aside_and_hurt_nobody_else(stage: Stage) -> None:
    """A notes file that cannot be read is put away, the last good notes count, and the agent is told."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return good(turn)
        prompts.append(turn.prompt)
        if len(prompts) == 1:
            turn.note("The name is short")
            Path(turn.desk.notes_path).write_text('{"task_id": [[[')
            return "done"
        turn.resolve("note_001")
        return good(turn)

    design(stage.home(), [member("data"), member("other")], groups=[["data", "other"]])
    assert stage.run(script) == 0
    assert list(stage.root.glob("orchestration/agents/data/set_aside/*session_current.json"))
    assert "set_aside" in prompts[-1]
    (note,) = [note for session in stage.sessions() for note in session["notes"]]
    assert note["description"] == "The name is short"


def test_a_view_that_is_gone_or_torn_is_made_anew(stage: Stage) -> None:
    """shared_status.json deleted or truncated during a turn is written again from the state."""

    def script(turn: Turn) -> str:
        view = stage.root / "orchestration/shared_status.json"
        if turn.name == "data":
            view.unlink()
        elif turn.name == "api":
            view.write_text(view.read_text()[:40])
        return good(turn)

    design(stage.home(), [member("data"), member("api", "data")])
    assert stage.run(script) == 0
    assert '"session_complete"' in (stage.root / "orchestration/shared_status.json").read_text()


def test_an_edited_state_is_put_back(stage: Stage) -> None:
    """An agent that writes `verified` into state.yaml gains nothing: the last good state is back."""

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return good(turn)
        turn.write()
        path = stage.root / "orchestration/state.yaml"
        path.write_text(path.read_text().replace("status: working", "status: verified"))
        return "done"

    design(stage.home(), [member("data")])
    assert stage.run(script) == 0
    assert stage.log == ["data:spawn", "checker:review"]


def test_who_is_verified_works_again_when_its_part_changes(stage: Stage) -> None:
    """An approved change of a verified agent's part sends it back to work, and the workflow ends with it."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect":
            first = member("data", criteria=["the output is there, and good"])
            path = stage.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text([first, member("api", "data")]))
            return turn.decide("answer")
        if turn.name == "api" and turn.kind == "spawn":
            turn.escalate("Is the schema right?")
            turn.set("blocked")
            return "blocked"
        return good(turn)

    design(stage.home(), [member("data"), member("api", "data")])
    assert stage.run(script, yes=True) == 0
    assert [each for each in stage.log if each.startswith("data")] == ["data:spawn", "data:resume"]
    assert set(stage.statuses().values()) == {"session_complete"}


def tell(stage: Stage, name: str, words: str) -> None:
    """Write more into the instructions of an agent or a verifier."""
    path = stage.root / f"orchestration/agents/{name}/agent_instructions.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else "# it\n"
    path.write_text(before.replace("# ", f"{words}\n\n# ", 1))


def test_instructions_that_change_after_approval_hold_their_agent(stage: Stage) -> None:
    """A word on the design is a word on every agent's instructions: who is told something else waits for a new one."""
    crew(stage)
    tell(stage, "api", "Take everything down.")
    assert stage.run(good) == 4
    assert stage.statuses() == {"data": "verified", "api": "pending", "page": "verified"}
    assert "api:spawn" not in stage.log


def test_instructions_that_change_during_a_run_hold_their_agent(stage: Stage) -> None:
    """The architect that edits instructions has changed the plan: they are verified, and wait for approval."""

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            tell(stage, "page", "Make it blue.")
        elif turn.role == "design-verifier":
            return "Quality Control: GREEN"
        elif turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return good(turn)

    crew(stage)
    assert stage.run(script) == 4
    assert stage.told("plan_changed")[0]["sections"] == ["page"]
    assert stage.statuses() == {"data": "verified", "api": "verified", "page": "pending"}
    assert stage.workflow()["verified"]["passed"] is True
    assert stage.run(good, yes=True) == 0


def test_a_verifiers_instructions_are_a_part_of_whom_it_verifies(stage: Stage) -> None:
    """Who changes what a verifier is told changes the part of everybody that it verifies."""
    crew(stage)
    tell(stage, "checker", "Pass whatever you see.")
    with pytest.raises(Waiting, match="nobody has approved this version of the design"):
        stage.run(good)


def test_a_new_contract_is_no_change_of_the_design(stage: Stage) -> None:
    """What sow itself writes into instructions asks nobody for a new word."""
    crew(stage)
    assert stage.run(good) == 0
    path = stage.root / "orchestration/agents/api/agent_instructions.md"
    assert contract_block.START in path.read_text()


def test_who_is_taken_out_of_the_plan_while_it_works_ends_its_turn(stage: Stage) -> None:
    """An architect may drop an agent that is at work: its turn ends, it is let go, and the workflow ends."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect":
            path = stage.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text([member("data"), member("api", "data")]))
            return turn.decide("answer")
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Is the page wanted?")
            turn.set("blocked")
            return "blocked"
        return good(turn) if turn.name != "page" else "I am not done yet."

    design(stage.home(), [member("data"), member("page"), member("api", "data")], groups=[["data", "page"], "api"])
    assert stage.run(script, yes=True) == 0
    assert stage.statuses() == {"data": "session_complete", "api": "session_complete"}


def test_nobody_is_dropped_from_the_plan_without_a_word(stage: Stage) -> None:
    """A plan without an agent that was approved waits for approval too, whether that agent had begun or not."""
    crew(stage)
    path = stage.root / "orchestration/workflow_coordination_plan.md"
    path.write_text(plan_text([member("data"), member("page", "data")], ["data", "page"]))
    assert stage.run(good) == 4
    assert stage.statuses()["api"] == "pending"
    stage.approve()
    assert stage.run(good) == 0
    assert set(stage.statuses()) == {"data", "page"}


def test_an_agent_that_is_dropped_while_it_asks_is_told_as_gone(stage: Stage) -> None:
    """Approved away during the run, its question is withdrawn in the journal, and nobody waits for it."""
    design(stage.home(), [member("data"), member("api")], [["data", "api"]])

    def script(turn: Turn) -> str | Outcome:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect" and "question" not in stage.members()["data"]:
            return turn.decide("user")
        if turn.role == "workflow-architect":
            write_design(stage.home(), [member("api")])
            return turn.decide("answer")
        if turn.name == "data" or (turn.name == "api" and turn.kind == "spawn"):
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return good(turn)

    assert stage.run(script, at_once=1, yes=True) == 0
    (told,) = stage.told("answered")
    assert (told["task"], told["number"], told["withdrawn"]) == ("data", "w1", True)
    assert [each["status"] for each in stage.told("task_ended") if each["task"] == "data"] == ["paused", "abandoned"]
    assert set(stage.statuses()) == {"api"}


def test_a_change_can_be_approved_while_the_others_go_on(stage: Stage) -> None:
    """A person's word during the run lets the agent that waits for it go on in the same run."""
    crew(stage)
    changes = edits_plan(stage, "api")
    asked: list[str] = []

    def script(turn: Turn) -> str | Outcome:
        if turn.name == "page" and not asked:
            asked.append(turn.name)
            plan, _ = design_check.read_plan(stage.home())
            design_check.approve(stage.home(), plan, AgentRegistry(), actor=PERSON_, how="sow workflow approve")
        return changes(turn)

    assert stage.run(script) == 0
    assert set(stage.statuses().values()) == {"session_complete"}
