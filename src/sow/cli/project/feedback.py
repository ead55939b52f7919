"""Adds and lists feedback on tasks (`sow feedback`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain import inputs
from sow.domain.reviews import line_comment
from sow.domain.task import is_approved
from sow.store.projects import log, task_folder, tasks
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskChange
from sow.system.terminal import escape_control, escape_line, notes, out

COMMENTS = """A text after --at is a comment on that line. The n-th text belongs to the n-th --at. If there is one text
more than lines, the first text is about the whole work. All of them are one feedback. The worker gets each comment with
its file, its line and the line's text."""


def add(context: Context, *, task: str, feedback_text: list[str], at: list[str], tree: str) -> int:
    actor = context.require_non_worker("give feedback on a task")
    texts = [context.checked_text(text, "the feedback") for text in feedback_text]
    home, ident = context.project_home(), inputs.task_id(task)
    general, comments = line_comment.pair(at, texts)
    if comments:
        from sow.gitwork.line_map import with_quotes  # here, because most feedback has no comments on lines
        from sow.gitwork.repository import Repository

        state = task_folder.find(home, projects.load(home), ident).task()
        tree, comments = with_quotes(Repository(home), state, comments, tree)
        general = line_comment.feedback_text(general, comments)
    change, path = tasks.give_feedback(home, ident, general, actor=actor, comments=len(comments), tree=tree)
    notes(change.remarks, "warning")
    out(path)
    next_step = _who_reads_it(context, change)
    if next_step:
        out(escape_line(next_step))
    return 0


def _who_reads_it(context: Context, change: TaskChange) -> str:
    """Tells when the worker of a task that waits reads new feedback, or how to make it read it."""
    from sow.reports.idle_tasks import (
        ProjectRuns,  # here and below, because most feedback is not on such a task
        answer_of,
    )

    task = change.task
    if task["status"] == "paused":
        return f"it reaches the worker with the answer: {answer_of(task)}"
    if task["status"] not in ("needs_review", "failed"):
        return ""
    runs = ProjectRuns(change.folder.home, context.hints())
    run = runs.unfinished()
    if (
        task["status"] == "needs_review"
        and run is not None
        and task["id"] in run.run["tasks"]
        and not is_approved(task)
    ):
        is_live = task["id"] in runs.live_tasks()
        then = "" if is_live else f", when its run continues: {runs.command(run)}"
        return f"task {task['id']} goes back to its worker with it before its merge{then}"
    return f"no worker reads it yet; send the task back: sow task set {task['id']} status in_progress"


def list_feedback(context: Context, *, task: str, json: bool) -> int:
    home = context.project_home()
    folder = task_folder.find(home, projects.load(home), context.task(task))
    entries = log.read_feedback(folder)
    if json:
        return emit({"task": folder.id, "feedback": entries})
    for entry in entries:
        signature = escape_line(f"by {entry['by']}, on iteration {entry['iteration']}")
        out(f"{entry['number']}  {escape_line(entry['at'])}  {signature}")
        out(f"{escape_control(entry['text'])}\n")
    if not entries:
        out("no feedback")
    return 0


COMMANDS = (
    Command(
        "feedback add",
        add,
        "Add feedback for the next iteration of a task",
        Argument("task", "The task's id", completes="tasks"),
        Argument("feedback_text", "The feedback (TEXT, @FILE or -)", repeat=True),
        Option("--at", "FILE:LINE", "The line that the next text is about", repeat=True),
        Option("--tree", "ID", "The tree that the lines are from (default: the task's last collected work)"),
        details=COMMENTS,
    ),
    Command(
        "feedback list",
        list_feedback,
        "List the feedback on a task",
        Argument("task", "The task's id (default: SOW_TASK)", optional=True, completes="tasks"),
        json=True,
    ),
)
