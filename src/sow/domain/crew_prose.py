"""The prose of a workflow's plan: how escalations go, and where work is validated."""

from __future__ import annotations

from sow.domain.crew_plan import Complaint
from sow.domain.sections import says_something, sections, titled
from sow.domain.wording import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.crew_plan import WorkflowPlan
    from sow.domain.sections import Section

ESCALATION = (("escalation",),)
VALIDATION = (("validation",), ("checkpoint",))
FAILURE = ("fail", "failed", "failure", "fails", "remediation", "recovery", "sent", "rework")
PEOPLE = ("user", "users", "person", "people", "human")


def check(plan: WorkflowPlan) -> list[Complaint]:
    """All complaints about the sections that the plan must have."""
    found = sections(plan.prose, plan.prose_line)
    escalation, validation = titled(found, ESCALATION), titled(found, VALIDATION)
    return [
        *_section(plan, escalation, "escalation", "say how blocked agents are handled, and when the user is asked"),
        *_section(plan, validation, "validation", "say what is checked at every handoff, and what happens on failure"),
        *_mentions(plan, escalation, "escalation-user", PEOPLE, "does not say when the user is asked"),
        *_mentions(plan, validation, "validation-failure", FAILURE, "does not say what happens when work fails"),
    ]


def _section(plan: WorkflowPlan, found: list[Section], name: str, hint: str) -> Iterator[Complaint]:
    rule = f"{name}-section"
    if not found:
        what = f"the plan has no section on {name}"
        yield Complaint(plan.file, plan.prose_line, rule, what, f"add a heading ## {name.title()} and {hint}")
    elif not any(says_something(each) for each in found):
        yield Complaint(plan.file, found[0].line, rule, f"the section {found[0].title!r:.80} says nothing", hint)


def _mentions(
    plan: WorkflowPlan, found: list[Section], rule: str, wanted: tuple[str, ...], lack: str
) -> Iterator[Complaint]:
    """A weak sign, so only a warning: one of these words is there."""
    said = {word for each in found for word in words(f"{each.title} {each.text}")}
    if found and any(says_something(each) for each in found) and not said.intersection(wanted):
        what = f"the section {found[0].title!r:.80} {lack}"
        yield Complaint(plan.file, found[0].line, rule, what, "add a sentence about it", error=False)
