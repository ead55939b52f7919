"""Chooses the documents that a task's worker should read, and records them (`sow context`)."""

from __future__ import annotations

import os
from typing import Any

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.tasks.show import project_lines
from sow.domain.documents.state import Chosen, ProjectState, Task
from sow.domain.task import MAY_FIT, refuse_ended, user_references
from sow.domain.text import units as sizes
from sow.knowledge.document import ChosenDocuments
from sow.knowledge.document_choice import choose_for_task
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects import tasks
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions
from sow.system.terminal import escape_control, escape_line, notes, out


def context(context: Context, *, task: str, budget: str, dry_run: bool, json: bool) -> int:
    home, actor = context.project_home(), context.actor()
    project = projects.load(home)
    folder = task_folders.find(home, project, context.task(task))
    state = folder.task()
    writes = not dry_run and not actor.is_worker  # a worker may only look
    if writes:
        refuse_ended(state)
    choice = choose_for_task(
        folder,
        project,
        state,
        folder=_folder(folder, state),
        budget=_budget(context, budget),
        environment=context.environment,
    )
    if writes:
        change = tasks.set_references(home, folder.id, choice.chosen, actor=actor)
        choice.remarks += change.remarks
    choice.remarks += _dependency_warning(folder, state)
    notes(choice.remarks, "warning")
    if json:
        emit(_document(folder, project, state, choice, written=writes))
    else:
        _show(state, choice, written=writes)
        out("The prompt also has the project's goal and decisions:")
        out(escape_control("\n".join(f"  {line}" for line in project_lines(project, projects.read_memories(home)))))
    return 0


def _budget(context: Context, budget: str) -> int:
    if budget:
        return sizes.parse_tokens(budget, "--budget")
    return sizes.parse_tokens(str(context.config().setting("context", "budget")), "context.budget")


def _folder(folder: TaskFolder, task: Task) -> str:
    """Returns the folder in which the task is worked on: that of its session, or the home checkout."""
    record = sessions.current(folder, task["session_id"]) if "session_id" in task else None
    if record is not None and os.path.isdir(record.session["cwd"]):
        return record.session["cwd"]
    return folder.home.root


def _dependency_warning(folder: TaskFolder, task: Task) -> list[str]:
    """Returns a warning if the task depends on uncompleted tasks, whose outputs may change."""
    project = projects.load(folder.home)
    statuses = tasks.statuses(folder.home, project) if task["depends_on"] else {}
    waiting = [dependency for dependency in task["depends_on"] if statuses.get(dependency) != "completed"]
    if not waiting:
        return []
    return [f"task {', '.join(waiting)} is not completed, so its outputs may change; run this again later"]


def _entry(chosen: Chosen) -> dict[str, Any]:
    return {**chosen, "tokens": sizes.estimate(chosen["size"])}


def _document(
    folder: TaskFolder, project: ProjectState, task: Task, choice: ChosenDocuments, *, written: bool
) -> dict[str, Any]:
    return {
        "task": folder.id,
        "project": {"name": project["name"], "description": project["description"]},
        "memories": projects.read_memories(folder.home),
        "budget": choice.budget,
        "tokens": _tokens(choice),
        "considered": choice.considered,
        "given": user_references(task),
        "references": [_entry(reference) for reference in choice.chosen],
        "left_out": [_entry(reference) for reference in choice.left_out],
        "warnings": choice.remarks,
        "written": written,
    }


def _show(task: Task, choice: ChosenDocuments, *, written: bool) -> None:
    count = sum(not reference["reason"].startswith(MAY_FIT) for reference in choice.chosen)
    more = f" and {len(choice.chosen) - count} that may fit" if count < len(choice.chosen) else ""
    out(f"{count} of {choice.considered} documents{more}, about {_tokens(choice)} of {choice.budget} tokens")
    rows = [("KIND", "SIZE", "DOCUMENT", "REASON")]
    rows += [("given", "", path, "given with the task") for path in user_references(task)]
    rows += [(r["kind"], sizes.format_bytes(r["size"]), _place(r), r["reason"]) for r in choice.chosen]
    if len(rows) > 1:
        out(table(rows))
    if choice.considered and not choice.chosen and not choice.left_out:
        out("no document fits; add details or document names to the task's description")
    for reference in choice.left_out:
        out(escape_line(f"left out, over the budget: {reference['path']} ({sizes.format_bytes(reference['size'])})"))
    if written and choice.chosen:
        out(f"task {task['id']} now refers to them; see: sow task show {task['id']}")


def _tokens(choice: ChosenDocuments) -> int:
    """Returns the tokens of the documents that a worker should read, without those that may fit."""
    read = (reference for reference in choice.chosen if not reference["reason"].startswith(MAY_FIT))
    return sum(sizes.estimate(reference["size"]) for reference in read)


def _place(chosen: Chosen) -> str:
    return f"{chosen['path']}:{chosen['lines']}" if "lines" in chosen else chosen["path"]


COMMANDS = (
    Command(
        "context",
        context,
        "Choose the documents that a task's worker should read",
        Argument("task", "The task's id (default: SOW_TASK)", optional=True, completes="tasks"),
        Option("--budget", "TOKENS", "The most to read, such as 8k (default: context.budget)"),
        Option("--dry-run", help="Show the choice without recording it"),
        json=True,
        details="sow compares the task's text with sinks, knowledge, decision records, linked repositories and\n"
        "outputs of earlier tasks. References from 'sow task create --reference' stay.\n"
        "sow does this itself before the first turn of a task. Run it again to choose anew.",
    ),
    Command(
        "context describe",
        "knowledge.describe_documents:describe",
        "Let an agent write into documents when to read them",
        Argument("path", "The documents (default: all Markdown documents)", optional=True, repeat=True),
        Option("--executor", "NAME", "Use this executor (default: that of researcher)", completes="executors"),
        json=True,
        details="The documents are those in .sow/knowledge and in the folders that .sow/config.yaml names. The agent's "
        "words go into their front matter as when_to_use, where 'sow context' finds them. Documents that have "
        "it stay as they are. Look at the changes with 'git diff' before you commit them.",
    ),
)
