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


def test_the_same_number_gets_the_name_of_its_file():
    """A number in several files gets the name of its file; within a file it is still that file's own."""
    plan = plan_of_named({"plans/setup.md": ONE, "plans/build.md": task("2", "1") + task("1")})
    assert needs(plan) == {"setup#1": [], "setup#2": [], "build#2": ["build#1"], "build#1": []}


def test_files_of_one_name_get_their_paths():
    """If two files have the same name, the id has the whole path."""
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
    """A file is named by its relative path, by an ending of its path, or by its name alone."""
    plan = plan_of_named({"plans/setup.md": ONE, "plans/build.md": task("2", form)})
    assert needs(plan)["build#2"] == ["setup#2"]


def test_a_file_in_the_same_folder_goes_first():
    """Of two files with the same name the one in the same folder is meant."""
    plan = plan_of_named(
        {"a/s.md": task("1"), "b/s.md": task("1"), "b/t.md": task("5", "s.md:1"), "a/t.md": task("6", "s.md:1")}
    )
    assert (needs(plan)["5"], needs(plan)["6"]) == (["b/s.md#1"], ["a/s.md#1"])


def test_yaml_and_markdown_can_refer_to_each_other():
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


def test_a_missing_file_has_a_hint():
    """A reference to a file that was not given has a hint to add it."""
    plan = plan_of_named({"plans/b.md": task("1", "setup.md:2")})
    assert found(plan, error=True) == [
        "plans/b.md:2: task 1 depends on task 2 of setup.md, which was not given"
        " (name that file too: sow plan show plans/b.md plans/setup.md)"
    ]


def test_a_missing_task_of_a_file_lists_the_others():
    """If the file has no such task, its tasks are named."""
    plan = plan_of_named({"a.md": ONE, "b.md": task("3", "a.md:7")})
    assert found(plan, error=True) == [
        "b.md:2: task 3 depends on task 7 of a.md, which does not exist (the tasks are: 1, 2)"
    ]


def test_the_only_earlier_task_replaces_one_of_a_missing_file():
    """A single earlier task of that number replaces one of a file that was not given, with a warning."""
    plan = plan_of_named({"a.md": task("1") + task("2", "other.md:1")})
    assert needs(plan)["2"] == ["1"]
    assert "task 1 of a.md is taken for it" in found(plan, error=False)[0]


@pytest.mark.parametrize(
    "text", [task("1") + task("2", "1, other.md:1"), task("2", "other.md:3") + task("3"), task("1", "other.md:1")]
)
def test_no_doubtful_task_replaces_another(text: str):
    """A task named by itself, a later one, and the task itself do not replace another file's."""
    assert "which was not given" in found(plan_of_named({"a.md": text}), error=True)[0]


def test_a_cycle_across_files_is_found():
    """Files that depend on each other are a cycle, with the ids of both."""
    plan = plan_of_named({"a.md": task("1", "b.md:1"), "b.md": task("1", "a.md:1")})
    assert found(plan, error=True) == [
        "a.md:2: a cycle of dependencies: a#1 → b#1 → a#1 (remove one of these dependencies)"
    ]


def test_a_file_without_tasks_is_an_error_or_left_out():
    """A named file must have tasks; one of a folder need not, if another one has."""
    sources = [PlanSource("d/a.md", ONE, in_folder=True), PlanSource("d/README.md", "# Read me\n", in_folder=True)]
    assert found(read(sources), error=False) == ["d/README.md: there are no tasks in this file (it is left out)"]
    assert not read(sources).errors
    assert found(read(sources[1:]), error=True) == ["d/README.md: there are no tasks (write one as: ## Task 1: name)"]
    assert read([PlanSource("a.md", ONE), PlanSource("b.md", "# x\n")]).errors[0].file == "b.md"
    assert found(read([]), error=True) == ["plan: there are no tasks (write one as: ## Task 1: name)"]


def test_findings_are_sorted_by_file_and_line():
    """Findings of all checks, and earlier ones, are sorted together."""
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


def test_the_plan_has_the_name_of_its_first_file():
    """The first name in any file is the plan's, or else the first file's own name."""
    assert plan_of_named({"a.md": ONE, "b.md": "# B\n" + task("3")}).name == "B"
    assert plan_of_named({"a.md": ONE, "b.md": task("3")}).name == "a"


def test_a_default_agent_belongs_to_its_file():
    """Each file's default agent does its tasks, and none of another file (C18)."""
    files = {
        "a.yaml": "default_agent: dev\ntasks: [{id: 1, name: n, prompt: x}]",
        "b.yaml": "default_agent: tester\ntasks: [{id: 2, name: n, prompt: x}, {id: 3, name: n, prompt: x, agent: y}]",
        "c.md": task("4"),
    }
    plan = plan_of_named(files)
    assert (plan.default_agent, plan.findings) == ("", [])
    assert {task.id: task.agent for task in plan.tasks} == {"1": "dev", "2": "tester", "3": "y", "4": ""}


def test_prose_and_context_are_kept_by_file():
    """Each file's prose and context are kept, in the order of the files."""
    files = {
        "a.md": "# A\n\nwords\n\n" + ONE,
        "b.yaml": "goal: x\ntasks: [{id: 3, name: n, prompt: x}]",
        "c.yaml": "goal: y\ntasks: [{id: 4, name: n, prompt: x}]",
    }
    plan = plan_of_named(files)
    assert plan.prose == ["# A\n\nwords"]
    assert plan.context == {"goal": "x", "goal (c.yaml)": "y"}
