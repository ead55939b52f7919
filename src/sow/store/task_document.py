"""Collects everything about a task in one document, with the next step."""

from __future__ import annotations

from sow.domain import phase as phases
from sow.domain.ids import agent_id
from sow.domain.task import is_approved, may_start
from sow.domain.wording import answer_command
from sow.errors import SowError
from sow.store import feedback, log, notes
from sow.store.task_acts import statuses_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.shapes import ProjectState, Task
    from sow.store.desk import Desk


def _obstacle(desk: Desk, project: ProjectState, task: Task) -> str:
    """Says what keeps a pending task from starting."""
    if task["status"] != "pending":
        return ""
    try:
        phases.may_start_in(project["phases"], desk.phase)
        if task["depends_on"]:
            may_start(task, statuses_of(desk.home, project, task["depends_on"]))
    except SowError as error:
        return f"{error.message}: {error.hint}"
    return ""


def document(desk: Desk, project: ProjectState, task: Task) -> dict[str, Any]:
    """Returns everything about a task."""
    home = desk.home
    try:
        description = home.read(desk.description_path)
    except FileNotFoundError:
        description = ""
    return {
        **task,
        "phase": desk.phase,
        "agent_id": agent_id(task["assigned_agent"], task["iteration"]),
        "path": desk.folder,
        "description": description,
        "feedback": feedback.read(desk),
        "notes": notes.listed(desk),
        "log": log.read(home, desk.log_path),
        "next": what_next(task, bool(notes.unresolved(desk)), _obstacle(desk, project, task)),
    }


def _answer(task: Task) -> str:
    question = task.get("question")
    return answer_command(str(question["number"]), question["text"]) if question else answer_command(task["id"], "")


def what_next(task: Task, gated: bool, obstacle: str = "") -> str:
    """Returns the next step in one sentence, for the worker or the person in charge."""
    ident = task["id"]
    if obstacle:
        return obstacle
    if task["status"] == "in_progress" and gated:
        return f"resolve or escalate the open notes: sow note list --task {ident}"
    move = f"sow task set --id {ident} status"
    if task["status"] == "needs_review" and is_approved(task):
        return "it is approved: let a run merge it (sow run)"
    return {
        "pending": f"start: {move} in_progress",
        "in_progress": f"do the work, log it (sow log --task {ident} …), then: {move} needs_review",
        "needs_review": f'review it: sow approve {ident}, or sow feedback add {ident} "…" and {move} in_progress',
        "paused": f"answer: {_answer(task)}",
        "failed": f"read the log, then retry: {move} in_progress",
        "completed": "nothing: it is completed",
        "abandoned": "nothing: it is abandoned",
    }[task["status"]]
