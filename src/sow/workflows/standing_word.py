"""Answers an agent's question from the user's saved answers; the answer goes to the workflow architect."""

from __future__ import annotations

from sow.domain import escalation
from sow.domain.actor import PERSON, Actor
from sow.engine.standing_answer import NAME, ORIGIN
from sow.store import workflow_questions
from sow.store.standing_answers import StandingAnswers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.workflows.deck import Deck


def settle(deck: Deck, name: str) -> bool:
    """Answer what an agent asks, but no loop, failure, approval or conflict between two people's wishes."""
    question = deck.member(name).get("question")
    if question is None or question["kind"] != "user":
        return False
    if any(note.get("category") == "conflict" for note in escalation.escalated(deck.notes(name))):
        return False
    saved = StandingAnswers(deck.home, deck.ship.environment).find(escalation.bare(question["text"]))
    if saved is None:
        return False
    text = f"{saved.answer}\n\n(The user's standing answer of {saved.since[:10]} to: {saved.question})"
    workflow_questions.answer(deck.home, question["number"], text, actor=Actor(kind=PERSON, name=NAME))
    deck.ship.tell("answered", task=name, number=f"w{question['number']}", origin=ORIGIN)
    return True
