"""What is done to the notes of an agent in a workflow; the view that counts them is made right after."""

from __future__ import annotations

from sow.domain import note as rules
from sow.domain.workflow_agent import NOTED
from sow.errors import IllegalMove, SowError
from sow.store import notes
from sow.store.workflow import WorkflowFolder, member_of
from sow.store.workflow_opened import Opened
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.shapes import Note
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk


def add(home: Home, name: str, *, description: str, context: str, category: str) -> Note:
    """Write down an assumption of an agent that is at work; from here on it gates 'done'."""
    with home.lock():
        opened = Opened(home)
        desk, epoch = _noted(opened, name), clock.epoch()
        session = notes.load(desk) or notes.begin(opened.member(name)["task_id"], epoch)
        words = {"description": description, "context": context, "category": category}
        new = notes.add(desk, session, desk.owner, **words, epoch=epoch)
        opened.folder.write_view(opened.loaded)
    return new


def resolve(home: Home, name: str, number: str, *, resolution: str, actor: Actor) -> Note:
    """Close a note that is its agent's to decide, or any open one for a person."""
    with home.lock():
        opened = Opened(home)
        desk = _noted(opened, name)
        before = notes.find(desk, number)
        if before["status"] == "escalated" and not actor.is_worker:
            raise IllegalMove(
                f"{before['note_id']} is escalated: its answer goes through the workflow architect first",
                "answer what waits for you in 'sow inbox', then go on: sow workflow run",
            )
        changed = rules.resolve(before, resolution, actor=actor, epoch=clock.epoch())
        notes.replace(desk, [changed], desk.owner)
        opened.folder.write_view(opened.loaded)
    return changed


def escalate(home: Home, name: str, number: str, *, reason: str) -> Note:
    """Make a note a question, which goes to the workflow architect once the agent is blocked."""
    with home.lock():
        opened = Opened(home)
        desk = _noted(opened, name)
        changed = rules.escalate(notes.find(desk, number), reason)
        notes.replace(desk, [changed], desk.owner)
        opened.folder.write_view(opened.loaded)
    return changed


def listed(home: Home, name: str) -> tuple[MemberDesk, list[Note]]:
    """The notes on an agent's desk."""
    folder = WorkflowFolder(home)
    loaded = folder.load()
    member_of(loaded["workflow"], name)
    return folder.desk(name, loaded), folder.notes(loaded)[name]


def _noted(opened: Opened, name: str) -> MemberDesk:
    """The desk of an agent whose notes may change now: who has handed in its work says no more about it."""
    status = opened.member(name)["status"]
    if status not in NOTED:
        raise SowError(f"agent {name} is {status}: its notes are not changed now", "they are while it is at work")
    return opened.desk(name)
