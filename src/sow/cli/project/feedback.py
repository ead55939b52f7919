"""Adds and lists feedback on tasks (`sow feedback`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain import ids
from sow.store.projects import feedback, task_folder, tasks
from sow.store.projects import project as projects
from sow.system.terminal import escape_control, escape_line, notes, out


def add(context: Context, *, task: str, feedback_text: str) -> int:
    actor = context.require_non_worker("give feedback on a task")
    body = context.checked_text(feedback_text, "the feedback")
    change, path = tasks.give_feedback(context.project_home(), ids.task_id(task), body, actor=actor)
    notes(change.remarks, "warning")
    out(path)
    if change.task["status"] == "needs_review":
        out(f"send the task back: sow task set --id {change.task['id']} status in_progress")
    return 0


def list_feedback(context: Context, *, task: str, json: bool) -> int:
    home = context.project_home()
    folder = task_folder.find(home, projects.load(home), context.task(task))
    entries = feedback.read(folder)
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
        Argument("feedback_text", "The feedback (TEXT, @FILE or -)"),
    ),
    Command(
        "feedback list",
        list_feedback,
        "List the feedback on a task",
        Argument("task", "The task's id (default: SOW_TASK)", optional=True, completes="tasks"),
        json=True,
    ),
)
