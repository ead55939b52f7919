"""Adds, resolves and escalates notes, under the same lock as their task or agent."""

from __future__ import annotations

from sow.domain import inputs
from sow.domain import task as task_rules
from sow.domain.inputs import is_member
from sow.errors import IllegalStatusChange, SowError
from sow.store.projects import notes
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskTransaction
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Note
    from sow.domain.task import Actor
    from sow.store.files.checkout_home import Home
    from sow.store.projects.notes import AnyFolder
    from sow.store.workflows.transaction import MemberNotes


class TaskNotes:
    """The notes of a task, opened under the lock. Its methods are the parts in which tasks and agents differ."""

    def __init__(self, home: Home, task: str, actor: Actor) -> None:
        self.opened = TaskTransaction(home, task, actor)
        self.folder = self.opened.folder

    def new_session_id(self, epoch: int) -> str:
        return inputs.note_session_id(self.opened.task["name"], epoch)

    def require_open(self) -> None:
        """Refuses a note on an ended task, because it blocks nothing and its question would never be answered."""
        task = self.opened.task
        if task["status"] in task_rules.ENDED_STATUSES:
            raise SowError(
                f"task {task['id']} is {task['status']}: it takes no more notes", "create a new task for what is left"
            )

    def ask(self, note: Note) -> None:
        """Gives the question a number in the inbox."""
        opened, now = self.opened, clock.now()
        question = opened.task.get("question")
        number = question["number"] if question else projects.next_question(self.folder.home, opened.project, now)
        opened.save(task_rules.ask(opened.task, note["description"], number=number, now=now))

    def finish(self, resolution: str, actor: Actor) -> None:
        """Ends the question of a task that is not paused with the resolution of its last escalated note."""
        task = self.opened.task
        has_escalated = any(note["status"] == "escalated" for note in notes.load_notes(self.folder))
        if resolution and "question" in task and task["status"] != "paused" and not has_escalated:
            self.opened.save(task_rules.answer_question(task, resolution, actor=actor, now=clock.now()))


def _open(home: Home, ident: str, actor: Actor) -> TaskNotes | MemberNotes:
    """Opens the notes of a task or an agent; the caller holds the lock. A worker may open only its own."""
    if actor.is_worker and actor.task != ident:
        own, other = (f"{'agent' if is_member(name) else 'task'} {name}" for name in (actor.task, ident))
        raise SowError(f"a worker on {own} may not write notes of {other}", "write notes in your own folder")
    if is_member(ident):
        from sow.store.workflows.transaction import MemberNotes

        return MemberNotes(home, ident)
    return TaskNotes(home, ident, actor)


def add(home: Home, ident: str, *, description: str, context: str, category: str, actor: Actor) -> Note:
    """Adds an assumption as an open note, which blocks `done` until it is resolved."""
    with home.lock():
        opened, epoch = _open(home, ident, actor), clock.epoch()
        opened.require_open()
        session = notes.load(opened.folder) or notes.new_session(opened.new_session_id(epoch), epoch)
        note = notes.add(
            opened.folder, session, description=description, context=context, category=category, epoch=epoch
        )
        opened.finish("", actor)
    return note


def resolve(home: Home, ident: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Closes a note with a decision. If a task is not paused, its question ends with its last escalated note."""
    with home.lock():
        opened = _open(home, ident, actor)
        note = notes.find(opened.folder, number)
        if is_member(ident) and note["status"] == "escalated" and not actor.is_worker:
            raise IllegalStatusChange(
                f"{note['note_id']} is escalated: its answer goes through the workflow architect first",
                "answer the questions in 'sow inbox', then continue: sow workflow run",
            )
        changed_note = task_rules.resolve_note(note, resolution, actor=actor, epoch=clock.epoch())
        notes.replace(opened.folder, [changed_note])
        opened.finish(resolution, actor)
    return changed_note


def escalate(home: Home, ident: str, number: str, *, reason: str, actor: Actor) -> Note:
    """Turns a note into a question: of a task to the user, of an agent to the workflow architect."""
    with home.lock():
        opened = _open(home, ident, actor)
        opened.require_open()
        changed_note = task_rules.escalate_note(notes.find(opened.folder, number), reason)
        opened.ask(changed_note)
        # The note is written last: while it is open, an interrupted call can be repeated.
        notes.replace(opened.folder, [changed_note])
        opened.finish("", actor)
    return changed_note


def load_notes(home: Home, ident: str) -> tuple[AnyFolder, list[Note]]:
    """Returns the folder of a task or agent, and its notes."""
    if is_member(ident):
        from sow.store.workflows.folder import WorkflowFolder, member_of

        workflow_state = WorkflowFolder(home).load()
        member_of(workflow_state["workflow"], ident)
        agent_folder = WorkflowFolder(home).agent_folder(ident, workflow_state)
        return agent_folder, notes.load_notes_or_backup(agent_folder)
    folder = task_folders.find(home, projects.load(home), ident)
    return folder, notes.load_notes(folder)
