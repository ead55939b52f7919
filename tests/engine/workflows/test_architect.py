"""The solution architect: in its own folder, on call, with a task of the plan, and when no agent waits for it."""

from __future__ import annotations

from pathlib import Path

from support.in_process_crew import CrewRepo, Script, Turn, design, member, obedient_agent, plan_text

from sow.domain.workflows import contract_block
from sow.executors.adapter import Outcome

ASKED = "solution_architect_agent"


def asking(*names: str, then: Script = obedient_agent) -> Script:
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


def architect(name: str = ASKED, **options: object) -> dict[str, object]:
    return member(name, role="solution_architect", agent="solution-architect", **options)


def test_an_architect_with_a_task_of_the_plan_keeps_it(crew_repo: CrewRepo) -> None:
    """A question is decided in a folder of its own beside the planned task; both are verified."""
    design(crew_repo.home(), [member("data"), architect()], groups=["data", ASKED])
    assert crew_repo.run(asking("data")) == 0
    assert crew_repo.log.index("solution_architect_on_call:spawn") < crew_repo.log.index(f"{ASKED}:spawn")
    assert set(crew_repo.statuses().values()) == {"session_complete"}
    assert crew_repo.members()[ASKED]["task_id"] == architect()["task_id"]
    messages = crew_repo.root / f"orchestration/agents/{ASKED}/agent_instructions.md"
    assert contract_block.ASKED not in messages.read_text()


def test_an_architect_on_call_keeps_its_instructions(crew_repo: CrewRepo) -> None:
    """Questions are added after the instructions of the design, which stay approved."""
    design(crew_repo.home(), [member("data"), member("api"), architect("wise")], groups=["data", "api"])
    messages = crew_repo.root / "orchestration/agents/wise/agent_instructions.md"
    before = messages.read_text()
    assert crew_repo.run(asking("data", "api")) == 0
    assert [item for item in crew_repo.log if item == "wise:spawn"] == ["wise:spawn"] * 2
    assert contract_block.remove_blocks(messages.read_text()) == contract_block.remove_blocks(before)
    assert messages.read_text().count(contract_block.ASKED) == messages.read_text().count(contract_block.START) == 1
    assert "note_001 of api" in messages.read_text() and "note_001 of data" not in messages.read_text()


def test_an_agent_with_the_architects_name_is_left_alone(crew_repo: CrewRepo) -> None:
    """If the usual folder belongs to an agent of the plan, questions are decided in another one."""
    design(crew_repo.home(), [member("data"), member(ASKED)], groups=["data", ASKED])
    assert crew_repo.run(asking("data")) == 0
    assert crew_repo.statuses()["solution_architect_on_call"] == "session_complete"
    assert crew_repo.members()[ASKED]["kind"] == "doer"


def test_one_slot_is_enough_for_two_askers(crew_repo: CrewRepo) -> None:
    """Two agents ask and one slot is free after a stop: the architect gets the slot, and both end."""
    stopped: list[str] = []

    def broken(turn: Turn) -> str | Outcome:
        if turn.name == ASKED and not stopped:
            stopped.append(turn.name)
            return Outcome("limited", reason="later", reset_at=1)
        return obedient_agent(turn)

    script = asking("last", "early", then=broken)
    design(crew_repo.home(), [member("early"), member("last")], groups=[["early", "last"]])
    assert crew_repo.run(script) == 0
    assert set(crew_repo.statuses().values()) == {"session_complete"}
    assert not crew_repo.events_of("answered")


def test_a_failed_architect_is_asked_about_once(crew_repo: CrewRepo) -> None:
    """An architect that failed is a person's question: its asker waits once, and continues with the answer."""

    def failing(turn: Turn) -> str | Outcome:
        return Outcome("failed", reason="no such file") if turn.name == ASKED else obedient_agent(turn)

    script = asking("data", then=failing)
    design(crew_repo.home(), [member("data"), member("slow")], groups=[["data", "slow"]])
    assert crew_repo.run(script) == 1
    assert len([event for event in crew_repo.events_of("task_started") if event["task"] == "data"]) == 1
    assert crew_repo.statuses()["slow"] == "verified"
    assert crew_repo.answer("Try again") == 1
    assert crew_repo.run(asking(then=obedient_agent)) == 0


def test_a_removed_agent_does_not_keep_the_architect(crew_repo: CrewRepo) -> None:
    """A waiting agent that leaves the plan, and the architect that worked for it, are removed at the end."""
    files = crew_repo.root / "orchestration/workflow_coordination_plan.md"

    def failing(turn: Turn) -> str | Outcome:
        if turn.name != ASKED:
            return obedient_agent(turn)
        turn.note("The first is older")
        return Outcome("failed", reason="no such file")

    design(crew_repo.home(), [member("data"), member("other")], groups=[["data", "other"]])
    assert crew_repo.run(asking("data", then=failing)) == 1
    files.write_text(plan_text([member("other"), member("third")], groups=["other", "third"]))
    text = Path(crew_repo.root, "orchestration/agents/other/agent_instructions.md").read_text()
    third = crew_repo.root / "orchestration/agents/third/agent_instructions.md"
    third.parent.mkdir()
    third.write_text(contract_block.remove_blocks(text))
    crew_repo.approve()
    assert crew_repo.run(obedient_agent) == 0
    assert crew_repo.statuses() == {"other": "session_complete", "third": "session_complete", ASKED: "pending"}
    notes = [note for session in crew_repo.sessions() for note in session["notes"]]
    assert {note["status"] for note in notes} == {"resolved"}
    assert len(notes) == 4  # one of the asker, and one of each turn of the architect
