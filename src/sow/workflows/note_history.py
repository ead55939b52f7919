"""Reads from the history of escalated notes where each was sent and who answers it."""

from __future__ import annotations

from sow.domain import escalation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Escalation, Note
    from sow.workflows.member_job import MemberJob


def entry(job: MemberJob, note: str) -> Escalation | None:
    """Return the history's entry for a note of this agent."""
    return escalation.entry(job.deck.workflow()["escalations"], job.deck.member(job.id)["task_id"], note)


def way(job: MemberJob, note: str) -> str:
    """Return where the architect sent a note; empty if it did not yet."""
    escalated = entry(job, note)
    return escalated.get("route", "") if escalated is not None else ""


def source(job: MemberJob, note: str) -> str:
    """Return who answers a note, as the note will say it: a person, or the crew itself."""
    return "user" if way(job, note) in (escalation.USER, escalation.LOOP) else "workflow_executor"


def put(job: MemberJob, note: Note) -> str:
    """Return a note as the architect would ask it, else in the agent's own words."""
    escalated = entry(job, note["note_id"])
    return (escalated.get("question") if escalated is not None else "") or note["description"]
