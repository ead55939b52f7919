"""All that code can check of a workflow's design before anybody works: names, verifiers, order, files, instructions."""

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
    """Every complaint, those of the reader first; `existing` are the inputs that are in the repository, if known."""
    found = list(plan.complaints)
    if plan.members:
        found += crew_roster.check(plan, known_agents)
        found += crew_order.check(plan)
        found += crew_files.check(plan, existing)
        found += crew_instructions.check(plan, instructions)
        found += crew_prose.check(plan)
    return _sorted(plan, found)


def _sorted(plan: WorkflowPlan, found: list[Complaint]) -> list[Complaint]:
    """By file and line, the plan first; what is past the limit is counted."""
    found.sort(key=lambda each: (each.file != plan.file, each.file, each.line))
    more = len(found) - MAX_COMPLAINTS
    if more <= 0:
        return found
    what = f"there are {more:,} more complaints"
    return [*found[:MAX_COMPLAINTS], Complaint(plan.file, 0, "too-many", what, "mend these first")]
