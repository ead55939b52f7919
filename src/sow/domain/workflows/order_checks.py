"""Checks the order of a crew: dependencies exist and have no cycle, and groups match them."""

from __future__ import annotations

from sow.domain.plans import graph
from sow.domain.workflows.crew_plan import DesignProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.workflows.crew_plan import WorkflowPlan


def check(plan: WorkflowPlan) -> list[DesignProblem]:
    """Return all complaints about dependencies and groups."""
    return [*_dependencies(plan), *_cycles(plan), *_groups(plan), *_group_order(plan)]


def _dependencies(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    names = {member.name for member in plan.members}
    for member in plan.members:
        line = member.line_of("dependencies")
        for name in dict.fromkeys(member.dependencies):
            if name == member.name:
                message = f"{member.name:.63} depends on itself"
                yield DesignProblem(plan.file, line, "dependency-self", message, "take it out of its dependencies:")
            elif name not in names:
                message = f"{member.name:.63} depends on {name:.63}, which is not in the plan"
                hint = (
                    "a verifier is no dependency: name the agent"
                    if plan.checker(name)
                    else "add it, or correct the name"
                )
                yield DesignProblem(plan.file, line, "dependency-unknown", message, hint)


def _cycles(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    for cycle in graph.cycles(plan.needs()):
        member = plan.member(cycle[0])
        if member is not None and len(cycle) > 2:
            message = f"the dependencies go round in a circle: {' → '.join(cycle[:20])}"
            line = member.line_of("dependencies")
            yield DesignProblem(plan.file, line, "dependency-cycle", message, "take one of these dependencies out")


def _groups(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    """Check that each agent is in exactly one group."""
    if not plan.groups_line:
        return
    names = {member.name for member in plan.members}
    seen: set[str] = set()
    for name in (name for group in plan.order for name in group):
        if name not in names:
            message = f"groups: {name:.63} is not among the agents"
            hint = "verifiers work by themselves and are in no group" if plan.checker(name) else "correct the name"
            yield DesignProblem(plan.file, plan.groups_line, "group-unknown", message, hint)
        elif name in seen:
            message = f"groups: {name:.63} is in two groups"
            yield DesignProblem(plan.file, plan.groups_line, "group-twice", message, "keep it in one of them")
        seen.add(name)
    for member in plan.members:
        if member.name not in seen and not plan.is_on_call(member):
            message = f"{member.name:.63} is in no group, so it would never start"
            yield DesignProblem(plan.file, plan.groups_line, "group-missing", message, "add it to groups:")


def _group_order(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    """Check that no agent depends on one of its own group or of a later one."""
    if not plan.groups_line:
        return
    positions: dict[str, int] = {}
    for position, group in enumerate(plan.order):
        for name in group:
            positions.setdefault(name, position)
    for member in plan.members:
        for name in dict.fromkeys(member.dependencies):
            if name == member.name or name not in positions or positions.get(member.name, -1) > positions[name]:
                continue
            if member.name in positions:
                location = "the same group" if positions[name] == positions[member.name] else "a later group"
                message = f"{member.name:.63} depends on {name:.63}, which is in {location}"
                hint = f"put {name:.63} into a group before"
                yield DesignProblem(plan.file, plan.groups_line, "group-order", message, hint)
