"""Checks the prose of a workflow's plan: its sections on escalation and validation."""

from __future__ import annotations

from sow.domain.text.sections import has_text, sections, with_title_words
from sow.domain.text.similar_text import words
from sow.domain.workflows.crew_plan import DesignProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.text.sections import Section
    from sow.domain.workflows.crew_plan import WorkflowPlan

ESCALATION = (("escalation",),)
VALIDATION = (("validation",), ("checkpoint",))
FAILURE = ("fail", "failed", "failure", "fails", "remediation", "recovery", "sent", "rework")
PEOPLE = ("user", "users", "person", "people", "human")


def check(plan: WorkflowPlan) -> list[DesignProblem]:
    """Return all complaints about the sections that the plan must have."""
    all_sections = sections(plan.prose, plan.prose_line)
    escalation, validation = with_title_words(all_sections, ESCALATION), with_title_words(all_sections, VALIDATION)
    return [
        *_section(plan, escalation, "escalation", "say how blocked agents are handled, and when the user is asked"),
        *_section(plan, validation, "validation", "say what is checked at every handoff, and what happens on failure"),
        *_mentions(plan, escalation, "escalation-user", PEOPLE, "does not say when the user is asked"),
        *_mentions(plan, validation, "validation-failure", FAILURE, "does not say what happens when work fails"),
    ]


def _section(plan: WorkflowPlan, matching: list[Section], name: str, hint: str) -> Iterator[DesignProblem]:
    rule = f"{name}-section"
    if not matching:
        message = f"the plan has no section on {name}"
        yield DesignProblem(plan.file, plan.prose_line, rule, message, f"add a heading ## {name.title()} and {hint}")
    elif not any(has_text(section) for section in matching):
        yield DesignProblem(
            plan.file, matching[0].line, rule, f"the section {matching[0].title!r:.80} says nothing", hint
        )


def _mentions(
    plan: WorkflowPlan, matching: list[Section], rule: str, expected: tuple[str, ...], lack: str
) -> Iterator[DesignProblem]:
    """Warn if none of the expected words is in the sections. This is a weak sign, so it is not an error."""
    section_words = {word for section in matching for word in words(f"{section.title} {section.text}")}
    if matching and any(has_text(section) for section in matching) and not section_words.intersection(expected):
        message = f"the section {matching[0].title!r:.80} {lack}"
        yield DesignProblem(plan.file, matching[0].line, rule, message, "add a sentence about it", error=False)
