"""A question of an agent that the user has answered for good: the answer goes to the workflow architect at once."""

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
    """Answer what an agent asks; never a loop, a failure or an approval, nor what two people want differently."""
    question = deck.member(name).get("question")
    if question is None or question["kind"] != "user":
        return False
    if any(each.get("category") == "conflict" for each in escalation.escalated(deck.notes(name))):
        return False
    found = StandingAnswers(deck.home, deck.ship.environment).find(escalation.bare(question["text"]))
    if found is None:
        return False
    words = f"{found.answer}\n\n(The user's standing answer of {found.since[:10]} to: {found.question})"
    workflow_questions.answer(deck.home, question["number"], words, actor=Actor(kind=PERSON, name=NAME))
    deck.ship.tell("answered", task=name, number=f"w{question['number']}", origin=ORIGIN)
    return True
