"""Checks a workflow's design before any agent works: names, verifiers, order, files and instructions."""

from __future__ import annotations

from sow.domain import crew_files, crew_instructions, crew_order, crew_prose, crew_roster
from sow.domain.crew_plan import Complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sow.domain.crew_plan import WorkflowPlan

MAX_COMPLAINTS = 1000


def findings(
    plan: WorkflowPlan,
    instructions: Mapping[str, str | None],
    known_agents: Collection[str],
    *,
    existing: Collection[str] | None = None,
) -> list[Complaint]:
    """Return all complaints, those of the reader first. `existing` are the inputs that the repository has, if known."""
    complaints = list(plan.complaints)
    if plan.members:
        complaints += crew_roster.check(plan, known_agents)
        complaints += crew_order.check(plan)
        complaints += crew_files.check(plan, existing)
        complaints += crew_instructions.check(plan, instructions)
        complaints += crew_prose.check(plan)
    return _sorted(plan, complaints)


def _sorted(plan: WorkflowPlan, complaints: list[Complaint]) -> list[Complaint]:
    """Sort by file and line, the plan first. Complaints over the limit are only counted."""
    complaints.sort(key=lambda complaint: (complaint.file != plan.file, complaint.file, complaint.line))
    more = len(complaints) - MAX_COMPLAINTS
    if more <= 0:
        return complaints
    message = f"there are {more:,} more complaints"
    return [*complaints[:MAX_COMPLAINTS], Complaint(plan.file, 0, "too-many", message, "mend these first")]
