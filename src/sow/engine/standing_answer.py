"""A question that the user has answered for good is answered at once, in the user's words, with their origin."""

from __future__ import annotations

from sow.domain import stage as stages
from sow.domain.actor import PERSON, Actor
from sow.store import notes, task_acts
from sow.store.standing_answers import StandingAnswers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Task
    from sow.engine.ship import Ship
    from sow.store.desk import Desk

ORIGIN = "standing"
NAME = "standing-answer"


def settle(ship: Ship, desk: Desk, task: Task) -> bool:
    """Answer what a worker asks; never a loop, and never a conflict between what two people want."""
    question = task.get("question")
    if question is None or stages.times_asked(task) >= stages.LOOP:
        return False
    if any(each["status"] == "escalated" and each.get("category") == "conflict" for each in notes.listed(desk)):
        return False
    found = StandingAnswers(ship.home, ship.environment).find(question["text"])
    if found is None:
        return False
    words = f"{found.answer}\n\n(The user's standing answer of {found.since[:10]} to: {found.question})"
    task_acts.answer(ship.home, desk.id, words, actor=Actor(kind=PERSON, name=NAME))
    ship.tell("answered", task=desk.id, number=question["number"], origin=ORIGIN)
    return True
