"""Collects everything about a task in one document, with the next step."""

from __future__ import annotations

from typing import Any

from sow.domain import phase as phases
from sow.domain.documents.state import ProjectState, Task
from sow.domain.inputs import agent_id
from sow.domain.task import answer_command, is_approved, require_dependencies_done
from sow.errors import SowError
from sow.store.projects import feedback, log, notes
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder
from sow.store.projects.tasks import statuses_of


def _obstacle(folder: TaskFolder, project: ProjectState, task: Task) -> str:
    """Says what keeps a pending task from starting."""
    if task["status"] != "pending":
        return ""
    try:
        phases.require_begun(project["phases"], folder.phase)
        if task["depends_on"]:
            require_dependencies_done(task, statuses_of(folder.home, project, task["depends_on"]))
    except SowError as error:
        return f"{error.message}: {error.hint}"
    return ""


def document(folder: TaskFolder, project: ProjectState, task: Task, continues: str = "") -> dict[str, Any]:
    """Returns everything about a task; `continues` says to everybody but its worker who continues it."""
    home = folder.home
    try:
        description = home.read(folder.description_path)
    except FileNotFoundError:
        description = ""
    return {
        **task,
        "phase": folder.phase,
        "agent_id": agent_id(task["assigned_agent"], task["iteration"]),
        "path": folder.folder,
        "description": description,
        "project": {"name": project["name"], "description": project["description"]},
        "memories": projects.read_memories(home),
        "feedback": feedback.read(folder),
        "notes": notes.load_notes(folder),
        "log": log.read(home, folder.log_path),
        "next": task_next_step(task, bool(notes.unresolved(folder)), _obstacle(folder, project, task), continues),
    }


def answer_of(task: Task) -> str:
    """Returns the command that answers a task."""
    question = task.get("question")
    return answer_command(str(question["number"]), question["text"]) if question else answer_command(task["id"], "")


def task_next_step(task: Task, gated: bool, obstacle: str = "", continues: str = "") -> str:
    """Returns the next step in one sentence, for the worker or the person in charge."""
    ident = task["id"]
    if obstacle:
        return obstacle
    if task["status"] == "in_progress" and gated:
        return f"resolve or escalate the open notes: sow note list --task {ident}"
    move = f"sow task set {ident} status"
    if task["status"] == "needs_review" and is_approved(task):
        return "it is approved: let a run merge it (sow run)"
    if continues and task["status"] in ("pending", "in_progress", "failed"):
        return continues
    if continues and task["status"] == "needs_review":
        return f"review it: sow approve {ident}, or {continues}"
    return {
        "pending": f"start: {move} in_progress",
        "in_progress": f"do the work, log it (sow log --task {ident} …), then: {move} needs_review",
        "needs_review": f'review it: sow approve {ident}, or sow feedback add {ident} "…" and {move} in_progress',
        "paused": f"answer: {answer_of(task)}",
        "failed": f"read the log, then retry: {move} in_progress",
        "completed": "nothing: it is completed",
        "abandoned": "nothing: it is abandoned",
    }[task["status"]]
