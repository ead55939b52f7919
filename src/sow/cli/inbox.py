"""sow inbox, answer, approve: what waits for a person, and the person's word on it."""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.spec import Argument, Command, Option
from sow.cli.task import tell
from sow.domain import ids, text
from sow.domain.inbox import items
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import phase_acts, task_acts
from sow.store import project as projects
from sow.system.terminal import harmless_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.inbox import Item
    from sow.store.home import Home

YES = ("y", "yes", "approve", "approved", "ok")
NO = ("n", "no", "reject", "rejected")


def waiting(home: Home) -> list[Item]:
    """Everything that waits for a person in this project."""
    project = projects.load(home)
    readable, broken = desks.load_all(home, project)
    return items([task for _, task in readable], project["phases"], broken)


def inbox(context: Context, *, json: bool) -> int:
    found = waiting(context.home())
    if json:
        emit({"items": found})
        return 0
    for item in found:
        number = f"{item['number']}." if item["number"] else "-"
        task = f" task {item['task']}" if item["task"] else ""
        holds = f", holds up {item['blocks']}" if item["blocks"] else ""
        out(f"{paint(number, 'bold')} {item['kind']}{task}{holds}: {harmless_line(item['text'])}")
        out(f"   {paint(item['do'], 'cyan')}")
    if not found:
        out("nothing waits for you")
    return 0


def answer(context: Context, *, question: str, answer_text: str, always: bool) -> int:
    actor = context.person("let an answer stand") if always else context.judge("answer a question")
    home = context.home()
    words = text.text(context.text(answer_text, "the answer"), "the answer", 100_000)
    item = _find(home, question)
    if item["kind"] != "phase":
        if always:  # first: once it is answered, the same call after a crash finds no question any more
            _let_stand(context, home, item["text"], words)
        tell(task_acts.answer(home, item["task"], words, actor=actor))
        return 0
    context.person("decide on a phase")
    if always:
        raise SowError("no answer about a phase stands: each is decided by itself", "leave --always out")
    name = item["phase"]
    word = words.strip().lower()
    if word not in (*YES, *NO):
        raise SowError(
            f"question {question} asks whether to add phase {name}: answer yes or no", f"sow answer {question} yes"
        )
    phase_acts.decide(home, name, yes=word in YES, actor=actor)
    out(f"phase {name} is {'approved' if word in YES else 'rejected'}")
    return 0


def _let_stand(context: Context, home: Home, question: str, words: str) -> None:
    """Keep an answer for the next time that somebody asks the same in this repository."""
    from sow.store.standing_answers import StandingAnswers

    StandingAnswers(home, context.environment).keep(question, words)
    out("the answer stands: a worker that asks the same in a run gets it at once; see 'sow answers'")


def _find(home: Home, question: str) -> Item:
    """The item that is meant, by its number or by its task's id."""
    found = [item for item in waiting(home) if item["kind"] in ("question", "phase")]
    digits = question.removeprefix("#")
    for item in found:
        if item["number"] and digits == str(item["number"]):
            return item
    for item in found:
        if item["task"] and item["task"] == digits:
            return item
    numbers = ", ".join(str(item["number"] or item["task"]) for item in found) or "none"
    raise SowError(f"there is no open question {question!r}", f"the open questions are: {numbers}; see 'sow inbox'")


def approve(context: Context, *, task: str) -> int:
    actor = context.judge("approve a task")
    home, ident = context.home(), ids.task_id(task)
    context.put_in_order(home, ident)
    tell(task_acts.set_status(home, ident, "completed", actor=actor))
    return 0


COMMANDS = (
    Command("inbox", inbox, "Show what waits for a person, most blocking first", json=True),
    Command(
        "answer",
        answer,
        "Answer a question; a paused task goes on with the answer",
        arguments=(
            Argument("question", "Its number in the inbox, or the task's id", completes="questions"),
            Argument("answer_text", "The answer (TEXT, @FILE or -)"),
        ),
        options=(Option("--always", help="Let it stand: whoever asks the same in a run of this repository gets it"),),
        details="A standing answer settles questions of workers only: never an approval, a phase, a budget, a command\n"
        "that needs a shell, or a conflict. 'sow answers' lists them.",
    ),
    Command(
        "approve",
        approve,
        "Accept the work on a task that needs review",
        arguments=(Argument("task", "The task's id", completes="tasks"),),
    ),
)
