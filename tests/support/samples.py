"""Samples of tasks, phases, notes and actors."""

from __future__ import annotations

from typing import Any

from sow.domain.task import ORCHESTRATOR, PERSON, WORKER, Actor

BEFORE = "2026-01-30T08:00:00Z"
NOW = "2026-01-31T09:00:00Z"
LATER = "2026-02-01T10:00:00Z"

ADA = Actor(kind=PERSON, name="ada")
LEAD = Actor(kind=ORCHESTRATOR, name="orchestrator")
OWN_WORKER = Actor(kind=WORKER, name="implementer", task="010")
OTHER_WORKER = Actor(kind=WORKER, name="implementer", task="020")
ACTORS = {"person": ADA, "orchestrator": LEAD, "worker": OWN_WORKER, "other worker": OTHER_WORKER}


def task(ident: str = "010", status: str = "pending", **changes: Any) -> Any:
    """Returns a task as in its state file."""
    made: dict[str, Any] = {
        "id": ident,
        "name": f"Task {ident}",
        "status": status,
        "assigned_agent": "implementer",
        "iteration": 1,
        "priority": "medium",
        "depends_on": [],
        "criteria": [],
        "references": [],
        "questions": [],
        "created_at": BEFORE,
        "updated_at": NOW,
    }
    if status == "completed":
        made |= {"completed_at": NOW, "approval": {"by": "ada", "at": NOW, "iteration": 1}}
    if status == "abandoned":
        made |= {"abandoned_reason": "not needed"}
    return made | changes


def phase(name: str, status: str = "pending", **changes: Any) -> Any:
    """Returns a phase as in the project's file."""
    proposal = {"reason": "a race", "question": 1} if status == "proposed" else {}
    return {"name": name, "status": status, "created_at": BEFORE, **proposal, **changes}


def note(status: str = "open", **changes: Any) -> Any:
    """Returns a note as it is stored."""
    made: dict[str, Any] = {
        "note_id": "note_001",
        "timestamp": 1727540700,
        "description": "Assuming email is unique",
        "context": "creating the users table",
        "status": status,
    }
    if status == "resolved":
        made |= {"resolution": "it is", "resolved_by": "user", "resolution_timestamp": 1727541600}
    if status == "escalated":
        made |= {"escalation_reason": "a requirement"}
    return made | changes


PLAN_STATUSES = ("pending", "in_progress", "completed", "failed", "skipped")
