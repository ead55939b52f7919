"""What holds in every run holds in a workflow: standing answers, task budgets, fallbacks, Ctrl-C; and its queue."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.in_process_crew import COST, Script, Stage, Turn, design, good, member

from sow.domain.actor import WORKER, Actor
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
    """One agent that asks a person something once; the architect passes it on, and then the answer."""

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            given = "The person answers:" in turn.prompt
            return turn.decide("answer", turn.prompt) if given else turn.decide("user", text)
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate(text, category)
            turn.set("blocked")
            return "blocked"
        return good(turn)

    return script


def stands(stage: Stage, question: str, answer: str) -> None:
    SavedAnswers(stage.home(), stage.environment).keep(question, answer)


def test_a_standing_answer_goes_through_the_architect(stage: Stage) -> None:
    """Nobody is asked again: the architect gets the user's words with their origin, and the note has them."""
    stands(stage, "May it be blue?", "Yes, but light")
    design(stage.home(), [member("data")])
    assert stage.run(asks_person()) == 0
    assert [(each["number"], each["origin"]) for each in stage.told("answered")] == [("w1", "standing")]
    (note,) = [note for session in stage.sessions() for note in session["notes"]]
    assert note["resolved_by"] == "user"
    assert "Yes, but light" in note["resolution"] and "The user's saved answer of" in note["resolution"]


@pytest.mark.parametrize(
    ("question", "category"), [("What is its name?", "requirements"), ("May it be blue?", "conflict")]
)
def test_a_standing_answer_settles_nothing_else(stage: Stage, question: str, category: str) -> None:
    """Another question waits for the person, and so does a conflict between what two people want."""
    stands(stage, question, "Yes")
    design(stage.home(), [member("data")])
    assert stage.run(asks_person(category=category)) == 4
    assert stage.members()["data"]["question"]["kind"] == "user"


def test_a_task_budget_is_a_question_of_its_agent(stage: Stage) -> None:
    """An agent that has cost more than budgets.task_usd asks before its next turn; the others go on."""
    stage.config = f"budgets: {{task_usd: {COST}}}"

    def script(turn: Turn) -> str:
        refused = turn.name == "checker" and "verify the work of dear" in turn.prompt and len(rounds) < 1
        if refused:
            rounds.append(turn.name)
            return turn.say(result="failed", missing_evidence=["a test"])
        return good(turn)

    rounds: list[str] = []
    design(stage.home(), [member("dear"), member("other")], groups=[["dear", "other"]])
    assert stage.run(script) == 4
    assert stage.statuses() == {"dear": "working", "other": "verified"}
    question = stage.members()["dear"]["question"]
    assert question["text"].startswith("Its budget is spent: agent dear has cost $0.25 of $0.25")
    stage.answer("Go on")
    assert stage.run(script) == 0


def test_a_fallback_takes_over_where_an_executor_is_at_its_limit(stage: Stage) -> None:
    """An agent whose executor rests goes on with the next of its role in a fresh session, and no try is counted."""
    stage.config, stage.executor = TWO, ""
    played: list[tuple[str, str]] = []

    def script(turn: Turn) -> str | Outcome:
        played.append((turn.name, turn.executor))
        return Outcome("limited", reason="later", reset_at=2**31) if turn.executor == "one" else good(turn)

    design(stage.home(), [member("data")])
    assert stage.run(script) == 0
    assert played == [("data", "one"), ("data", "two"), ("checker", "two")]
    assert stage.members()["data"]["tries"] == 0


@pytest.mark.parametrize("at_once", [1, 3])
def test_who_was_blocked_first_is_heard_first(stage: Stage, at_once: int) -> None:
    """Blocked agents that wait at the same time come to the architect by their last update, not by the plan's order."""
    heard: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            heard.append(turn.prompt.partition("\nAgent ")[2].split(" ")[0])
            return turn.decide("answer")
        return good(turn)

    names = ["alpha", "beta", "gamma"]
    design(stage.home(), [member(name) for name in names], groups=[names])
    for name in names:
        block(stage, name)
    stage.backdate({"alpha": "2026-01-31T09:00:03Z", "beta": "2026-01-31T09:00:01Z", "gamma": "2026-01-31T09:00:02Z"})
    assert stage.run(script, at_once=at_once) == 0
    assert heard == ["beta", "gamma", "alpha"]


def block(stage: Stage, name: str) -> None:
    """An agent at work that asks something, and waits."""
    home, me = stage.home(), Actor(kind=WORKER, name="implementer", task=name)
    members.begin_session(home, name)
    words = {"description": f"What about {name}?", "context": "the work", "category": "requirements"}
    note = note_updates.add(home, name, **words, actor=me)["note_id"]
    note_updates.escalate(home, name, note, reason="not mine to decide", actor=me)
    members.set_status(home, name, "blocked", actor=me)


def test_ctrl_c_stops_a_workflow_and_the_next_call_goes_on(stage: Stage) -> None:
    """The run ends with 130, nothing counts as a failure, and the same session goes on the next time."""

    def interrupted(turn: Turn) -> str | Outcome:
        Path(turn.desk.folder, "task_output", "half.md").write_text("half\n")
        os.kill(os.getpid(), signal.SIGINT)
        return Outcome("interrupted", reason="Ctrl-C")

    design(stage.home(), [member("data"), member("api", "data")])
    assert stage.run(interrupted) == 130
    assert stage.statuses() == {"data": "working", "api": "pending"}
    assert stage.workflow()["status"] == "in_progress"
    assert stage.members()["data"]["tries"] == 0
    assert stage.run(good) == 0
    assert stage.log[:2] == ["data:spawn", "data:resume"]
