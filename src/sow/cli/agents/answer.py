"""Answers a question, and resumes the worker that asked it (`sow answer`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.tasks import questions
from sow.errors import SowError
from sow.system.terminal import is_interactive


def answer(context: Context, *, question: str, answer_text: str, always: bool, resume: bool, no_resume: bool) -> int:
    if resume and no_resume:
        raise SowError("--resume and --no-resume exclude each other", "use one of them")
    if always:
        actor = context.require_person("save an answer", asked=True)
    else:
        actor = context.require_non_worker("answer a question")
    home = context.project_home()
    words = context.text(answer_text, "the answer")
    item = questions.find(home, question)
    if not always and questions.accept(context, item, words):
        return 0
    task = questions.take(context, home, item, words, actor, always=always)
    if task is None:
        return 0
    from sow.cli.agents.spawn import continue_task

    return continue_task(context, task, words, resume=resume or (is_interactive() and not no_resume))


COMMANDS = (
    Command(
        "answer",
        answer,
        "Answer a question of an agent or a run",
        Argument("question", "The number in the inbox (3, or w1), or the task's id", completes="questions"),
        Argument("answer_text", "The answer (TEXT, @FILE or -)"),
        Option("--always", help="Save the answer for equal questions in this repository"),
        Option("--resume", help="Resume the worker with the answer (default on a terminal)"),
        Option("--no-resume", help="Do not resume the worker"),
        details="If no worker is resumed, the last line shows how to continue.\n"
        "A saved answer is used for questions of workers only, not for approvals, phases, budgets or conflicts.\n"
        "List saved answers with 'sow answers'.",
    ),
)
