"""Answers a question from the user's saved answers, and records where the answer came from."""

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
    """Answer what a worker asks, but no question that repeats and no conflict between two people's wishes."""
    question = task.get("question")
    if question is None or stages.times_asked(task) >= stages.LOOP:
        return False
    if any(note["status"] == "escalated" and note.get("category") == "conflict" for note in notes.listed(desk)):
        return False
    saved = StandingAnswers(ship.home, ship.environment).find(question["text"])
    if saved is None:
        return False
    answer = f"{saved.answer}\n\n(The user's standing answer of {saved.since[:10]} to: {saved.question})"
    task_acts.answer(ship.home, desk.id, answer, actor=Actor(kind=PERSON, name=NAME))
    ship.tell("answered", task=desk.id, number=question["number"], origin=ORIGIN)
    return True
