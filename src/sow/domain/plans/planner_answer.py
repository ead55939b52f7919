"""Reads the final answer of a planner: a plan, or questions to the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sow.domain.text.markdown_text import sections

MOST_QUESTIONS = 3
MOST_TEXT = 400_000  # characters of a plan
MOST_QUESTION = 1000  # characters
OPEN_QUESTIONS = "open questions"
MARKS = " \t*_`"
FORM = """\
Your last message is your answer, in one of two forms. The first is the whole plan, between these two lines:
BEGIN PLAN {nonce}
END PLAN {nonce}

The second is for questions to the user, at most three, each on a line of its own. Ask only if the answer changes the
whole plan and is not in the repository; you are asked again with the answers:
QUESTION {nonce}: …

Put what is open but does not stop you into the plan: a section "## Open questions" before the first task, one bullet
for each. The nonce {nonce}, written exactly so, shows that the answer is yours."""


@dataclass(frozen=True)
class PlannerAnswer:
    """A plan or questions; `doubt` says why there is neither."""

    plan: str = ""
    questions: tuple[str, ...] = ()
    doubt: str = ""


def parse(text: str, nonce: str) -> PlannerAnswer:
    """Returns what the planner answered. The lines around a plan may be formatted."""
    lines = text.replace("\r\n", "\n").split("\n")
    bare = [line.strip(MARKS) for line in lines]
    begins = [index for index, line in enumerate(bare) if line == f"BEGIN PLAN {nonce}"]
    ends = [index for index, line in enumerate(bare) if line == f"END PLAN {nonce}"]
    if begins or ends:
        if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
            return PlannerAnswer(doubt="the lines BEGIN PLAN and END PLAN must be there once, in this order")
        plan = _without_fence(lines[begins[0] + 1 : ends[0]])
        if len(plan) > MOST_TEXT:
            return PlannerAnswer(doubt=f"the plan has more than {MOST_TEXT:,} characters")
        return PlannerAnswer(plan=plan) if plan.strip() else PlannerAnswer(doubt="the plan is empty")
    mark = f"QUESTION {nonce}:"
    questions = [line[len(mark) :].strip(MARKS)[:MOST_QUESTION] for line in bare if line.startswith(mark)]
    questions = [question for question in questions if question]
    if len(questions) > MOST_QUESTIONS:
        return PlannerAnswer(doubt=f"there are more than {MOST_QUESTIONS} questions")
    if not questions:
        return PlannerAnswer(doubt="there is no line BEGIN PLAN or QUESTION with the nonce")
    return PlannerAnswer(questions=tuple(questions))


def _without_fence(lines: Sequence[str]) -> str:
    """Returns the text of a plan, without a code fence around the whole."""
    text = "\n".join(lines).strip("\n")
    first, _, rest = text.partition("\n")
    mark = first[: len(first) - len(first.lstrip("`~"))]
    if len(mark) >= 3 and first[len(mark) :].strip() in ("", "markdown", "md") and rest.rstrip().endswith(f"\n{mark}"):
        text = rest.rstrip()[: -len(mark)].strip("\n")
    return f"{text}\n"


def with_settings(text: str, settings: Sequence[str]) -> str:
    """Returns a plan with lines of settings at the start of its frontmatter."""
    if not settings:
        return text
    has_frontmatter = text.startswith("---\n")
    return "\n".join(["---", *settings, text.removeprefix("---\n") if has_frontmatter else f"---\n{text}"])


def open_questions(text: str) -> list[str]:
    """Returns the open questions that a plan lists."""
    for section in sections(text):
        if section.title.strip(MARKS).rstrip(":").lower() == OPEN_QUESTIONS:
            bullets = [
                line.strip()[2:].strip() for line in section.text.split("\n") if line.strip()[:2] in ("- ", "* ")
            ]
            return [bullet for bullet in bullets if bullet]
    return []
