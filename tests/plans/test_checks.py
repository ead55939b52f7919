"""Checks of a plan as a whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.plan_text import found, plan_of
from sow.domain.plans import graph
from sow.domain.plans.plan import MAX_FINDINGS, MAX_TASKS, Plan
from sow.plans.reader import MAX_LINES

AGENTS = ["implementer", "reviewer", "dev"]


def plan_with(tasks: dict[str, str], agents: list[str] | None = None, head: str = "") -> Plan:
    """Returns a plan of these tasks, each with its lines."""
    parts = [f"## Task {number}: T\n{lines}\n\nx\n" for number, lines in tasks.items()]
    return plan_of(head + "\n".join(parts), agents=agents or ())


def test_all_errors_are_found_in_one_pass():
    """Every kind of error is found at once, each with its line and a hint."""
    text = (
        "## Task 1:\n\nx\n\n## Task 2: b\n**Agent**: dev\n\n## Task 3: c\n**Depends on**: 3, 9\n\nx\n\n"
        "## Task 3: d\n\nx\n\n## Task 0: e\n\nx\n\n## Task 4: f\n**Type**: integration\n\nx\n\n"
        "## Task 5: g\n**Depends on**: 6\n\nx\n\n## Task 6: h\n**Depends on**: 5\n\nx\n"
    )
    plan = plan_of(text)
    assert [(error.line, error.message) for error in plan.errors] == [
        (1, "task 1 has no name"),
        (5, "task 2 has no description"),
        (9, "task 3 depends on itself"),
        (9, "task 3 depends on task 9, which does not exist"),
        (13, "task 3 is there twice: also in line 8"),
        (17, "task 0: a number must be above 0"),
        (22, "task 4 integrates, but depends on nothing"),
        (27, "a cycle of dependencies: 5 → 6 → 5"),
    ]
    assert all(error.hint for error in plan.errors)


@pytest.mark.parametrize("number", ["0", "00", "0.0", "000.000"])
def test_a_number_is_above_zero(number: str):
    """Zero in any spelling is no number of a task."""
    plan = plan_of(f"tasks: [{{id: '{number}', name: n, prompt: x}}]", name="p.yaml")
    assert "a number must be above 0" in found(plan, error=True)[0]


def test_an_unknown_dependency_has_a_suggestion():
    """The error has the nearest name, or else the first tasks."""
    plan = plan_with({"setup": "", "1": "**Depends on**: setpu, 7"})
    assert [error.hint for error in plan.errors] == ["did you mean setup?", "the tasks are: setup, 1"]
    many = plan_with({str(n): "**Depends on**: 99" if n == 1 else "" for n in range(1, 20)})
    assert many.errors[0].hint == "the tasks are: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …"


def test_the_number_of_suggestions_is_limited():
    """In a plan with thousands of unknown names only the first get a suggestion."""
    plan = plan_with({"setup": "", "1": "**Depends on**: " + ", ".join(f"setup{n}" for n in range(100))})
    hints = [error.hint for error in plan.errors]
    assert hints.count("did you mean setup?") == 20


def test_an_integration_task_needs_dependencies():
    """An integration task without dependencies is an error at its type."""
    plan = plan_with({"1": "", "2": "**Type**: integration"})
    assert found(plan, error=True) == [
        "plan.md:7: task 2 integrates, but depends on nothing (name the tasks that it integrates)"
    ]
    assert plan_with({"1": "", "2": "**Type**: integration\n**Depends on**: 1"}).findings == []


def test_an_unknown_type_is_regular():
    """An unknown type is a warning, and read as regular."""
    plan = plan_with({"1": "**Type**: rare"})
    assert plan.tasks[0].type == "regular"
    assert found(plan, error=False) == [
        "plan.md:2: task 1: the type 'rare' is read as regular (a type is one of: regular, component, integration)"
    ]


def test_a_worktree_group_must_exist():
    """If the plan defines its groups, another one is an error with the nearest; without definitions any name works."""
    head = "---\nworktree_groups: [backend, frontend]\n---\n"
    expected = {"1": "bakend", "2": "x", "3": "backend"}
    plan = plan_with({number: f"**Worktree group**: {group}" for number, group in expected.items()}, head=head)
    assert found(plan, error=False) == [
        "plan.md:5: task 1: there is no worktree group 'bakend' (did you mean backend?)",
        "plan.md:10: task 2: there is no worktree group 'x' (the groups are: backend, frontend)",
    ]
    assert plan_with({"1": "**Worktree group**: x"}).findings == []


def test_tasks_of_a_group_run_in_sequence():
    """A group runs in the plan's order, unless it is described as parallel; stated dependencies stay."""
    head = "---\nworktree_groups: [api, {group_id: web, execution_model: Parallel}]\n---\n"
    groups = {"1": "api", "2": "web", "3": "api", "4": "web", "5": "api"}
    plan = plan_with({number: f"**Worktree group**: {group}" for number, group in groups.items()}, head=head)
    assert plan.needs() == {"1": [], "2": [], "3": ["1"], "4": [], "5": ["3"]}
    assert [task.document()["waits_for_group_of"] for task in plan.tasks] == [[], [], ["1"], [], ["3"]]
    assert [task.document()["waits_for_files_of"] for task in plan.tasks] == [[]] * 5
    assert [task.depends_on for task in plan.tasks] == [[]] * 5
    assert plan.findings == []


