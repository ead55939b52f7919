"""Plans of several files: equal numbers are distinguished, and references find their file."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from plans.plan_text import found
from sow.domain.plans.plan import Plan, PlanFinding, PlanSource
from sow.plans.reader import read

ONE = "## Task 1: One\n\nx\n\n## Task 2: Two\n\nx\n"


def task(number: str, depends_on: str = "None") -> str:
    return f"## Task {number}: T\n**Depends on**: {depends_on}\n\nx\n"


def plan_of_named(files: dict[str, str]) -> Plan:
    return read([PlanSource(name, text) for name, text in files.items()])


def needs(plan: Plan) -> dict[str, list[str]]:
    assert not plan.errors, found(plan, error=True)
    return {task.id: task.depends_on for task in plan.tasks}


def test_numbers_that_differ_stay_as_they_are():
    """Tasks of several files are one plan, and a number that only one of them has needs no file."""
    plan = plan_of_named(
        {"a.md": ONE, "b.md": task("3", "2"), "c.yaml": "tasks: [{id: 4, name: n, prompt: x, depends_on: 3}]"}
    )
    assert needs(plan) == {"1": [], "2": [], "3": ["2"], "4": ["3"]}


def test_the_same_number_is_told_apart_by_its_file():
    """A number that several files have gets the name of its file; within a file it is still that file's own."""
    plan = plan_of_named({"plans/setup.md": ONE, "plans/build.md": task("2", "1") + task("1")})
    assert needs(plan) == {"setup#1": [], "setup#2": [], "build#2": ["build#1"], "build#1": []}


def test_files_of_one_name_are_told_apart_by_their_paths():
    """Where two files have the same name, the id has the whole path."""
    plan = plan_of_named({"a/plan.md": task("1"), "b/plan.md": task("1"), "c.md": task("1")})
    assert [task.id for task in plan.tasks] == ["a/plan.md#1", "b/plan.md#1", "c#1"]


FORMS = [
    "file:setup.md:task:2",
    "file:setup.md/task:2",
    "setup.md:2",
    "setup#2",
    "Task 2 of setup.md",
    "file:./setup.md:task:2",
    "file:../plans/setup.md:task:2",
    "file:plans/setup.md:task:2",
]


@all_of("form", FORMS)
def test_a_reference_finds_its_file(form: str):
    """A file is named by its path from the file that names it, by an ending of its path, or by its name alone."""
    plan = plan_of_named({"plans/setup.md": ONE, "plans/build.md": task("2", form)})
    assert needs(plan)["build#2"] == ["setup#2"]


def test_a_file_beside_comes_before_one_elsewhere():
    """Of two files with the same name the one in the same folder is meant."""
    plan = plan_of_named(
        {"a/s.md": task("1"), "b/s.md": task("1"), "b/t.md": task("5", "s.md:1"), "a/t.md": task("6", "s.md:1")}
    )
    assert (needs(plan)["5"], needs(plan)["6"]) == (["b/s.md#1"], ["a/s.md#1"])


def test_yaml_and_markdown_name_each_other():
    """A reference crosses from one format to the other."""
    yaml = "tasks:\n  - {id: 2, name: n, prompt: x, depends_on: [{file: a.md, task: 1}]}\n"
    assert needs(plan_of_named({"a.md": task("1") + task("3", "b.yaml:2"), "b.yaml": yaml})) == {
        "1": [],
        "3": ["2"],
        "2": ["1"],
    }


def test_a_number_of_several_other_files_is_ambiguous():
    """A bare number that is in two other files and not in this one is an error that names both."""
    plan = plan_of_named({"a.md": task("1"), "b.md": task("1"), "c.md": task("2", "1")})
    assert found(plan, error=True) == ["c.md:2: task 2 depends on 1, which could be a#1, b#1 (write file:F:task:N)"]


def test_a_missing_file_is_an_error_that_says_which_to_add():
    """A reference to a file that was not given has a hint how to name it."""
    plan = plan_of_named({"plans/b.md": task("1", "setup.md:2")})
    assert found(plan, error=True) == [
        "plans/b.md:2: task 1 depends on task 2 of setup.md, which was not given"
        " (name that file too: sow plan show plans/b.md plans/setup.md)"
    ]


