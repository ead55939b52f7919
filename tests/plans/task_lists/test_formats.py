"""A task list is recognised by name and text, and no plan of sow is mistaken for one."""

from __future__ import annotations

from support.paths import ROOT
from support.quick_cases import all_of

from plans.plan_text import FIXTURES
from plans.task_lists.lists import SPEC_KIT, TASK_MASTER, sample
from sow.plans.reader import format_of

KNOWN = {
    SPEC_KIT: "spec-kit",
    TASK_MASTER: "Task Master",
    "backlog/tasks/task-3 - Store-notes.md": "Backlog.md",
}


@all_of("name", KNOWN)
def test_a_sample_is_recognised(name: str):
    """By its content, also under another name if the content is clear."""
    assert format_of(name, sample(name)) == KNOWN[name]
    assert format_of(f"moved/copy.{name.rpartition('.')[2]}", sample(name)) == KNOWN[name]


def test_a_heading_about_tasks_is_no_task():
    """`### Task Dependencies` occurs in lists of spec-kit."""
    text = "# Tasks: x\n\n## Phase 1: y\n\n### Task Dependencies\n\n- [ ] T001 One\n"
    assert format_of("tasks.md", text) == "spec-kit"


def test_no_plan_of_sow_is_recognised_as_another_format():
    """All examples and fixtures stay plans."""
    plans = [path for folder in (FIXTURES, ROOT / "examples") for path in folder.rglob("*.[my]*") if path.is_file()]
    assert len(plans) > 20
    assert [str(path) for path in plans if format_of(path.name, path.read_text())] == []


@all_of(
    "name, text",
    [
        ("plan.md", "# Plan\n\n- [ ] T001 One\n"),
        ("tasks.md", "# Plan\n\n## Task 1: One\n\n- [ ] T001 a step\n"),
        ("tasks.md", "- [ ] write T001\n"),
        ("plan.md", "---\nid: plan-1\n---\n## Task 1: One\n"),
        ("tasks.yaml", "id: TASK-1\ntitle: x\n"),
    ],
)
def test_one_sign_alone_is_not_enough(name: str, text: str):
    """One sign alone is not enough."""
    assert format_of(name, text) == ""
