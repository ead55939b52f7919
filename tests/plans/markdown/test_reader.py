"""Headings, fences and texts of a plan in Markdown."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from plans.plan_text import found, plan_of, task_of
from sow.domain.plans.plan import PlanSource
from sow.plans.reader import read

HEADINGS = {
    "## Task 1: A name": ("1", "A name"),
    "## task 1: A name": ("1", "A name"),
    "## TASK 01: A name": ("1", "A name"),
    "##  Task  1 :  A name  ": ("1", "A name"),
    "##\tTask\t1: A name": ("1", "A name"),
    "   ## Task 1: A name": ("1", "A name"),
    "## Task 1: A name ##": ("1", "A name"),
    "## **Task 1: A name**": ("1", "A name"),
    "## Task 1: A name: with a colon": ("1", "A name: with a colon"),
    "## Task 1: `code` # 2": ("1", "`code` # 2"),
    "## Task 2.5: A name": ("2.5", "A name"),
    "## Task integration-1: A name": ("integration-1", "A name"),
    "## TASK-10: A name": ("10", "A name"),
    "## Task #1: A name": ("1", "A name"),
    "## Task 1 - A name": ("1", "A name"),
    "## Task 2.5 – A name: with a colon": ("2.5", "A name: with a colon"),
    "## Task 1. A name": ("1", "A name"),
    "## Task 1) A name": ("1", "A name"),
    "## 🚧 Task 14: A name": ("14", "A name"),
    "### Task 1: A name": ("1", "A name"),
    "#### task integration-1: A name": ("integration-1", "A name"),
    "# Task 1 — A name": ("1", "A name"),
    "## 1. A name": ("1", "A name"),
    "### 2) A name": ("2", "A name"),
    "## 3 - A name": ("3", "A name"),
}
PROSE = [
    "## Tasks 1-5: all",
    "## Task list",
    "## Overview",
    "## Taskmaster 1: a",
    "#hashtag",
    "####### Task 1: a",
    "## ",
]
NEARLY = [
    "### Task 1: a",
    "# Task 1: a",
    "#### task integration-1: a",
    "## Task 1",
    "## Task: a",
    "## Task 1-3: a",
    "## Task 1 (b): a",
    "## 1. a",
    "## Step 1: a",
]


@all_of("heading", HEADINGS)
def test_a_heading_begins_a_task(heading: str):
    """A heading of any level has the id and the name of a task (C3, D12)."""
    plan = plan_of(f"{heading}\n\nx\n")
    assert [(task.number, task.name, task.line, task.text) for task in plan.tasks] == [(*HEADINGS[heading], 1, "x")]
    assert plan.findings == []


@pytest.mark.parametrize("heading", PROSE)
def test_other_headings_are_text(heading: str):
    """Other headings cause no warning."""
    plan = plan_of(f"## Task 7: A\n\nx\n\n{heading}\n\ny\n\n## Task 8: B\n\nz\n")
    assert [task.number for task in plan.tasks] == ["7", "8"]
    assert plan.findings == []
    assert heading.strip() in plan.tasks[0].text + "".join(plan.prose)


@all_of("heading", NEARLY)
def test_a_near_task_heading_is_a_warning(heading: str):
    """A heading that may be meant as a task is kept as text, with a warning and its line."""
    plan = plan_of(f"## Task 7: A\n\nx\n\n{heading}\n\ny\n")
    assert [task.number for task in plan.tasks] == ["7"]
    assert [(finding.line, finding.error) for finding in plan.findings] == [(5, False)]
    assert heading in plan.tasks[0].text + "".join(plan.prose)


@pytest.mark.parametrize("name", ["plan.md", "plan", "plan.txt", "PLAN.MARKDOWN", "yaml", "plan.yaml.md", "a.yml/plan"])
def test_markdown_is_the_default_format(name: str):
    """A file's ending decides its format, and Markdown is the default."""
    assert [task.name for task in plan_of("## Task 1: a\n\nx\n", name=name).tasks] == ["a"]