def test_a_group_follows_the_dependencies():
    """Stated dependencies go first: a group never makes a circle, and repeats no dependency."""
    fields = {"1": "**Depends on**: 2", "2": "", "3": "**Depends on**: 1\n**Files**: a.py", "4": "**Files**: a.py"}
    plan = plan_with({number: f"**Worktree group**: api\n{text}" for number, text in fields.items()})
    assert plan.needs() == {"1": ["2", "4"], "2": [], "3": ["1", "4"], "4": ["2"]}
    assert (plan.tasks[2].implied_dependencies, plan.tasks[2].group_dependencies) == (["4"], [])


def test_an_unknown_agent_is_a_warning():
    """The nearest agent is named, the default agent does the task, and without a list of agents there is no check."""
    tasks = {"1": "**Agent**: implementor", "2": "**Agent**: zzz", "3": "**Agent**: dev", "4": ""}
    plan = plan_with(tasks, AGENTS)
    assert found(plan, error=False) == [
        "plan.md:2: task 1: there is no role 'implementor'; the default role is used (did you mean implementer?)",
        "plan.md:7: task 2: there is no role 'zzz'; the default role is used (see 'sow agent list')",
    ]
    assert [task.agent for task in plan.tasks] == ["", "", "dev", ""]
    assert [task.agent for task in plan_with(tasks).tasks] == ["implementor", "zzz", "dev", ""]


def test_an_unknown_default_agent_is_reported_once():
    """The default agent is checked at its own line, and not for each task."""
    plan = plan_with({"1": "", "2": ""}, AGENTS, head="---\nsow:\n  default_agent: deev\n---\n")
    assert found(plan, error=False) == [
        "plan.md:3: default_agent: there is no role 'deev'; the usual one is used (did you mean dev?)"
    ]
    assert plan.default_agent == ""


def test_unknown_reviewers_are_reported():
    """The agents of quality control are checked, too."""
    head = (
        "---\nquality_control: {review_agent: reviwer, agents: {explicit_list: [reviewer, qc], blocked: [dev]}}\n---\n"
    )
    assert [warning.message for warning in plan_with({"1": ""}, AGENTS, head=head).warnings] == [
        "quality_control: there is no role 'reviwer'",
        "quality_control: there is no role 'qc'",
    ]


def test_a_cycle_is_printed_as_a_path():
    """Each cycle is one error, printed from its first task back to it, the shortest way."""
    needs = {"1": "None", "2": "1, 5", "5": "2", "6": "5, 7", "7": "6"}
    plan = plan_with({number: f"**Depends on**: {text}" for number, text in needs.items()})
    assert [error.message for error in plan.errors] == [
        "a cycle of dependencies: 2 → 5 → 2",
        "a cycle of dependencies: 6 → 7 → 6",
    ]


def test_a_long_cycle_is_shortened():
    """A circle of hundreds of tasks is shown by its ends."""
    plan = plan_with({str(n): f"**Depends on**: {n % 300 + 1}" for n in range(1, 301)})
    (error,) = plan.errors
    assert error.message.startswith("a cycle of dependencies: 1 → 2 → 3 → ")
    assert " → … → " in error.message
    assert error.message.endswith(" → 299 → 300 → 1")
    assert len(error.message) < 200


