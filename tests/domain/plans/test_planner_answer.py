"""The parts of a planner's answer."""

from __future__ import annotations

from support.quick_cases import all_of

from sow.domain.plans import planner_answer
from sow.domain.plans.planner_answer import PlannerAnswer, open_questions, with_settings

NONCE = "0b9f3c52-7a63-4f0e-9a53-1d8f5c1f4a11"
BEGIN, END = f"BEGIN PLAN {NONCE}", f"END PLAN {NONCE}"
PLAN = "# Crane\n\n## Task 1: Lift\nLift it.\n"


@all_of(
    "text",
    [
        f"{BEGIN}\n{PLAN}{END}",
        f"Here it is:\r\n\r\n**{BEGIN}**\r\n{PLAN}`{END}`\r\nDone.",
        f"{BEGIN}\n```markdown\n{PLAN}```\n{END}",
        f"```\n{BEGIN}\n{PLAN}{END}\n```",
    ],
)
def test_a_plan_is_the_text_between_two_lines(text: str):
    assert planner_answer.parse(text, NONCE) == PlannerAnswer(plan=PLAN)


def test_a_fence_inside_a_plan_stays():
    plan = f"```yaml\na: 1\n```\n{PLAN}```bash\nmake test\n```\n"
    assert planner_answer.parse(f"{BEGIN}\n{plan}{END}", NONCE).plan == plan


def test_questions_are_on_lines_of_their_own():
    answer = planner_answer.parse(f"I must know:\n- QUESTION x: no\nQUESTION {NONCE}: Which colour?\n", NONCE)
    assert answer == PlannerAnswer(questions=("Which colour?",))


@all_of(
    ("text", "doubt"),
    [
        (PLAN, "there is no line BEGIN PLAN"),
        (f"BEGIN PLAN 1\n{PLAN}END PLAN 1", "there is no line BEGIN PLAN"),
        (f"{BEGIN}\n{PLAN}", "must be there once"),
        (f"{END}\n{PLAN}{BEGIN}", "must be there once"),
        (f"{BEGIN}\n{END}\n{BEGIN}\n{PLAN}{END}", "must be there once"),
        (f"{BEGIN}\n\n{END}", "the plan is empty"),
        (f"{BEGIN}\n{'x' * 400_001}\n{END}", "more than 400,000 characters"),
        (f"QUESTION {NONCE}:\n" * 2, "there is no line"),
        (f"QUESTION {NONCE}: a?\n" * 4, "more than 3 questions"),
    ],
)
def test_everything_else_is_doubtful(text: str, doubt: str):
    answer = planner_answer.parse(text, NONCE)
    assert doubt in answer.doubt
    assert not answer.plan and not answer.questions


def test_settings_come_first_in_the_frontmatter():
    assert with_settings(PLAN, []) == PLAN
    assert with_settings(PLAN, ["issues: [a]"]) == f"---\nissues: [a]\n---\n{PLAN}"
    assert with_settings(f"---\nb: 1\n---\n{PLAN}", ["issues: [a]"]) == f"---\nissues: [a]\nb: 1\n---\n{PLAN}"


def test_open_questions_are_the_bullets_of_their_section():
    text = "# Crane\n\n## Open questions\n\n- Which colour?\n* How high?\nText.\n\n## Task 1: Lift\n- no question\n"
    assert open_questions(text) == ["Which colour?", "How high?"]
    assert open_questions(PLAN) == []
