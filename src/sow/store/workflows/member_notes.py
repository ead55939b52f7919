"""Adds, resolves and escalates notes of a workflow's agent, and updates the view that counts them."""

from __future__ import annotations

from sow.domain import note as rules
from sow.domain.actor import Actor
from sow.domain.documents.state import Note
from sow.domain.workflows.lifecycle import NOTE_STATUSES
from sow.errors import IllegalStatusChange, SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import notes
from sow.store.workflows.folder import AgentFolder, WorkflowFolder, member_of
from sow.store.workflows.transaction import WorkflowLock, WorkflowTransaction
from sow.system import clock


def add(home: Home, name: str, *, description: str, context: str, category: str) -> Note:
    """Adds an assumption of a working agent as an open note, which blocks `done` until it is resolved."""
    with WorkflowLock(home) as transaction:
        folder, epoch = _writable_folder(transaction, name), clock.epoch()
        session = notes.load(folder) or notes.new_session(transaction.member(name)["task_id"], epoch)
        fields = {"description": description, "context": context, "category": category}
        new_note = notes.add(folder, session, folder.owner, **fields, epoch=epoch)
        transaction.folder.write_view(transaction.loaded)
    return new_note


def resolve(home: Home, name: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Closes a note that its agent may decide; a person may close any open note."""
    with WorkflowLock(home) as transaction:
        folder = _writable_folder(transaction, name)
        old_note = notes.find(folder, number)
        if old_note["status"] == "escalated" and not actor.is_worker:
            raise IllegalStatusChange(
                f"{old_note['note_id']} is escalated: its answer goes through the workflow architect first",
                "answer what waits for you in 'sow inbox', then go on: sow workflow run",
            )
        changed_note = rules.resolve(old_note, resolution, actor=actor, epoch=clock.epoch())
        notes.replace(folder, [changed_note], folder.owner)
        transaction.folder.write_view(transaction.loaded)
    return changed_note


def escalate(home: Home, name: str, number: str, *, reason: str) -> Note:
    """Turns a note into a question, which goes to the workflow architect once the agent is blocked."""
    with WorkflowLock(home) as transaction:
        folder = _writable_folder(transaction, name)
        changed_note = rules.escalate(notes.find(folder, number), reason)
        notes.replace(folder, [changed_note], folder.owner)
        transaction.folder.write_view(transaction.loaded)
    return changed_note


def listed(home: Home, name: str) -> tuple[AgentFolder, list[Note]]:
    """Returns the agent's folder and its notes."""
    folder = WorkflowFolder(home)
    workflow_state = folder.load()
    member_of(workflow_state["workflow"], name)
    return folder.agent_folder(name, workflow_state), folder.notes(workflow_state)[name]


def _writable_folder(transaction: WorkflowTransaction, name: str) -> AgentFolder:
    """Returns the folder of an agent, and refuses one that has handed in its work, because its notes are final."""
    status = transaction.member(name)["status"]
    if status not in NOTE_STATUSES:
        raise SowError(f"agent {name} is {status}: its notes are not changed now", "they are while it is at work")
    return transaction.agent_folder(name)