def test_a_missing_task_of_a_file_is_an_error_that_says_what_there_is():
    """The file is there and the task is not: its tasks are named."""
    plan = plan_of_named({"a.md": ONE, "b.md": task("3", "a.md:7")})
    assert found(plan, error=True) == [
        "b.md:2: task 3 depends on task 7 of a.md, which does not exist (the tasks are: 1, 2)"
    ]


def test_the_only_task_further_up_is_taken_for_one_of_a_missing_file():
    """A single earlier task of that number stands in for a file that was not given, with a warning."""
    plan = plan_of_named({"a.md": task("1") + task("2", "other.md:1")})
    assert needs(plan)["2"] == ["1"]
    assert "task 1 of a.md is taken for it" in found(plan, error=False)[0]


@pytest.mark.parametrize(
    "text", [task("1") + task("2", "1, other.md:1"), task("2", "other.md:3") + task("3"), task("1", "other.md:1")]
)
def test_nothing_is_taken_that_could_be_wrong(text: str):
    """A task that is named by itself, one further down, and the task itself do not stand in for another file's."""
    assert "which was not given" in found(plan_of_named({"a.md": text}), error=True)[0]


def test_a_cycle_across_files_is_found():
    """Files that wait for each other are a cycle, with the ids of both."""
    plan = plan_of_named({"a.md": task("1", "b.md:1"), "b.md": task("1", "a.md:1")})
    assert found(plan, error=True) == [
        "a.md:2: a cycle of dependencies: a#1 → b#1 → a#1 (remove one of these dependencies)"
    ]


def test_a_file_without_tasks_is_an_error_or_left_out():
    """A named file must have tasks; one that was met in a folder need not, as long as another one has."""
    sources = [PlanSource("d/a.md", ONE, in_folder=True), PlanSource("d/README.md", "# Read me\n", in_folder=True)]
    assert found(read(sources), error=False) == ["d/README.md: there are no tasks in this file (it is left out)"]
    assert not read(sources).errors
    assert found(read(sources[1:]), error=True) == ["d/README.md: there are no tasks (write one as: ## Task 1: name)"]
    assert read([PlanSource("a.md", ONE), PlanSource("b.md", "# x\n")]).errors[0].file == "b.md"
    assert found(read([]), error=True) == ["plan: there are no tasks (write one as: ## Task 1: name)"]


def test_findings_stand_in_the_order_of_files_and_lines():
    """Whatever found them, findings are sorted; those that were there before are among them."""
    before = PlanFinding("b.md", 1, "too large", hint="h", error=True)
    sources = [PlanSource("a.md", task("1", "7") + task("1")), PlanSource("b.md", task("2", "9"))]
    plan = read(sources, findings=[before])
    assert [(finding.file, finding.line) for finding in plan.findings] == [
        ("a.md", 2),
        ("a.md", 5),
        ("b.md", 1),
        ("b.md", 2),
    ]
    assert before in plan.errors


def test_the_plan_is_called_as_its_first_file():
    """The first name that a file has is the plan's, and the first file's own name where there is none."""
    assert plan_of_named({"a.md": ONE, "b.md": "# B\n" + task("3")}).name == "B"
    assert plan_of_named({"a.md": ONE, "b.md": task("3")}).name == "a"


def test_the_default_agent_of_a_file_is_that_files():
    """Each file's default agent does its tasks, and none of another file (C18)."""
    files = {
        "a.yaml": "default_agent: dev\ntasks: [{id: 1, name: n, prompt: x}]",
        "b.yaml": "default_agent: tester\ntasks: [{id: 2, name: n, prompt: x}, {id: 3, name: n, prompt: x, agent: y}]",
        "c.md": task("4"),
    }
    plan = plan_of_named(files)
    assert (plan.default_agent, plan.findings) == ("", [])
    assert {task.id: task.agent for task in plan.tasks} == {"1": "dev", "2": "tester", "3": "y", "4": ""}


def test_what_files_say_outside_their_tasks_is_kept_apart():
    """Each file's prose and each file's context is kept, in the order of the files."""
    files = {
        "a.md": "# A\n\nwords\n\n" + ONE,
        "b.yaml": "goal: x\ntasks: [{id: 3, name: n, prompt: x}]",
        "c.yaml": "goal: y\ntasks: [{id: 4, name: n, prompt: x}]",
    }
    plan = plan_of_named(files)
    assert plan.prose == ["# A\n\nwords"]
    assert plan.context == {"goal": "x", "goal (c.yaml)": "y"}
