"""Changes during a workflow's run: the plan, limits, files that agents break, and hand edits of the state."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process_crew import (
    PERSON_,
    CrewRepo,
    Script,
    Turn,
    design,
    member,
    obedient_agent,
    plan_text,
    write_design,
)

from sow.agents.registry import AgentRegistry
from sow.domain.workflows import contract_block
from sow.engine.workflows import design_check
from sow.errors import Waiting
from sow.executors.adapter import Outcome

GROUPS = ["data", ["api", "page"]]


def edits_plan(crew_repo: CrewRepo, *names: str, verdict: str = "Quality Control: GREEN") -> Script:
    """Agents of which `data` asks, and an architect that changes the plan for some when it answers."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return f"I looked at it.\n\n{verdict}"
        if turn.role == "workflow-architect":
            entries = [member("data"), member("api", "data"), member("page", "data")]
            for entry in entries:
                if entry["name"] in names:
                    entry["criteria"] = ["the output is there, and good"]
            path = crew_repo.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text(entries, GROUPS))
            decisions = [{"note": item, "route": "answer", "resolution": "Blue"} for item in turn.asked]
            return turn.say(decisions=decisions, plan_changed=True)
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    return script


def crew(crew_repo: CrewRepo) -> None:
    design(crew_repo.home(), [member("data"), member("api", "data"), member("page", "data")], GROUPS)


def test_a_changed_section_waits_for_approval(crew_repo: CrewRepo) -> None:
    """The architect changes one agent's part of the plan: that agent waits, and all others are completed."""
    crew(crew_repo)
    assert crew_repo.run(edits_plan(crew_repo, "api")) == 4
    assert crew_repo.statuses() == {"data": "verified", "api": "pending", "page": "verified"}
    assert crew_repo.events_of("plan_changed")[0]["sections"] == ["api"]
    assert "design_verifier:review" in crew_repo.log
    workflow = crew_repo.workflow()
    assert workflow["verified"]["passed"] is True
    assert workflow["approval"]["digest"] != workflow["verified"]["digest"]
    assert crew_repo.run(obedient_agent, yes=True) == 0
    assert crew_repo.events_of("approved")[-1]["how"] == "--yes"


def test_yes_approves_changes_of_this_run(crew_repo: CrewRepo) -> None:
    """With --yes a changed plan that passes its verification continues, and the journal has the reason."""
    crew(crew_repo)
    assert crew_repo.run(edits_plan(crew_repo, "api"), yes=True) == 0
    assert [event["how"] for event in crew_repo.events_of("approved")] == ["--yes"]
    assert set(crew_repo.statuses().values()) == {"session_complete"}


def test_a_refused_change_is_not_approved_by_yes(crew_repo: CrewRepo) -> None:
    """A RED of the Design Verifier stops the changed agents, also with --yes."""
    crew(crew_repo)
    assert crew_repo.run(edits_plan(crew_repo, "api", verdict="Quality Control: RED"), yes=True) == 4
    assert crew_repo.statuses()["api"] == "pending"
    assert crew_repo.workflow()["verified"]["passed"] is False


def test_a_limit_costs_no_retry(crew_repo: CrewRepo) -> None:
    """An executor that has reached its limit pauses, nothing is counted, and the agent continues afterwards."""
    calls: list[str] = []

    def script(turn: Turn) -> str | Outcome:
        calls.append(turn.name)
        return Outcome("limited", reason="come back later", reset_at=1) if len(calls) < 5 else obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.members()["data"]["tries"] == 0
    assert len(crew_repo.events_of("limit")) == 4


def test_broken_notes_are_set_aside(crew_repo: CrewRepo) -> None:
    """An unreadable notes file is set aside, the last good notes count, and the agent is informed."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return obedient_agent(turn)
        prompts.append(turn.prompt)
        if len(prompts) == 1:
            turn.note("The name is short")
            Path(turn.folder.notes_path).write_text('{"task_id": [[[')
            return "done"
        turn.resolve("note_001")
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data"), member("other")], groups=[["data", "other"]])
    assert crew_repo.run(script) == 0
    assert list(crew_repo.root.glob("orchestration/agents/data/set_aside/*session_current.json"))
    assert "set_aside" in prompts[-1]
    (note,) = [note for session in crew_repo.sessions() for note in session["notes"]]
    assert note["description"] == "The name is short"


def test_a_missing_or_torn_view_is_written_again(crew_repo: CrewRepo) -> None:
    """shared_status.json deleted or truncated during a turn is written again from the state."""

    def script(turn: Turn) -> str:
        view = crew_repo.root / "orchestration/shared_status.json"
        if turn.name == "data":
            view.unlink()
        elif turn.name == "api":
            view.write_text(view.read_text()[:40])
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data"), member("api", "data")])
    assert crew_repo.run(script) == 0
    assert '"session_complete"' in (crew_repo.root / "orchestration/shared_status.json").read_text()


def test_an_edited_state_is_restored(crew_repo: CrewRepo) -> None:
    """An agent that writes `verified` into state.yaml gains nothing: the last good state is restored."""

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return obedient_agent(turn)
        turn.write()
        path = crew_repo.root / "orchestration/state.yaml"
        path.write_text(path.read_text().replace("status: working", "status: verified"))
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == ["data:spawn", "checker:review"]


def test_a_changed_part_sends_a_verified_agent_back(crew_repo: CrewRepo) -> None:
    """An approved change of a verified agent's part sends it back to work, and the workflow waits for it."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect":
            first = member("data", criteria=["the output is there, and good"])
            path = crew_repo.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text([first, member("api", "data")]))
            return turn.decide("answer")
        if turn.name == "api" and turn.kind == "spawn":
            turn.escalate("Is the schema right?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data"), member("api", "data")])
    assert crew_repo.run(script, yes=True) == 0
    assert [line for line in crew_repo.log if line.startswith("data")] == ["data:spawn", "data:resume"]
    assert set(crew_repo.statuses().values()) == {"session_complete"}


