"""Adds, resolves and escalates notes, under the same lock as their task."""

from __future__ import annotations

from sow.domain import ids
from sow.domain import note as rules
from sow.domain import task as rules_of_task
from sow.domain.ids import is_member
from sow.domain.task import ENDED_STATUSES
from sow.errors import SowError
from sow.store.files.repair import load_as
from sow.store.projects import notes
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.documents.state import Note, Task
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.workflows.folder import AgentFolder


def require_own(actor: Actor, task: str) -> None:
    """Refuses a worker that writes notes for another task or agent."""
    if actor.is_worker and actor.task != task:
        labels = [f"{'agent' if is_member(ident) else 'task'} {ident}" for ident in (actor.task, task)]
        raise SowError(f"a worker on {labels[0]} may not write notes of {labels[1]}", "write notes in your own folder")


def _refuse_ended(task: Task) -> None:
    """Refuses a note on an ended task, because it blocks nothing and its question would never be answered."""
    if task["status"] in ENDED_STATUSES:
        raise SowError(
            f"task {task['id']} is {task['status']}: it takes no more notes", "create a new task for what is left"
        )


def add(home: Home, task: str, *, description: str, context: str, category: str, actor: Actor) -> Note:
    """Adds an assumption as an open note, which blocks `done` until it is resolved."""
    require_own(actor, task)
    fields = {"description": description, "context": context, "category": category}
    if is_member(task):
        from sow.store.workflows import member_notes

        return member_notes.add(home, task, **fields)
    with home.lock():
        project = projects.load(home)
        folder = task_folders.find(home, project, task)
        notes.reconcile_task_notes(folder, actor)
        current_task = load_as(folder, project["project_id"], actor)[0]["task"]
        _refuse_ended(current_task)
        epoch = clock.epoch()
        session = notes.load(folder) or notes.new_session(ids.note_session_id(current_task["name"], epoch), epoch)
        return notes.add(folder, session, project["project_id"], **fields, epoch=epoch)


def resolve(home: Home, task: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Closes a note with a decision. If a task is not paused, its question ends with its last escalated note."""
    require_own(actor, task)
    if is_member(task):
        from sow.store.workflows import member_notes

        return member_notes.resolve(home, task, number, resolution=resolution, actor=actor)
    with home.lock():
        project = projects.load(home)
        folder = task_folders.find(home, project, task)
        notes.reconcile_task_notes(folder, actor)
        changed_note = rules.resolve(notes.find(folder, number), resolution, actor=actor, epoch=clock.epoch())
        notes.replace(folder, [changed_note], project["project_id"])
        task_state, _ = load_as(folder, project["project_id"], actor)
        has_escalated = any(note["status"] == "escalated" for note in notes.load_notes(folder))
        if "question" in task_state["task"] and task_state["task"]["status"] != "paused" and not has_escalated:
            settled_task = rules_of_task.answer_question(task_state["task"], resolution, actor=actor, now=clock.now())
            folder.save(task_state, settled_task, project["project_id"])
    return changed_note


def escalate(home: Home, task: str, number: str, *, reason: str, actor: Actor) -> Note:
    """Turns a note into a question to the user, which gets a number in the inbox."""
    require_own(actor, task)
    if is_member(task):
        from sow.store.workflows import member_notes

        return member_notes.escalate(home, task, number, reason=reason)
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        folder = task_folders.find(home, project, task)
        notes.reconcile_task_notes(folder, actor)
        task_state, _ = load_as(folder, project["project_id"], actor)
        _refuse_ended(task_state["task"])
        changed_note = rules.escalate(notes.find(folder, number), reason)
        task_now = task_state["task"]
        question = task_now.get("question")
        question_number = question["number"] if question else projects.next_question(home, project, now)
        asking_task = rules_of_task.ask(task_now, changed_note["description"], number=question_number, now=now)
        folder.save(task_state, asking_task, project["project_id"])
        # The note is written last: while it is open, an interrupted call can be repeated.
        notes.replace(folder, [changed_note], project["project_id"])
    return changed_note


def load_notes(home: Home, task: str) -> tuple[TaskFolder | AgentFolder, list[Note]]:
    """Returns the folder of a task or agent, and its notes."""
    if is_member(task):
        from sow.store.workflows import member_notes

        return member_notes.listed(home, task)
    folder = task_folders.find(home, projects.load(home), task)
    return folder, notes.load_notes(folder)
