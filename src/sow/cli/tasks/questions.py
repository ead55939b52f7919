"""Asks open questions on the terminal, and records the answers of the user."""

from __future__ import annotations

import sys
from collections.abc import Collection

from sow.cli.context import Context
from sow.cli.tasks.inbox import approve, show_item
from sow.cli.tasks.task import print_change
from sow.domain import inputs
from sow.domain.inbox import Item
from sow.domain.task import PERSON, Actor
from sow.domain.text import similar_text
from sow.domain.workflows.escalation import without_note_numbers
from sow.errors import Interrupted, SowError
from sow.reports.idle_tasks import ProjectRuns
from sow.store import planning
from sow.store.files.checkout_home import Home
from sow.store.inbox import waiting
from sow.store.projects import phases, tasks
from sow.store.projects.task_folder import TaskChange
from sow.store.user.saved_answers import SavedAnswers
from sow.store.workflows import question_updates
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import err, escape_line, is_interactive, notes, out, read_line

LONGEST = 10  # digits of a number
YES = ("y", "yes", "approve", "approved", "ok")
ALWAYS = "remove --always"
ACCEPT, WAIVE = "accept", "waive"  # answers that accept work instead of going to its worker
NO = ("n", "no", "reject", "rejected")


def ask_after_run(context: Context, names: Collection[str], code: int, *, json: bool) -> tuple[int, bool]:
    """Asks the open questions of a run on a terminal; returns its exit code, and whether one has an answer now."""
    if json or code == Interrupted.exit_code:
        return code, False
    try:
        return code, ask_open_questions(context, names)
    except KeyboardInterrupt:  # the question stays open, and the report says how to answer it
        err("")
        return Interrupted.exit_code, False


def ask_open_questions(context: Context, names: Collection[str]) -> bool:
    """Asks the open questions of these tasks and agents on the terminal; returns whether one has an answer now."""
    if not (is_interactive() and sys.stdout.isatty()):
        return False
    home = context.project_home()  # not the run's own object, which would undo answers of other processes
    actor = context.require_non_worker("answer a question")
    asked = {_label(item): item for item in open_items(home) if (item["task"] or item["agent"]) in names}
    for label, item in asked.items():
        show_item(item)
        offer = (
            f"'{WAIVE}' accepts the work and waives the failed checks"
            if item["waive"]
            else f"'{ACCEPT}' accepts the work as it is"
        )
        offer = f"{offer}; " if item["accept"] else ""
        prompt = f"Your answer to {label} ({offer}press Enter to leave it open):"
        words = read_line(prompt, lambda label=label: label in _open_labels(home)).strip()  # type: ignore[misc]
        try:
            if words and not accept(context, item, words):
                take(context, home, item, words, actor, run_follows=True)
        except SowError as error:  # for example, another terminal has answered it meanwhile
            err(f"error: {escape_line(error.message)}\nhint: {error.hint}")
    return bool(asked.keys() - _open_labels(home))


def accept(context: Context, item: Item, words: str) -> bool:
    """Accepts the work if that is the answer to a question about it; returns whether it is."""
    word = words.strip().lower()
    if not item["accept"] or word not in (ACCEPT, WAIVE):
        return False
    approve(context, task=item["task"], reason="", waive=item["waive"] if word == WAIVE else [])
    return True


def _open_labels(home: Home) -> set[str]:
    return {_label(item) for item in open_items(home)}


def _label(item: Item) -> str:
    return str(item["number"] or item["task"])