def tell(crew_repo: CrewRepo, name: str, words: str) -> None:
    """Adds text to the instructions of an agent or a verifier."""
    path = crew_repo.root / f"orchestration/agents/{name}/agent_instructions.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else "# it\n"
    path.write_text(before.replace("# ", f"{words}\n\n# ", 1))


def test_changed_instructions_wait_for_approval(crew_repo: CrewRepo) -> None:
    """The approval of the design covers every agent's instructions: an agent with changed ones waits."""
    crew(crew_repo)
    tell(crew_repo, "api", "Take everything down.")
    assert crew_repo.run(obedient_agent) == 4
    assert crew_repo.statuses() == {"data": "verified", "api": "pending", "page": "verified"}
    assert "api:spawn" not in crew_repo.log


def test_instructions_that_change_during_a_run_wait_for_approval(crew_repo: CrewRepo) -> None:
    """An architect that edits instructions has changed the plan: they are verified, and wait for approval."""

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            tell(crew_repo, "page", "Make it blue.")
        elif turn.role == "design-verifier":
            return "Quality Control: GREEN"
        elif turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    crew(crew_repo)
    assert crew_repo.run(script) == 4
    assert crew_repo.events_of("plan_changed")[0]["sections"] == ["page"]
    assert crew_repo.statuses() == {"data": "verified", "api": "verified", "page": "pending"}
    assert crew_repo.workflow()["verified"]["passed"] is True
    assert crew_repo.run(obedient_agent, yes=True) == 0


def test_a_verifiers_instructions_belong_to_its_agents(crew_repo: CrewRepo) -> None:
    """A change of a verifier's instructions changes the part of every agent that it verifies."""
    crew(crew_repo)
    tell(crew_repo, "checker", "Pass whatever you see.")
    with pytest.raises(Waiting, match="nobody has approved this version of the design"):
        crew_repo.run(obedient_agent)


def test_a_new_contract_is_no_change_of_the_design(crew_repo: CrewRepo) -> None:
    """Text that sow itself writes into instructions needs no new approval."""
    crew(crew_repo)
    assert crew_repo.run(obedient_agent) == 0
    path = crew_repo.root / "orchestration/agents/api/agent_instructions.md"
    assert contract_block.START in path.read_text()


def test_an_agent_that_is_removed_during_its_turn_ends(crew_repo: CrewRepo) -> None:
    """An architect may remove a working agent: its turn ends, it is removed, and the workflow ends."""

    def script(turn: Turn) -> str:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect":
            path = crew_repo.root / "orchestration/workflow_coordination_plan.md"
            path.write_text(plan_text([member("data"), member("api", "data")]))
            return turn.decide("answer")
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Is the page wanted?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn) if turn.name != "page" else "I am not done yet."

    design(crew_repo.home(), [member("data"), member("page"), member("api", "data")], groups=[["data", "page"], "api"])
    assert crew_repo.run(script, yes=True) == 0
    assert crew_repo.statuses() == {"data": "session_complete", "api": "session_complete"}


def test_removing_an_agent_needs_approval(crew_repo: CrewRepo) -> None:
    """A plan without an approved agent waits for approval, whether that agent had begun or not."""
    crew(crew_repo)
    path = crew_repo.root / "orchestration/workflow_coordination_plan.md"
    path.write_text(plan_text([member("data"), member("page", "data")], ["data", "page"]))
    assert crew_repo.run(obedient_agent) == 4
    assert crew_repo.statuses()["api"] == "pending"
    crew_repo.approve()
    assert crew_repo.run(obedient_agent) == 0
    assert set(crew_repo.statuses()) == {"data", "page"}


def test_an_asking_agent_that_is_removed_withdraws_its_question(crew_repo: CrewRepo) -> None:
    """Removed by an approval during the run, its question is withdrawn, and the run does not wait for it."""
    design(crew_repo.home(), [member("data"), member("api")], [["data", "api"]])

    def script(turn: Turn) -> str | Outcome:
        if turn.role == "design-verifier":
            return "Quality Control: GREEN"
        if turn.role == "workflow-architect" and "question" not in crew_repo.members()["data"]:
            return turn.decide("user")
        if turn.role == "workflow-architect":
            write_design(crew_repo.home(), [member("api")])
            return turn.decide("answer")
        if turn.name == "data" or (turn.name == "api" and turn.kind == "spawn"):
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    assert crew_repo.run(script, at_once=1, yes=True) == 0
    (messages,) = crew_repo.events_of("answered")
    assert (messages["task"], messages["number"], messages["withdrawn"]) == ("data", "w1", True)
    assert [task["status"] for task in crew_repo.events_of("task_ended") if task["task"] == "data"] == [
        "paused",
        "abandoned",
    ]
    assert set(crew_repo.statuses()) == {"api"}


def test_a_change_can_be_approved_during_the_run(crew_repo: CrewRepo) -> None:
    """A person's approval during the run lets the waiting agent continue in the same run."""
    crew(crew_repo)
    changes = edits_plan(crew_repo, "api")
    asked: list[str] = []

    def script(turn: Turn) -> str | Outcome:
        if turn.name == "page" and not asked:
            asked.append(turn.name)
            plan, _ = design_check.read_plan(crew_repo.home())
            design_check.approve(crew_repo.home(), plan, AgentRegistry(), actor=PERSON_, how="sow workflow approve")
        return changes(turn)

    assert crew_repo.run(script) == 0
    assert set(crew_repo.statuses().values()) == {"session_complete"}
