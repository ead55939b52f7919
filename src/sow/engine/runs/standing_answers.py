"""Answers a question from the user's saved answers, and records where the answer came from."""

from __future__ import annotations

from sow.domain.actor import PERSON, Actor
from sow.domain.runs import stages
from sow.store.projects import notes, tasks
from sow.store.user.standing_answers import StandingAnswers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Task
    from sow.engine.runs.run_context import RunContext
    from sow.store.projects.task_folder import TaskFolder

ORIGIN = "standing"
NAME = "standing-answer"


def answer_from_saved(context: RunContext, folder: TaskFolder, task: Task) -> bool:
    """Answer what a worker asks, but no question that repeats and no conflict between two people's wishes."""
    question = task.get("question")
    if question is None or stages.times_asked(task) >= stages.LOOP:
        return False
    if any(note["status"] == "escalated" and note.get("category") == "conflict" for note in notes.load_notes(folder)):
        return False
    saved = StandingAnswers(context.home, context.environment).find(question["text"])
    if saved is None:
        return False
    answer = f"{saved.answer}\n\n(The user's standing answer of {saved.since[:10]} to: {saved.question})"
    tasks.answer(context.home, folder.id, answer, actor=Actor(kind=PERSON, name=NAME))
    context.journal("answered", task=folder.id, number=question["number"], origin=ORIGIN)
    return True