@pytest.mark.parametrize("name", ["plan.yaml", "plan.yml", "PLAN.YAML", "a.md/plan.Yml"])
def test_yaml_by_its_ending(name: str):
    """.yaml and .yml, in any case, are YAML."""
    assert [task.name for task in plan_of("tasks: [{id: 1, name: a, prompt: x}]", name=name).tasks] == ["a"]


@pytest.mark.parametrize("text", ["", "\n\n", "words", "# Title\n\nwords\n", "## Tasks\n", "```\n## Task 1: a\n```\n"])
def test_a_file_without_tasks_is_an_error(text: str):
    """The error for an empty file, or one with only text, says how to write a task."""
    errors = found(plan_of(text), error=True)
    assert errors == ["plan.md: there are no tasks in this file (write one as: ## Task 1: name)"]


WITHOUT_NUMBERS = {
    "# P\n\n## Prepare\n\nx\n\n## Build\n\n### Part\n\ny\n": [(3, "## Task 1: Prepare"), (7, "## Task 2: Build")],
    "### Task One\n\nx\n\n### Task Two\n": [(1, "### Task 1: Task One"), (5, "### Task 2: Task Two")],
    "# P\n\n1. Do this\n2. Do that\n   - how\n": [(3, "## Task 1: Do this"), (4, "## Task 2: Do that")],
    "- a\n- b\n- c\n- d\n": [(1, "## Task 1: a"), (2, "## Task 2: b"), (3, "## Task 3: c")],
    "# P\n\n## Tasks\n\n- a\n": [(5, "## Task 1: a")],
    "## Step 1: do\n": [(1, "## Task 1: name")],  # one warning per line
    "# Title\n\nwords\n": [],
}


@all_of("text", WITHOUT_NUMBERS)
def test_the_error_names_lines_that_could_be_tasks(text: str):
    """The first headings or list items are named with their lines, and how to write each as a task (C4, D12)."""
    plan = plan_of(text)
    named = [
        (finding.line, finding.hint.removeprefix("write it as: ")) for finding in plan.findings if not finding.error
    ]
    assert named == WITHOUT_NUMBERS[text]
    assert found(plan, error=True) == ["plan.md: there are no tasks in this file (write one as: ## Task 1: name)"]


FORMS = {
    "### Task 2: b": "2",
    "### Task integration-2: b": "integration-2",
    "## Tsak 12: b": "12",
    "- Task 2: b": "2",
    "## Step 03: b": "3",
    "## 4. b": "4",
    "## Task 2:": "2",
    "## Task: b": "N",
}


@all_of("text", FORMS)
def test_the_hint_has_the_number_of_the_task(text: str):
    """The warning about such a heading shows how to write this task."""
    plan = plan_of(f"## Task 1: a\n\nx\n\n{text}\n\ny\n")
    assert f"write it as: ## Task {FORMS[text]}: name" in [finding.hint for finding in plan.findings]


PHASES = """\
# Shop

## Phase 1

### Task 1: Users

Store them.

#### Details

With a name.

### ✅ Task 2 - Login

Check the password.

## Phase 2

First read this.

### Task 3: Orders
**Depends on**: Task 1, 2

List them.
"""
CHECKLIST = """\
# To do

Before anything: read this.

- [x] Store users
- [ ] Login form
  **Depends on**: 1
  Two fields.

  And a button.
* [ ] Task 7: Orders

Afterwards: celebrate.

- no box
"""


def test_tasks_below_headings_of_phases():
    """Without a second-level task, tasks are the headings `Task N` of another level; higher headings end them."""
    plan = plan_of(PHASES)
    assert plan.findings == []
    assert plan.name == "Shop"
    assert [(task.number, task.name, task.status, task.depends_on) for task in plan.tasks] == [
        ("1", "Users", "pending", []),
        ("2", "Login", "completed", []),
        ("3", "Orders", "pending", ["1", "2"]),
    ]
    assert plan.tasks[0].text == "Store them.\n\n#### Details\n\nWith a name."
    assert plan.prose == ["# Shop\n\n## Phase 1\n\n## Phase 2\n\nFirst read this."]


