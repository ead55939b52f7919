"""Adds and lists feedback on tasks (`sow feedback`)."""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.spec import Argument, Command
from sow.domain import ids, text
from sow.store import desk as desks
from sow.store import feedback, task_acts
from sow.store import project as projects
from sow.system.terminal import err, harmless, harmless_line, out


def add(context: Context, *, task: str, feedback_text: str) -> int:
    actor = context.judge("give feedback on a task")
    body = text.text(context.text(feedback_text, "the feedback"), "the feedback")
    change, path = task_acts.give_feedback(context.home(), ids.task_id(task), body, actor=actor)
    for remark in change.remarks:
        err(f"warning: {harmless_line(remark)}")
    out(path)
    if change.task["status"] == "needs_review":
        out(f"send the task back with: sow task set --id {change.task['id']} status in_progress")
    return 0


def listed(context: Context, *, task: str, json: bool) -> int:
    home = context.home()
    desk = desks.find(home, projects.load(home), context.task(task))
    entries = feedback.read(desk)
    if json:
        emit({"task": desk.id, "feedback": entries})
        return 0
    for entry in entries:
        signature = harmless_line(f"by {entry['by']}, on iteration {entry['iteration']}")
        out(f"{entry['number']}  {harmless_line(entry['at'])}  {signature}")
        out(f"{harmless(entry['text'])}\n")
    if not entries:
        out("no feedback")
    return 0


COMMANDS = (
    Command(
        "feedback add",
        add,
        "Write feedback on a task for its next iteration",
        arguments=(
            Argument("task", "The task's id", completes="tasks"),
            Argument("feedback_text", "The feedback (TEXT, @FILE or -)"),
        ),
    ),
    Command(
        "feedback list",
        listed,
        "Show the feedback on a task",
        arguments=(Argument("task", "The task's id; without: SOW_TASK", optional=True, completes="tasks"),),
        json=True,
    ),
)
