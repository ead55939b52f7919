"""What the history has of an agent's escalated notes: where each was sent, and who answers it."""

from __future__ import annotations

from sow.domain import escalation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Escalation, Note
    from sow.workflows.member_job import MemberJob


def entry(job: MemberJob, note: str) -> Escalation | None:
    """What the history has of a note of this agent."""
    return escalation.entry(job.deck.workflow()["escalations"], job.deck.member(job.id)["task_id"], note)


def way(job: MemberJob, note: str) -> str:
    """Where the architect sent a note; nothing before that."""
    known = entry(job, note)
    return known.get("route", "") if known is not None else ""


def source(job: MemberJob, note: str) -> str:
    """Who answers a note, as the note will say it: a person, or the crew itself."""
    return "user" if way(job, note) in (escalation.USER, escalation.LOOP) else "workflow_executor"


def put(job: MemberJob, note: Note) -> str:
    """A note as the architect would ask it, else in the agent's own words."""
    known = entry(job, note["note_id"])
    return (known.get("question") if known is not None else "") or note["description"]