def test_a_checklist_is_a_plan():
    """Without headings of tasks, each item with a box is a task with its indented text (D12)."""
    plan = plan_of(CHECKLIST)
    assert plan.findings == []
    assert [(task.number, task.name, task.status, task.depends_on, task.line) for task in plan.tasks] == [
        ("1", "Store users", "completed", [], 5),
        ("2", "Login form", "pending", ["1"], 6),
        ("7", "Orders", "pending", [], 11),
    ]
    assert plan.tasks[1].text == "  **Depends on**: 1\n  Two fields.\n\n  And a button."
    assert plan.prose == ["# To do\n\nBefore anything: read this.\n\nAfterwards: celebrate.\n\n- no box"]


def test_other_forms_are_text_if_tasks_have_headings():
    """In a plan with `## Task`, numbered headings and boxes are text."""
    plan = plan_of("## 1. Goals\n\n- [ ] x\n\n## Task 1: a\n\n- [ ] step\n\n### 2. more\n")
    assert [(task.number, task.text) for task in plan.tasks] == [("1", "- [ ] step\n\n### 2. more")]
    assert plan.findings == []


@pytest.mark.parametrize("text", ["# Notes\n\n## 1. Goals\n\nx\n", "# Notes\n\n- [ ] x\n"])
def test_in_a_folder_only_task_headings_count(text: str):
    """A README beside plans may have numbered headings or a checklist, and is left out."""
    plan = read([PlanSource("a.md", "## Task 1: a\n\nx\n", in_folder=True), PlanSource("b.md", text, in_folder=True)])
    assert [task.file for task in plan.tasks] == ["a.md"]
    assert "b.md: there are no tasks in this file (it is left out)" in found(plan, error=False)


def test_a_section_after_the_tasks_is_a_warning():
    """Text after the tasks is named with its line; if it has numbered headings, a run asks about it (C1)."""
    tasks = "# Shop\n\nOverview.\n\n## Task 1: a\n\nx\n\n"
    plan = plan_of(f"{tasks}## Milestone 2\n\n### 2.1 Do N\n\nDo it.\n\n## Notes\n\nBe kind.\n\n## End\n")
    hint = "put it below the heading of a task"
    assert found(plan, error=False) == [
        f"plan.md:9: '## Milestone 2' belongs to no task, and no agent reads it ({hint})",
        f"plan.md:15: '## Notes' belongs to no task, and no agent reads it ({hint})",
    ]
    assert [finding.kind for finding in plan.findings] == ["task", "note"]


def test_the_hint_keeps_the_level_of_the_tasks():
    """The hint for a near task heading has the level of the other tasks."""
    plan = plan_of("### Task 1: a\n\nx\n\n### Task 2\n\ny\n")
    assert [finding.hint for finding in plan.findings] == ["write it as: ### Task 2: name"]


def test_the_first_title_is_the_name():
    """The plan's name is its first first-level heading, or else its file."""
    assert plan_of("# One\n# Two\n## Task 1: a\nx\n# Three\n").name == "One"
    assert plan_of("## Task 1: a\nx\n", name="some/where/bread.md").name == "bread"
    assert plan_of("```\n# Code\n```\n## Task 1: a\nx\n# Late\n").name == "Late"


def test_the_text_runs_to_the_next_section():
    """A task has all lines up to the next second-level heading, with its labels."""
    plan = plan_of("# P\n\nbefore\n\n## Task 1: a\n**Agent**: dev\n\n### Sub\n\nx\n# Title\ny\n\n## Notes\n\nbehind\n")
    assert plan.tasks[0].text == "**Agent**: dev\n\n### Sub\n\nx\n# Title\ny"
    assert plan.prose == ["# P\n\nbefore\n\n## Notes\n\nbehind"]