def test_two_tasks_with_one_file_are_ordered():
    """The later of two tasks of one wave waits, with a warning; stated dependencies stay."""
    plan = plan_with({"1": "**Files**: a.py", "2": "**Files**: ./a.py, b.py", "3": "**Files**: b.py"})
    assert plan.needs() == {"1": [], "2": ["1"], "3": ["2"]}
    assert [task.depends_on for task in plan.tasks] == [[], [], []]
    assert found(plan, error=False) == [
        "plan.md:7: tasks 1 and 2 both write a.py: 2 waits for 1",
        "plan.md:12: tasks 2 and 3 both write b.py: 3 waits for 2",
    ]


def test_ordered_tasks_need_no_other_order():
    """Tasks that the plan orders, directly or not, get no further dependency."""
    plan = plan_with({"1": "**Files**: a.py", "2": "**Depends on**: 1", "3": "**Depends on**: 2\n**Files**: a.py"})
    assert plan.tasks[2].implied_dependencies == []
    assert plan.findings == []


def test_tasks_of_two_waves_are_ordered_silently():
    """Tasks of two waves that could run in parallel are ordered as the waves are."""
    plan = plan_with({"3": "", "2": "**Depends on**: 3\n**Files**: a.py", "1": "**Files**: a.py"})
    assert plan.needs() == {"3": [], "2": ["3", "1"], "1": []}
    assert plan.findings == []


def test_a_plan_with_errors_is_not_ordered():
    """A plan with an error gets no derived order."""
    plan = plan_with({"1": "**Files**: a.py", "2": "**Files**: a.py\n**Depends on**: 7"})
    assert plan.tasks[1].implied_dependencies == []


TASKS = st.lists(
    st.tuples(st.sets(st.integers(0, 20)), st.sets(st.sampled_from("abcd"), max_size=2)), min_size=1, max_size=12
)


@given(TASKS, st.permutations(range(12)))
def test_the_order_of_files_never_makes_a_cycle(tasks: list[tuple[set[int], set[str]]], places: list[int]):
    """For any shared files all tasks have a wave, and no two with one file are in the same."""
    lines = {}
    for number, (before, files) in sorted(enumerate(tasks, 1), key=lambda each: places[each[0] - 1]):
        needed = ", ".join(str(item) for item in before if 0 < item < number)
        lines[str(number)] = f"**Depends on**: {needed or 'None'}\n**Files**: {', '.join(sorted(files)) or 'None'}"
    plan = plan_with(lines)
    waves = graph.waves(plan.needs())
    assert sum(map(len, waves)) == len(tasks)
    for wave in waves:
        written = [file for task in plan.tasks if task.id in wave for file in task.files]
        assert len(written) == len(set(written))


def test_the_number_of_findings_is_limited():
    """Of thousands of errors and warnings the first are kept, and the rest is counted."""
    text = (
        "## Task 1: a\n**Depends on**: "
        + ", ".join(str(n) for n in range(2, 5002))
        + "\n"
        + "**Agnet**: x\n" * 3000
        + "\nx\n"
    )
    plan = plan_of(text)
    assert (len(plan.errors), len(plan.warnings)) == (MAX_FINDINGS + 1, MAX_FINDINGS + 1)
    assert found(plan, error=True)[-1] == "plan.md: there are 4,000 more errors (fix these first)"
    assert found(plan, error=False)[-1] == "plan.md: there are 2,000 more warnings (fix these first)"


@pytest.mark.parametrize("name", ["plan.md", "plan.yaml"])
def test_a_plan_that_is_too_long_is_refused(name: str):
    """More lines than the limit are one error, and nothing is read."""
    plan = plan_of("\n" * (MAX_LINES + 1), name=name)
    assert found(plan, error=True) == [f"{name}: the plan has more than 400,000 lines (split it into several plans)"]


@pytest.mark.full
def test_a_plan_with_too_many_tasks_is_refused():
    """More tasks than the limit, in one file or in several, are one error."""
    heading = "## Task 1: a\n" * (MAX_TASKS + 1)
    assert [error.message for error in plan_of(heading).errors] == ["the file has more than 20,000 sections"]
    half = "".join(f"## Task {n}: a\nx\n" for n in range(1, MAX_TASKS // 2 + 2))
    assert plan_of(half, half).errors[-1].message == "the plan has more than 20,000 tasks"
