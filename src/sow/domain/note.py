"""The lifecycle of a note: a worker's assumption that must be resolved before its work is done."""

from __future__ import annotations

from sow.domain import actor as actors
from sow.domain.ids import is_member
from sow.domain.lifecycle import Lifecycle
from sow.errors import IllegalStatusChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.actor import Actor
    from sow.domain.documents.state import Note

NOTE = Lifecycle(
    "note",
    start="open",
    moves={("open", "resolved"): "resolve", ("open", "escalated"): "escalate", ("escalated", "resolved"): "answer"},
)

# A worker lacks the authority to decide these matters and must escalate them.
AUTHORITY_CATEGORIES = ("technology", "architecture", "security", "requirements", "conflict")
SELF_CATEGORIES = ("consistency", "bug", "detail", "documentation")
CATEGORIES = AUTHORITY_CATEGORIES + SELF_CATEGORIES

RESOLVED_BY = {actors.WORKER: "agent_self", actors.ORCHESTRATOR: "workflow_executor", actors.PERSON: "user"}


def unresolved(notes: Iterable[Note]) -> list[str]:
    """Returns the ids of the notes that are not resolved."""
    return [note["note_id"] for note in notes if note["status"] != "resolved"]


def resolve(note: Note, resolution: str, *, actor: Actor, epoch: int) -> Note:
    """Returns the note with its resolution. A worker may resolve only matters that it can decide itself."""
    event = NOTE.move(note["note_id"], note["status"], "resolved")
    if actor.is_worker and event == "answer":
        raise IllegalStatusChange(
            f"{note['note_id']} is escalated: its own agent may not resolve it",
            f"{'set your status to blocked' if is_member(actor.task) else 'set the task to paused'} and end your turn",
        )
    if actor.is_worker and note.get("category") in AUTHORITY_CATEGORIES:
        raise IllegalStatusChange(
            f"{note['note_id']} is a matter of {note.get('category')}: its own agent may not resolve it",
            f'sow note escalate {int(note["note_id"][5:])} --reason "…"',
        )
    return {
        **note,
        "status": "resolved",
        "resolution": resolution,
        "resolved_by": RESOLVED_BY[actor.kind],
        "resolution_timestamp": epoch,
    }


def escalate(note: Note, reason: str) -> Note:
    """Returns the note as a question for somebody else."""
    NOTE.move(note["note_id"], note["status"], "escalated")
    return {**note, "status": "escalated", "escalation_reason": reason}


def is_allowed_change(before: Note, after: Note | None, actor: Actor) -> bool:
    """Returns whether this actor could have changed the note from `before` to `after`. Nobody may delete a note."""
    if after is None or before["description"] != after["description"]:
        return False
    try:
        if after["status"] == "resolved" != before["status"]:
            resolve(before, "", actor=actor, epoch=0)
        elif after["status"] == "escalated" != before["status"]:
            escalate(before, "")
    except IllegalStatusChange:
        return False
    return after["status"] != "open" or before == after


def is_answered(before: Note, after: Note | None, answer: str) -> bool:
    """Returns whether the only change to an escalated note is this answer, and another actor gave it."""
    if after is None or not answer or before["status"] != "escalated" or after["status"] != "resolved":
        return False
    resolution_fields = {key: after.get(key) for key in ("status", "resolution", "resolved_by", "resolution_timestamp")}
    return (
        {**before, **resolution_fields} == after
        and after.get("resolution") == answer
        and resolution_fields["resolved_by"] != "agent_self"
    )