def take(
    context: Context,
    home: Home,
    asked: Item,
    text: str,
    actor: Actor,
    *,
    always: bool = False,
    run_follows: bool = False,
) -> TaskChange | None:
    """Records an answer; returns the change of the task, if a task had asked. A run may follow in the same call."""
    words = inputs.checked_text(text, "the answer", 100_000)
    if str(asked["number"]).startswith(planning.NUMBER):
        if always:
            raise SowError("an answer to a planner cannot be saved", ALWAYS)
        command = planning.answer(home, asked["number"], words, actor=actor)
        out(escape_line(f"{asked['number']} is answered; continue with: {command}"))
        return None
    if asked["agent"]:
        if always:
            _save_agent_answer(context, home, asked, words)
        _answer_agent(context, home, asked, words, actor, run_follows=run_follows)
        return None
    if asked["kind"] == "phase":
        if actor.kind != PERSON:  # no rule of an agent CLI can tell this answer from others
            approval = f"sow phase approve {asked['phase']}"
            raise SowError(f"the {actor.kind} may not decide on a phase", f"a person runs: {approval}")
        _decide_phase(home, asked, words, actor, always=always)
        return None
    if always:  # first, because after a crash the same call would find no open question
        _save_answer(context, home, similar_text.without_details(asked["text"]), words)
    change = tasks.answer(home, asked["task"], words, actor=actor)
    print_change(context, change)
    return change


def _decide_phase(home: Home, asked: Item, words: str, actor: Actor, *, always: bool) -> None:
    """Adds or rejects a proposed phase."""
    if always:
        raise SowError("an answer about a phase cannot be saved", ALWAYS)
    name, number, word = asked["phase"], asked["number"], words.strip().lower()
    if word not in (*YES, *NO):
        raise SowError(
            f"question {number} asks whether to add phase {name}: answer yes or no", f"sow answer {number} yes"
        )
    phases.decide(home, name, yes=word in YES, actor=actor)
    out(f"phase {name} is {'approved' if word in YES else 'rejected'}")


def _save_agent_answer(context: Context, home: Home, asked: Item, words: str) -> None:
    """Saves an answer to an agent's question; questions about failures, loops or budgets are decided each time."""
    kind = WorkflowFolder(home).workflow()["members"][asked["agent"]]["question"]["kind"]
    if kind != "user":
        raise SowError(f"an answer to this kind of question cannot be saved: {kind}", ALWAYS)
    _save_answer(context, home, without_note_numbers(asked["text"]), words)


def _answer_agent(context: Context, home: Home, asked: Item, words: str, actor: Actor, *, run_follows: bool) -> None:
    """Answers a workflow agent; the Workflow Architect reads the answer first when the workflow continues."""
    changed = question_updates.answer(home, int(asked["number"][1:]), words, actor=actor)
    notes(changed.remarks)
    if run_follows:
        out(f"{asked['number']} is answered")
        return
    runs = ProjectRuns(home, context.hints(), owner=WorkflowFolder(home).workflow()["id"])
    command = runs.command(runs.unfinished()) or "sow workflow run"
    continues = "the active run continues it" if runs.live_tasks() else f"continue with: {command}"
    out(escape_line(f"{asked['number']} of agent {asked['agent']} is answered; {continues}"))


def _save_answer(context: Context, home: Home, question: str, words: str) -> None:
    """Saves an answer for later questions with the same text in this repository."""
    SavedAnswers(home, context.environment).keep(question, words)
    out("saved the answer for equal questions; list saved answers: sow answers")


def open_items(home: Home) -> list[Item]:
    """Lists the questions that can be answered; a failed task cannot, a failed agent may."""
    return [
        item
        for item in waiting(home)
        if item["kind"] in ("question", "phase") or (item["kind"] == "failed" and item["agent"] and item["number"])
    ]


def find(home: Home, question: str) -> Item:
    """Returns the open question with this number or task id."""
    items = open_items(home)
    digits = question.removeprefix("#")
    for item in items:
        if item["number"] and digits == str(item["number"]):
            return item
    for item in items:
        if item["task"] and item["task"] == digits:
            return item
    numbers = ", ".join(_label(item) for item in items)
    why = _why_closed(home, digits) or f"there is no open question {question!r}"
    raise SowError(why, f"the open questions are: {numbers}; see: sow inbox" if numbers else "no question is open")


def _why_closed(home: Home, number: str) -> str:
    """Returns why an agent's question is closed, or an empty text if that is unknown."""
    digits = number[1:]
    if number[:1] != "w" or not (digits.isascii() and digits.isdigit() and len(digits) < LONGEST):
        return ""
    folder = WorkflowFolder(home)
    return question_updates.closed_reason(folder.workflow(), int(digits)) if folder.exists() else ""
