"""Checks a workflow's design before any agent works: names, verifiers, order, files and instructions."""

from __future__ import annotations

from sow.domain.workflows import file_checks, instruction_checks, order_checks, prose_checks, roster_checks
from sow.domain.workflows.crew_plan import DesignProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sow.domain.workflows.crew_plan import WorkflowPlan

MAX_COMPLAINTS = 1000


def findings(
    plan: WorkflowPlan,
    instructions: Mapping[str, str | None],
    known_agents: Collection[str],
    *,
    existing: Collection[str] | None = None,
) -> list[DesignProblem]:
    """Return all complaints, those of the reader first. `existing` are the inputs that the repository has, if known."""
    complaints = list(plan.complaints)
    if plan.members:
        complaints += roster_checks.check(plan, known_agents)
        complaints += order_checks.check(plan)
        complaints += file_checks.check(plan, existing)
        complaints += instruction_checks.check(plan, instructions)
        complaints += prose_checks.check(plan)
    return _sorted(plan, complaints)


def _sorted(plan: WorkflowPlan, complaints: list[DesignProblem]) -> list[DesignProblem]:
    """Sort by file and line, the plan first. Complaints over the limit are only counted."""
    complaints.sort(key=lambda complaint: (complaint.file != plan.file, complaint.file, complaint.line))
    more = len(complaints) - MAX_COMPLAINTS
    if more <= 0:
        return complaints
    message = f"there are {more:,} more complaints"
    return [*complaints[:MAX_COMPLAINTS], DesignProblem(plan.file, 0, "too-many", message, "fix these first")]