@pytest.mark.parametrize("mark", ["```", "~~~", "````", "~~~~~", "   ```", "- ```", "\t~~~"])
def test_code_is_not_read(mark: str):
    """Labels and headings in any fence are code."""
    fence = mark.replace("- ", "  ")
    plan = plan_of(f"## Task 1: a\n\n{fence} md\n**Agent**: dev\n# Title\n{fence}\n\n**Status**: done\n")
    assert (plan.tasks[0].agent, plan.tasks[0].status, plan.name) == ("", "completed", "plan")


@pytest.mark.parametrize(
    "lines",
    [
        ["````", "```", "````"],
        ["~~~", "```", "~~~"],
        ["```", "~~~", "``` "],
        ["```", "```py", "```"],
        ["```", "``", "````"],
    ],
)
def test_a_fence_ends_with_its_own_mark(lines: list[str]):
    """A shorter, another or a labelled mark does not end a fence."""
    opening, inner, closing = lines
    plan = plan_of(f"## Task 1: a\n{opening}\n{inner}\n**Agent**: dev\n{closing}\n**Status**: done\n")
    assert (plan.tasks[0].agent, plan.tasks[0].status) == ("", "completed")


def test_inline_code_opens_no_fence():
    """Three backticks around a word are no fence."""
    assert task_of("```x``` is it\n**Agent**: dev").agent == "dev"


@pytest.mark.parametrize("opener", ["```", "~~~~ md", "<!-- more"])
def test_an_unclosed_fence_is_a_warning(opener: str):
    """An unclosed fence or comment hides the rest: the warning has the line where it begins."""
    plan = plan_of(f"## Task 1: a\n\nx\n\n{opener}\n**Agent**: dev\n")
    assert plan.tasks[0].agent == ""
    assert "plan.md:5: a code fence or comment begins here and never ends" in found(plan, error=False)[0]


def test_a_task_in_a_fence_is_a_warning():
    """A heading of a task in code is not read, and is named."""
    plan = plan_of("## Task 1: a\n```\n## Task 2: b\n```\n")
    assert [task.number for task in plan.tasks] == ["1"]
    assert found(plan, error=False) == ["plan.md:3: '## Task 2: b' is in a code fence and is read as text"]


def test_a_comment_is_not_read():
    """Text in a comment begins no task and has no field."""
    plan = plan_of("## Task 1: a\n<!--\n## Task 2: b\n**Agent**: dev\n-->\n<!-- **Agent**: dev -->\nx\n")
    assert [(task.number, task.agent) for task in plan.tasks] == [("1", "")]
    assert plan.findings == []


def test_a_ticked_step_completes_nothing():
    """Boxes in a task's text are not its status."""
    assert task_of("- [x] one\n- [X] two\n✅ three").status == "pending"


@pytest.mark.parametrize(
    "body",
    ["", "\n", "**Agent**: dev", "**Files**:\n- a.py\n\n---", "***\n___", "**Depends on**: 9 | **Status**: done"],
)
def test_a_task_needs_a_text(body: str):
    """A task with only fields is an error at its heading."""
    plan = plan_of(f"# P\n\n## Task 1: One\n{body}\n\n## Task 9: Nine\n\nx\n")
    assert found(plan, error=True) == [
        "plan.md:3: task 1 has no description (say below its heading what is to be done)"
    ]


@pytest.mark.parametrize("body", ["x", "**Success Criteria**: x", "```\nx\n```", "**Approach**: x", "- [ ] x", "### X"])
def test_many_forms_are_a_text(body: str):
    """Prose, criteria, code, steps and other labels all describe a task."""
    assert found(plan_of(f"## Task 1: One\n**Agent**: dev\n{body}\n"), error=True) == []
