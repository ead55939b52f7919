"""Lists what waits for the user, and takes answers and approvals (`sow inbox`, `sow answer`, `sow approve`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.tasks.task import print_change
from sow.domain import ids, inputs
from sow.domain.text import similar_text
from sow.errors import SowError
from sow.store.inbox import waiting
from sow.store.projects import phases, tasks
from sow.system.terminal import err, escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.inbox import Item
    from sow.store.files.checkout_home import Home

MOST_LINES = 20  # of one question
LONGEST = 10  # digits of a number
YES = ("y", "yes", "approve", "approved", "ok")
ALWAYS = "leave --always out"
NO = ("n", "no", "reject", "rejected")


def inbox(context: Context, *, json: bool) -> int:
    items = waiting(context.project_home())
    if json:
        return emit({"items": items})
    for item in items:
        number = f"{item['number']}." if item["number"] else "-"
        agent = f" agent {item['agent']}" if item["agent"] else ""
        task = f" task {item['task']}" if item["task"] else agent
        holds = f", holds up {item['blocks']}" if item["blocks"] else ""
        first, *more = [escape_line(line) for line in item["text"].strip().splitlines()] or [""]
        out(f"{paint(number, 'bold')} {item['kind']}{task}{holds}: {first}")
        if len(more) > MOST_LINES:  # an error is at the end of an output
            out(f"   … {len(more) - MOST_LINES} lines left out: sow inbox --json")
        for line in more[-MOST_LINES:]:
            out(f"   {line}")
        if item["remark"]:
            out(f"   {escape_line(item['remark'])}")
        out(f"   {paint(item['do'], 'cyan')}")
    if not items:
        out("nothing waits for you")
    return 0


def answer(context: Context, *, question: str, answer_text: str, always: bool) -> int:
    actor = context.require_person("let an answer stand") if always else context.require_non_worker("answer a question")
    home = context.project_home()
    words = inputs.checked_text(context.text(answer_text, "the answer"), "the answer", 100_000)
    asked = _find(home, question)
    if asked["agent"]:
        if always:
            _save_agent_answer(context, home, asked, words)
        return _answer_agent(home, asked, words, actor)
    if asked["kind"] != "phase":
        if always:  # first, because after a crash the same call would find no open question
            _save_answer(context, home, similar_text.without_details(asked["text"]), words)
        print_change(tasks.answer(home, asked["task"], words, actor=actor))
        return 0
    context.require_person("decide on a phase")
    if always:
        raise SowError("no answer about a phase stands: each is decided by itself", ALWAYS)
    name = asked["phase"]
    word = words.strip().lower()
    if word not in (*YES, *NO):
        raise SowError(
            f"question {question} asks whether to add phase {name}: answer yes or no", f"sow answer {question} yes"
        )
    phases.decide(home, name, yes=word in YES, actor=actor)
    out(f"phase {name} is {'approved' if word in YES else 'rejected'}")
    return 0


def _save_agent_answer(context: Context, home: Home, asked: Item, words: str) -> None:
    """Saves an answer to an agent's question; questions about failures, loops or budgets are decided each time."""
    from sow.domain.workflows.escalation import without_note_numbers
    from sow.store.workflows.folder import WorkflowFolder

    kind = WorkflowFolder(home).workflow()["members"][asked["agent"]]["question"]["kind"]
    if kind != "user":
        raise SowError(f"no answer to a question of this kind stands ({kind}): each is decided by itself", ALWAYS)
    _save_answer(context, home, without_note_numbers(asked["text"]), words)


def _answer_agent(home: Home, asked: Item, words: str, actor: Actor) -> int:
    """Answers a workflow agent; the Workflow Architect reads the answer first when the workflow continues."""
    from sow.store.workflows import question_updates

    changed = question_updates.answer(home, int(asked["number"][1:]), words, actor=actor)
    for remark in changed.remarks:
        err(f"note: {escape_line(remark)}")
    out(f"{asked['number']} of agent {asked['agent']} is answered; it goes on with 'sow workflow run'")
    return 0


def _save_answer(context: Context, home: Home, question: str, words: str) -> None:
    """Saves an answer for later questions with the same text in this repository."""
    from sow.store.user.standing_answers import StandingAnswers

    StandingAnswers(home, context.environment).keep(question, words)
    out("the answer stands: a worker that asks the same in a run gets it at once; see 'sow answers'")


def _find(home: Home, question: str) -> Item:
    """Returns the open question with this number or task id."""
    items = [
        item for item in waiting(home) if item["kind"] in ("question", "phase", "failed") and _can_be_answered(item)
    ]
    digits = question.removeprefix("#")
    for item in items:
        if item["number"] and digits == str(item["number"]):
            return item
    for item in items:
        if item["task"] and item["task"] == digits:
            return item
    numbers = ", ".join(str(item["number"] or item["task"]) for item in items) or "none"
    why = _why_closed(home, digits) or f"there is no open question {question!r}"
    raise SowError(why, f"the open questions are: {numbers}; see 'sow inbox'")


def _why_closed(home: Home, number: str) -> str:
    """Returns why an agent's question is closed, or an empty text if that is unknown."""
    digits = number[1:]
    if number[:1] != "w" or not (digits.isascii() and digits.isdigit() and len(digits) < LONGEST):
        return ""
    from sow.store.workflows import question_updates
    from sow.store.workflows.folder import WorkflowFolder

    folder = WorkflowFolder(home)
    return question_updates.closed_reason(folder.workflow(), int(digits)) if folder.exists() else ""


def _can_be_answered(item: Item) -> bool:
    """Returns whether the item can be answered; a failed task cannot, a failed agent may."""
    return item["kind"] != "failed" or bool(item["agent"] and item["number"])


def approve(context: Context, *, task: str) -> int:
    actor = context.require_non_worker("approve a task")
    home, ident = context.project_home(), ids.task_id(task)
    context.recover_tasks(home, ident)
    print_change(tasks.set_status(home, ident, "completed", actor=actor))
    return 0


COMMANDS = (
    Command("inbox", inbox, "Show what waits for a person, most blocking first", json=True),
    Command(
        "answer",
        answer,
        "Answer a question; a paused task goes on with the answer",
        arguments=(
            Argument("question", "Its number in the inbox (3, or w1), or the task's id", completes="questions"),
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
        details="Work that lies in a worktree of a run is merged by the next 'sow run', which then completes the task.",
    ),
)
