"""The order of a crew: dependencies that exist and end, and groups that agree with them."""

from __future__ import annotations

from sow.domain import graph
from sow.domain.crew_plan import Complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.crew_plan import WorkflowPlan


def check(plan: WorkflowPlan) -> list[Complaint]:
    """All complaints about dependencies and groups."""
    return [*_dependencies(plan), *_cycles(plan), *_groups(plan), *_group_order(plan)]


def _dependencies(plan: WorkflowPlan) -> Iterator[Complaint]:
    known = {each.name for each in plan.members}
    for member in plan.members:
        line = member.line_of("dependencies")
        for name in dict.fromkeys(member.dependencies):
            if name == member.name:
                what = f"{member.name:.63} depends on itself"
                yield Complaint(plan.file, line, "dependency-self", what, "take it out of its dependencies:")
            elif name not in known:
                what = f"{member.name:.63} depends on {name:.63}, which is not in the plan"
                hint = (
                    "a verifier is no dependency: name the agent" if plan.checker(name) else "add it, or mend the name"
                )
                yield Complaint(plan.file, line, "dependency-unknown", what, hint)


def _cycles(plan: WorkflowPlan) -> Iterator[Complaint]:
    for circle in graph.cycles(plan.needs()):
        member = plan.member(circle[0])
        if member is not None and len(circle) > 2:
            what = f"the dependencies go round in a circle: {' → '.join(circle[:20])}"
            line = member.line_of("dependencies")
            yield Complaint(plan.file, line, "dependency-cycle", what, "take one of these dependencies out")


def _groups(plan: WorkflowPlan) -> Iterator[Complaint]:
    """Each agent is in exactly one group."""
    if not plan.groups_line:
        return
    known = {each.name for each in plan.members}
    seen: set[str] = set()
    for name in (name for group in plan.order for name in group):
        if name not in known:
            what = f"groups: {name:.63} is not among the agents"
            hint = "verifiers work by themselves and are in no group" if plan.checker(name) else "mend the name"
            yield Complaint(plan.file, plan.groups_line, "group-unknown", what, hint)
        elif name in seen:
            what = f"groups: {name:.63} is in two groups"
            yield Complaint(plan.file, plan.groups_line, "group-twice", what, "keep it in one of them")
        seen.add(name)
    for member in plan.members:
        if member.name not in seen and not plan.is_on_call(member):
            what = f"{member.name:.63} is in no group, so it would never start"
            yield Complaint(plan.file, plan.groups_line, "group-missing", what, "add it to groups:")


def _group_order(plan: WorkflowPlan) -> Iterator[Complaint]:
    """Nobody depends on somebody of its own group or of a later one."""
    if not plan.groups_line:
        return
    place: dict[str, int] = {}
    for at, group in enumerate(plan.order):
        for name in group:
            place.setdefault(name, at)
    for member in plan.members:
        for name in dict.fromkeys(member.dependencies):
            if name == member.name or name not in place or place.get(member.name, -1) > place[name]:
                continue
            if member.name in place:
                where = "the same group" if place[name] == place[member.name] else "a later group"
                what = f"{member.name:.63} depends on {name:.63}, which is in {where}"
                hint = f"put {name:.63} into a group before"
                yield Complaint(plan.file, plan.groups_line, "group-order", what, hint)
