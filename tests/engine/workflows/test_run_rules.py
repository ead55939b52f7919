"""Rules of every run also hold in a workflow: saved answers, task budgets, fallbacks, Ctrl-C, and its queue."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.in_process_crew import COST, CrewRepo, Script, Turn, design, member, obedient_agent

from sow.domain.task import WORKER, Actor
from sow.executors.adapter import Outcome
from sow.store import note_updates
from sow.store.user.saved_answers import SavedAnswers
from sow.store.workflows import members

TWO = """
agents:
  executors: {one: {type: simulated}, two: {type: simulated}}
  bindings: {implementer: one, verifier: two, workflow-architect: two}
  fallbacks: {implementer: [two]}
"""


def asks_person(text: str = "May it be blue?", category: str = "requirements") -> Script:
    """One agent that asks a person once; the architect passes on the question, and then the answer."""

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            given = "The person answers:" in turn.prompt
            return turn.decide("answer", turn.prompt) if given else turn.decide("user", text)
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate(text, category)
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    return script


def stands(crew_repo: CrewRepo, question: str, answer: str) -> None:
    SavedAnswers(crew_repo.home(), crew_repo.environment).keep(question, answer)


def test_a_saved_answer_goes_through_the_architect(crew_repo: CrewRepo) -> None:
    """No person is asked: the architect gets the user's text with its origin, and the note has it."""
    stands(crew_repo, "May it be blue?", "Yes, but light")
    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(asks_person()) == 0
    assert [(entry["number"], entry["origin"]) for entry in crew_repo.events_of("answered")] == [("w1", "standing")]
    (note,) = [note for session in crew_repo.sessions() for note in session["notes"]]
    assert note["resolved_by"] == "user"
    assert "Yes, but light" in note["resolution"] and "The user's saved answer of" in note["resolution"]


@pytest.mark.parametrize(
    ("question", "category"), [("What is its name?", "requirements"), ("May it be blue?", "conflict")]
)
def test_a_saved_answer_settles_only_its_question(crew_repo: CrewRepo, question: str, category: str) -> None:
    """Another question waits for the person, and so does a conflict between two persons' wishes."""
    stands(crew_repo, question, "Yes")
    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(asks_person(category=category)) == 4
    assert crew_repo.members()["data"]["question"]["kind"] == "user"


def test_a_task_budget_is_a_question_of_its_agent(crew_repo: CrewRepo) -> None:
    """An agent that has cost more than budgets.task_usd asks before its next turn; the others continue."""
    crew_repo.config = f"budgets: {{task_usd: {COST}}}"

    def script(turn: Turn) -> str:
        refused = turn.name == "checker" and "verify the work of dear" in turn.prompt and len(rounds) < 1
        if refused:
            rounds.append(turn.name)
            return turn.say(result="failed", missing_evidence=["a test"])
        return obedient_agent(turn)

    rounds: list[str] = []
    design(crew_repo.home(), [member("dear"), member("other")], groups=[["dear", "other"]])
    assert crew_repo.run(script) == 4
    assert crew_repo.statuses() == {"dear": "working", "other": "verified"}
    question = crew_repo.members()["dear"]["question"]
    assert question["text"].startswith("Its budget is spent: agent dear has cost $0.25 of $0.25")
    crew_repo.answer("Go on")
    assert crew_repo.run(script) == 0


def test_a_fallback_replaces_a_limited_executor(crew_repo: CrewRepo) -> None:
    """An agent whose executor pauses continues with its role's next one in a fresh session, at no retry."""
    crew_repo.config, crew_repo.executor = TWO, ""
    played: list[tuple[str, str]] = []

    def script(turn: Turn) -> str | Outcome:
        played.append((turn.name, turn.executor))
        return Outcome("limited", reason="later", reset_at=2**31) if turn.executor == "one" else obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert played == [("data", "one"), ("data", "two"), ("checker", "two")]
    assert crew_repo.members()["data"]["tries"] == 0


@pytest.mark.parametrize("at_once", [1, 3])
def test_the_agent_that_was_blocked_first_is_served_first(crew_repo: CrewRepo, at_once: int) -> None:
    """Agents that wait at the same time are sorted by their last update, not by the plan's order."""
    heard: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            heard.append(turn.prompt.partition("\nAgent ")[2].split(" ")[0])
            return turn.decide("answer")
        return obedient_agent(turn)

    names = ["alpha", "beta", "gamma"]
    design(crew_repo.home(), [member(name) for name in names], groups=[names])
    for name in names:
        block(crew_repo, name)
    crew_repo.backdate(
        {"alpha": "2026-01-31T09:00:03Z", "beta": "2026-01-31T09:00:01Z", "gamma": "2026-01-31T09:00:02Z"}
    )
    assert crew_repo.run(script, at_once=at_once) == 0
    assert heard == ["beta", "gamma", "alpha"]


def block(crew_repo: CrewRepo, name: str) -> None:
    """Lets a working agent ask something and wait."""
    home, me = crew_repo.home(), Actor(kind=WORKER, name="implementer", task=name)
    members.begin_session(home, name)
    text = {"description": f"What about {name}?", "context": "the work", "category": "requirements"}
    note = note_updates.add(home, name, **text, actor=me)["note_id"]
    note_updates.escalate(home, name, note, reason="not mine to decide", actor=me)
    members.set_status(home, name, "blocked", actor=me)


def test_ctrl_c_stops_a_workflow_and_the_next_call_continues(crew_repo: CrewRepo) -> None:
    """The run ends with 130, nothing counts as a failure, and the same session continues the next time."""

    def interrupted(turn: Turn) -> str | Outcome:
        Path(turn.folder.folder, "task_output", "half.md").write_text("half\n")
        os.kill(os.getpid(), signal.SIGINT)
        return Outcome("interrupted", reason="Ctrl-C")

    design(crew_repo.home(), [member("data"), member("api", "data")])
    assert crew_repo.run(interrupted) == 130
    assert crew_repo.statuses() == {"data": "working", "api": "pending"}
    assert crew_repo.workflow()["status"] == "in_progress"
    assert crew_repo.members()["data"]["tries"] == 0
    assert crew_repo.run(obedient_agent) == 0
    assert crew_repo.log[:2] == ["data:spawn", "data:resume"]
