"""Lists what waits for the user and saved answers, and takes approvals (`sow inbox`, `sow approve`, `sow answers`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.tasks.task import print_change, print_next_merge
from sow.domain import inputs
from sow.domain.inbox import Item
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.reports.idle_tasks import ProjectRuns, name_commands
from sow.store.inbox import waiting
from sow.store.projects import acceptance
from sow.store.user.saved_answers import SavedAnswers
from sow.system.terminal import escape_control, escape_line, fold, out, paint

MOST_LINES = 20  # of one question


def inbox(context: Context, *, json: bool) -> int:
    home = context.project_home()
    items = waiting(home)
    name_commands(items, ProjectRuns(home, context.hints()))
    if json:
        return emit({"items": items})
    for item in items:
        show_item(item)
    if not items:
        out("nothing needs your answer")
    return 0


def subject(item: Item) -> str:
    """Returns the task or agent of an item, after a space."""
    agent = f" agent {item['agent']}" if item["agent"] else ""
    return f" task {item['task']}" if item["task"] else agent


def title(item: Item, kind: str) -> str:
    """Returns what an item is about; the text of an item about a run says it itself."""
    return "" if item["kind"] == "delivery" else f"{kind}{subject(item)}"


def show_item(item: Item) -> None:
    """Prints an item of the inbox and the command that settles it."""
    number = f"{item['number']}." if item["number"] else "-"
    holds = f", blocks {counted(item['blocks'], 'task')}" if item["blocks"] else ""
    first, *more = [escape_control(line) for line in item["text"].strip().splitlines()] or [""]
    about = ": ".join(filter(None, (f"{title(item, item['kind'])}{holds}", escape_line(first))))
    out(paint(number, "bold") + fold(f"{number} {about}", 3)[len(number) :])
    if len(more) > MOST_LINES:  # an error is at the end of an output
        out(f"   … {len(more) - MOST_LINES} lines not shown: sow inbox --json")
    for line in more[-MOST_LINES:]:
        out(fold(f"   {line}".rstrip(), 3))
    if item["remark"]:
        out(fold(f"   {escape_line(item['remark'])}", 3))
    if item["do"] not in item["remark"]:
        out(f"   {paint(item['do'], 'cyan')}")
    if item["accept"]:
        out(f"   or accept the work: {paint(escape_line(item['accept']), 'cyan')}")


def approve(context: Context, *, task: str, reason: str, waive: list[str]) -> int:
    actor = (
        context.require_person("waive a check", asked=True) if waive else context.require_non_worker("approve a task")
    )
    home, ident = context.project_home(), inputs.task_id(task)
    checked_reason = inputs.checked_line(reason, "--reason", 2000) if reason else ""
    context.recover_tasks(home, ident)
    change = acceptance.approve(home, ident, actor=actor, reason=checked_reason, waive=waive)
    for command in dict.fromkeys(waive):
        out(escape_line(f"waived: {command}"))
    if change.task["status"] == "in_progress":  # a final check of merged work is waived
        print_next_merge(context, change, "accepted; complete it with")
    else:
        print_change(context, change)
    return 0


def list_answers(context: Context, *, json: bool) -> int:
    answers = SavedAnswers(context.checkout(), context.environment).all_answers()
    if json:
        fields = ("question", "answer", "since")
        return emit(
            {"answers": [{"number": n, **{f: getattr(a, f) for f in fields}} for n, a in enumerate(answers, 1)]}
        )
    for number, answer in enumerate(answers, 1):
        out(f"{paint(f'{number}.', 'bold')} {escape_line(answer.question)}")
        out(f"   {escape_line(answer.answer)} {paint(f'(since {escape_line(answer.since[:10])})', 'dim')}")
    if not answers:
        out('no saved answers; save one with: sow answer 3 "…" --always')
    return 0


def forget(context: Context, *, number: str) -> int:
    context.require_person("delete a saved answer")
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        raise SowError(f"{number!r:.40} is not the number of a saved answer", "see the numbers: sow answers")
    deleted = SavedAnswers(context.checkout(), context.environment).forget(int(number))
    out(escape_line(f"deleted: {deleted.question}"))
    return 0


COMMANDS = (
    Command("inbox", inbox, "Show what needs your answer, most urgent first", json=True),
    Command(
        "approve",
        approve,
        "Accept the work on a task",
        Argument("task", "The task's id", completes="tasks"),
        Option("--reason", "TEXT", "The reason, for the log and reports"),
        Option("--waive", "COMMAND", "Skip this check from now on, in every task", repeat=True),
        details="The task may need review, be paused or have failed. Your approval overrules the reviewer.\n"
        "Only a person can waive a failed check, by naming it. The next 'sow run' merges the work of a worktree.",
    ),
    Command(
        "answers",
        list_answers,
        "List the saved answers of this repository",
        json=True,
        details="Save an answer with 'sow answer 3 \"…\" --always'. A worker that asks the same question in a run\n"
        "gets it at once. Saved answers are in answers.yaml, next to your settings file.",
    ),
    Command(
        "answers forget",
        forget,
        "Delete a saved answer, so that sow asks you again",
        Argument("number", "The number in 'sow answers'"),
    ),
)
