"""The values of a dependency field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from plans.plan_text import found, plan_of
from sow.plans.values import MAX_RANGE, MAX_REFERENCES, dependencies

UNDERSTOOD = {
    "None": [], "none": [], "N/A": [], "—": [], "-": [], "[]": [], "": [], "No dependencies": [], "None (first)": [],
    "None - it is the first": [], "Nothing.": [],
    "1": ["1"], "01": ["1"], "Task 1": ["1"], "task 1": ["1"], "Task #1": ["1"], "#1": ["1"], "`1`": ["1"],
    "**Task 1**": ["1"], "Task 1.": ["1"], "2.5": ["2.5"], "integration-1": ["integration-1"],
    "Task 3 (models)": ["3"], "Task 3 (models, views)": ["3"], "Task 3(models)": ["3"], "Task 1: Set up": ["1"],
    "Task 1 - models": ["1"], "Task 1 — models": ["1"], "1 - models": ["1"],
    "Tasks 1, 2": ["1", "2"], "1,2": ["1", "2"], "1; 2": ["1", "2"], "1 and 2": ["1", "2"],
    "1, 2, and 3": ["1", "2", "3"],
    "Task 1 AND Task 2": ["1", "2"], "1 & 2 + 3": ["1", "2", "3"], "[1, 2]": ["1", "2"], '"1", "2"': ["1", "2"],
    "1-3": ["1", "2", "3"], "Tasks 1-3": ["1", "2", "3"], "1–3": ["1", "2", "3"], "1 - 3": ["1", "2", "3"],
    "Tasks 1 to 3": ["1", "2", "3"], "Tasks 1 through 3": ["1", "2", "3"], "Task 1 through Task 3": ["1", "2", "3"],
    "1-2, 5": ["1", "2", "5"], "7-7": ["7"], "2026-01-31": ["2026-01-31"], "5-3": ["5-3"], "1-9999999": ["1-9999999"],
    "setup.md:2": ["setup.md 2"], "setup.md: 2": ["setup.md 2"], "a/b.yaml:integration-1": ["a/b.yaml integration-1"],
    "setup#2": ["setup 2"], "Task 2 of setup.md": ["setup.md 2"], "2 in setup.md": ["setup.md 2"],
    "file:F/task:1": ["F 1"], "file:F:task:1": ["F 1"], "file:a/b.md/task:2.5": ["a/b.md 2.5"],
    "FILE:a b.md:task:1": ["a b.md 1"], "1, file:F:task:1, setup.md:2 and 3": ["1", "F 1", "setup.md 2", "3"],
}  # fmt: skip
STRANGE = {
    "the database": ["the database"],
    "1 or 2": ["1 or 2"],
    "Task 1 if there is time": ["Task 1 if there is time"],
    "setup:2": ["setup:2"],
    "file:F": ["file:F"],
    "file::task:1": ["file::task:1"],
    "Task 1 - models and views": ["views"],
    "1 - 3 of them": [],
    "1, ², 2": ["²"],
    "é": ["é"],
}
PLAN = "## Task 1: One\n\nx\n\n## Task 2: Two\n\nx\n\n## Task 3: Three\n**Depends on**: {}\n\nx\n"


@all_of("text", UNDERSTOOD)
def test_known_forms_are_understood(text: str):
    """Every form of a dependency names its tasks, and no word is left."""
    references, strange = dependencies(text, 7)
    assert [f"{reference.file} {reference.task}".strip() for reference in references] == UNDERSTOOD[text]
    assert strange == []
    assert {reference.line for reference in references} <= {7}


@all_of("text", STRANGE)
def test_unknown_words_are_returned(text: str):
    """Words that name no task are neither dropped nor guessed."""
    assert dependencies(text, 1)[1] == STRANGE[text]


def test_a_dependency_can_have_the_form_of_a_heading():
    """`TASK-10` is task 10, unless a task has this very id (C3)."""
    plan = plan_of("## TASK-10: a\n\nx\n\n## TASK-11: b\n**Depends**: TASK-010\n\nx\n")
    assert (plan.tasks[1].depends_on, plan.findings) == (["10"], [])
    tasks = "[{id: 10, name: a, prompt: x}, {id: task-10, name: b, prompt: x}, {id: 2, name: c, prompt: x, DEPENDS}]"
    plan = plan_of(f"tasks: {tasks.replace('DEPENDS', 'depends_on: [task-10]')}", name="plan.yaml")
    assert (plan.tasks[2].depends_on, plan.findings) == (["task-10"], [])


def test_unknown_words_are_a_warning():
    """The plan is read, and the words are named with their line."""
    plan = plan_of(PLAN.format("Task 1 and the big refactoring"))
    assert plan.tasks[2].depends_on == ["1"]
    assert found(plan, error=False) == [
        "plan.md:10: task 3: the dependency 'the big refactoring' is not understood (write: Task 1, Task 2, or None)"
    ]


def test_a_repeated_dependency_counts_once():
    """The same task in several spellings is one dependency."""
    assert plan_of(PLAN.format("1, Task 1, 01, 1-2")).tasks[2].depends_on == ["1", "2"]


@pytest.mark.parametrize(
    "text", ["9" * 2_000_000, "1-" + "9" * 2_000_000, "9" * 5000 + "-" + "9" * 5000, "1-1-1-1", "-", "--"]
)
def test_very_long_numbers_name_no_task(text: str):
    """Digits that no int() accepts name no task, in a short message."""
    plan = plan_of(PLAN.format(text))
    assert all(len(item) < 300 for item in found(plan, error=True) + found(plan, error=False))


def test_ranges_are_limited():
    """A text that names millions of tasks stops at the limit."""
    references, _ = dependencies(f"1-{MAX_RANGE}, " * 1000, 1)
    assert len(references) <= MAX_REFERENCES + MAX_RANGE
    plan = plan_of(PLAN.format(f"1-{MAX_RANGE}, " * 1000))
    assert "more than 200,000 dependencies" in "".join(found(plan, error=True))


@given(st.text(st.sampled_from("Task 12,;&-–()#:./file and`*[]é²\n")))
def test_any_text_is_read(text: str):
    """Any text is understood, unknown, or empty."""
    references, strange = dependencies(text, 1)
    assert all(reference.task for reference in references)
    assert all(strange)
