"""Tasks of a plan in YAML, and the YAML itself."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from plans.plan_text import found, plan_of
from sow.domain.plans.plan import Plan, PlanTask
from sow.domain.text.yaml_nodes import MAX_DEPTH, MAX_ENTRIES, MAX_KEYS

TASK = "  - number: 1\n    name: One\n    prompt: x\n"
NINE = "  - {number: 9, name: Nine, prompt: x}\n"


def yaml_plan(*lines: str) -> Plan:
    """Returns a plan with a task 9 and a task 1, which has these lines from line 6 on."""
    return plan_of(f"tasks:\n{NINE}{TASK}" + "".join(f"    {line}\n" for line in lines), name="plan.yaml")


def first_task(*lines: str) -> PlanTask:
    """Returns task 1 of such a plan, which must be valid."""
    plan = yaml_plan(*lines)
    assert plan.findings == [], found(plan, error=True) + found(plan, error=False)
    return plan.tasks[1]


@all_of("key", ["number", "id", "task_number"])
@all_of(("value", "ident"), [("1", "1"), ("2.5", "2.5"), ('"01"', "1"), ("integration-1", "integration-1")])
@all_of("text", ["prompt", "description"])
@all_of("shape", ["tasks:\n  - {}", "plan:\n  tasks:\n  - {}", "plan:\n  metadata: {{}}\n  tasks: [{}]"])
def test_both_shapes_and_all_names(key: str, value: str, ident: str, text: str, shape: str):
    """All names for a task's number, its text and the list of tasks are read."""
    plan = plan_of(shape.format(f"{{{key}: {value}, name: A, {text}: Do it}}"), name="p.yml")
    assert [(task.number, task.name, task.text) for task in plan.tasks] == [(ident, "A", "Do it")]
    assert plan.findings == []


NAMES = {
    "name: A": "A",
    "plan: {name: A}": "A",
    "plan: {metadata: {feature_name: A}}": "A",
    "metadata: {feature_name: A}": "A",
    "metadata: {name: A}": "A",
    "name: A\nplan: {metadata: {feature_name: B}}": "A",
    'name: "  "\nmetadata: {feature_name: A}': "A",
    "name: 2026-01-31": "2026-01-31",
    "description: x": "plan",
}


@all_of("text", NAMES)
def test_the_name_of_a_plan(text: str):
    """The name is at the top, below plan, or in the metadata; otherwise it is the file's name."""
    assert plan_of(f"{text}\ntasks:\n{TASK}", name="plan.yaml").name == NAMES[text]


def test_tasks_in_both_places_are_all_read():
    """Tasks at the top and below plan belong to one plan."""
    plan = plan_of(f"plan:\n  tasks:\n{TASK}tasks:\n{NINE}", name="plan.yaml")
    assert [task.number for task in plan.tasks] == ["1", "9"]


def test_a_prompt_and_a_description_are_both_the_text():
    """If a task has both, its agent gets both."""
    assert first_task("description: |", "  y", "  z").text == "x\n\ny\nz"


DEPENDENCIES = [
    "9",
    "[9]",
    '"9"',
    "Task 9",
    "[Task 9 (nine)]",
    "['9', ~]",
    "[{task: 9}]",
    "{task: 9}",
    "[{file: plan.yaml, task: 9}]",
    "['file:plan.yaml:task:9']",
    "9-9",
]


@all_of("key", ["depends_on", "dependencies"])
@all_of("value", DEPENDENCIES)
def test_dependencies_in_all_forms(key: str, value: str):
    """Numbers, texts as in Markdown and mappings name the tasks that come first."""
    assert first_task(f"{key}: {value}").depends_on == ["9"]


def test_both_names_of_dependencies_add_up():
    """depends_on and dependencies are one list."""
    assert first_task("depends_on: [9]", "dependencies: Task 9").depends_on == ["9"]


def test_files_are_a_list_or_a_text():
    """Paths are in a list or between commas, with their remarks."""
    assert first_task("files: [a.py, 'b.py (new)', '`c d.py`', 'e.py:3', ~]").files == [
        "a.py",
        "b.py",
        "c d.py",
        "e.py",
    ]
    assert first_task("files: a.py, b.py").files == ["a.py", "b.py"]


def test_fields_are_read_as_in_markdown():
    """Estimates, statuses, types and groups have the same words as in Markdown."""
    lines = ["estimated_time: 1h 15m", "status: ✅ COMPLETE", "type: Component", "worktree_group: api", "agent: dev"]
    task = first_task(*lines)
    assert (task.estimated_minutes, task.status, task.type) == (75, "completed", "component")
    assert (task.worktree_group, task.agent) == ("api", "dev")


def test_every_field_has_its_line():
    """The line of a field is that of its key, wherever its value begins."""
    task = first_task("status: pending", "files:", "  - a.py", "success_criteria:", "  - it works", "agent:", "  dev")
    assert (task.line, task.status_line) == (3, 6)
    lines = [task.lines[key] for key in ("number", "name", "prompt", "files", "success_criteria", "agent")]
    assert lines == [3, 4, 5, 7, 9, 11]


def test_criteria_are_texts_or_mappings():
    """A criterion is a text, or a mapping with the command that shows it."""
    task = first_task(
        "success_criteria:",
        "  - one",
        "  - criterion: two",
        "  - {criterion: three, verification: {command: make, expected: ok, description: d}}",
        "integration_criteria: {}".format("[four]"),
    )
    assert [item.document() for item in task.success_criteria] == [
        "one",
        "two",
        {"criterion": "three", "verification": {"command": "make", "expected": "ok", "description": "d"}},
    ]
    assert [item.text for item in task.integration_criteria] == ["four"]


@all_of("key", ["test_first", "implementation", "verification", "commit", "completed_at", "code_quality"])
@all_of("value", ["words", "{a: {b: [c, 1]}}", "[a, {b: c}]"])
def test_structured_parts_reach_the_context(key: str, value: str):
    """Structured values are kept for the agent, without a warning."""
    expected = {"words": "words", "{": {"a": {"b": ["c", "1"]}}, "[": ["a", {"b": "c"}]}
    assert first_task(f"{key}: {value}").context == {key: expected.get(value, expected.get(value[0]))}


def test_runtime_metadata_is_read_and_kept():
    """Checks, targets and blocks are lists of the task, and all of it is in its context."""
    task = first_task(
        "runtime_metadata:",
        "  dependency_checks: [{command: make, description: d}, words]",
        "  documentation_targets: [{location: a.md, section: S}, {location: b.md}]",
        "  prompt_blocks: [{type: t, content: c}]",
    )
    assert task.dependency_checks == ["make", "words"]
    assert task.documentation_targets == ["a.md S", "b.md"]
    assert task.prompt_blocks == ["c"]
    assert task.context["runtime_metadata"]["prompt_blocks"] == [{"type": "t", "content": "c"}]


def test_key_points_are_texts_or_mappings():
    """A key point may be a text or any mapping; all of them are in the context, too."""
    task = first_task("implementation:", "  key_points: [a, {point: b, details: c}, {d: e, f: g}]", "  other: h")
    assert task.key_points == ["a", "b", "d: e; f: g"]
    assert task.context["implementation"]["other"] == "h"


@pytest.mark.parametrize(
    "line", ["priority: high", "x: {y: [z]}", "dependson: [9]", '"": empty', "null: n", "Prompt: p"]
)
def test_an_unknown_key_is_kept_with_a_warning(line: str):
    """An unknown key reaches the agent as context, and is named with its line."""
    plan = yaml_plan(line)
    assert len(plan.tasks[1].context) == 1
    (warning,) = found(plan, error=False)
    assert warning.startswith("plan.yaml:6: task 1: the key ")
    assert "the agent sees it as plan context" in warning


def test_a_mistyped_key_has_a_suggestion():
    """The nearest key is named."""
    assert "did you mean depends_on?" in found(yaml_plan("depend_on: [9]"), error=False)[0]


def test_a_second_number_is_not_lost():
    """Of two names for the number one counts, and the other is kept with a warning."""
    plan = yaml_plan("task_number: 7")
    assert plan.tasks[1].number == "1"
    assert plan.tasks[1].context == {"task_number": "7"}
    assert "the key 'task_number' is not understood" in found(plan, error=False)[0]


# A line of the first task, and the complaint about it.
WRONG = {
    "files: {a: b}": "files must be a list",
    "files: [[a]]": "files must be a text",
    "agent: [dev]": "agent must be a text",
    "estimated_time: {h: 1}": "estimated_time must be a text",
    "status: [done]": "status must be a text",
    "type: {a: b}": "type must be a text",
    "worktree_group: []": "worktree_group must be a text",
    "depends_on: [[9]]": "a dependency must be a number, a text or a mapping",
    "depends_on: {file: a}": "depends_on.task must be the id of a task",
    "depends_on: [{task: -}]": "depends_on.task must be the id of a task",
    "depends_on: {file: [a], task: 9}": "depends_on.file must be a text",
    "success_criteria: {a: b}": "success_criteria must be a list",
    "success_criteria: [[a]]": "success_criteria must be a text",
    "success_criteria: [{criterion: {a: b}}]": "success_criteria.criterion must be a text",
    "success_criteria: [{criterion: a, verification: b}]": "success_criteria.verification must be a mapping",
    "success_criteria: [{verification: {command: [b]}}]": "success_criteria.verification.command must be a text",
    "integration_criteria: {a: b}": "integration_criteria must be a list",
    "test_commands: {a: b}": "test_commands must be a list",
    "test_commands: [[a]]": "test_commands must be a text",
    "test_commands: [{a: b}]": "test_commands.command must be there",
    "runtime_metadata: words": "runtime_metadata must be a mapping",
    "runtime_metadata: {prompt_blocks: {a: b}}": "runtime_metadata.prompt_blocks must be a list",
}


@all_of("line", WRONG)
def test_a_wrong_type_is_an_error_with_its_key(line: str):
    """The error has the task, the key, the line, and the right form."""
    (error,) = found(yaml_plan(line), error=True)
    assert error.startswith(f"plan.yaml:6: task 1: {WRONG[line]} (write: ")


BAD_TASKS = {
    "  - words": "task 2 of the list is not a mapping",
    "  - [1]": "task 2 of the list is not a mapping",
    "  -": "task 2 of the list is not a mapping",
    "  - {name: a, prompt: b}": "task 2 of the list has no number",
    "  - {id: ~, name: a, prompt: b}": "task 2 of the list has no number",
    "  - {id: [1], name: a, prompt: b}": "task 2 of the list: number must be a number or a word",
    "  - {id: no, name: a, prompt: b}": "'no' is not an id of a task",
    "  - {id: 1-3, name: a, prompt: b}": "'1-3' is not an id of a task",
    "  - {id: -1, name: a, prompt: b}": "'-1' is not an id of a task",
    "  - {id: ², name: a, prompt: b}": "'²' is not an id of a task",
    "  - {id: two words, name: a, prompt: b}": "'two words' is not an id of a task",
    "  - {id: 0, name: a, prompt: b}": "task 0: a number must be above 0",
    "  - {id: 0.00, name: a, prompt: b}": "task 0.00: a number must be above 0",
    "  - {id: 1, prompt: b}": "task 1 has no name",
    "  - {id: 1, name: '', prompt: b}": "task 1 has no name",
    "  - {id: 1, name: [a], prompt: b}": "task 1: name must be a text",
    "  - {id: 1, name: a}": "task 1 has no prompt",
    "  - {id: 1, name: a, prompt: ~, description: ' '}": "task 1 has no prompt",
    "  - {id: 1, name: a, prompt: {b: c}}": "task 1: prompt must be a text",
    "  - {id: 09, name: a, prompt: b}": "task 9 is there twice: also in line 2",
}


@all_of("line", BAD_TASKS)
def test_a_task_needs_number_name_and_prompt(line: str):
    """A task without one of them, or with a wrong form, is an error at its line."""
    errors = found(plan_of(f"tasks:\n{NINE}{line}\n", name="plan.yaml"), error=True)
    assert [error.split(" (")[0] for error in errors] == [f"plan.yaml:3: {BAD_TASKS[line]}"]


# A text that is refused: its line and the complaint.
REFUSED = {
    "a: 1\na: 2": (2, "the key 'a' is here a second time"),
    "tasks:\n  - number: 1\n    number: 1": (3, "the key 'number' is here a second time"),
    "a: &x 1": (1, "anchors and aliases are not read here"),
    "a: &x {b: 1}": (1, "anchors and aliases are not read here"),
    "b: 1\na: *x": (2, "anchors and aliases are not read here"),
    "<<: {a: b}": (1, "merge keys (<<) are not read"),
    "a: !!str 1": (1, "the tag tag:yaml.org,2002:str is not read"),
    "a: !x [1]": (1, "the tag !x is not read"),
    "? [a]\n: b": (1, "a key must be a text"),
    "? {a: b}\n: c": (1, "a key must be a text"),
    "- a": (1, "the text is not a mapping of fields"),
    "words": (1, "the text is not a mapping of fields"),
    "a: 1\n---\nb: 2": (3, "a second document"),
    "{}\n---\n{}": (3, "a second document"),
    "a: 1\n---\n---\n---": (3, "a second document"),
    "a:\n\t- b": (2, "a tab at the beginning of the line"),
    "a: b: c": (1, "mapping values are not allowed in this context"),
    "a: [": (1, "did not find expected node content"),
    "a: 'x": (1, "found unexpected end of stream"),
    "a: 1\nb: \x00": (2, "unacceptable character"),
    "a: 1\nb: x\u2028y": (2, "an invisible line break, U+2028"),
    "a: \ud800": (1, "half a character that UTF-8 does not have"),
    "a: " + "[" * (MAX_DEPTH + 1): (1, f"nested deeper than {MAX_DEPTH} levels"),
    "a: [" + "x," * (MAX_ENTRIES + 1) + "]": (1, "a list with more than 20,000 entries"),
    "".join(f"k{n}: 1\n" for n in range(MAX_KEYS + 1)): (MAX_KEYS + 1, "a mapping with more than 10,000 keys"),
    "plan: words": (1, "plan must be a mapping"),
    "tasks: words": (1, "tasks must be a list"),
    "plan:\n  tasks:\n    a: b": (2, "plan.tasks must be a list"),
}


@all_of("text", REFUSED)
def test_refused_yaml(text: str):
    """Ambiguous or explosive YAML is an error with its line and a hint."""
    line, complaint = REFUSED[text]
    (error,) = plan_of(text, name="plan.yaml").errors
    assert (error.line, error.message[: len(complaint)]) == (line, complaint)
    assert error.hint


@all_of("text", ["", "\n\n", "# a comment\n", "---\n", "~", "name: A\n", "tasks: []\n", "tasks: ~\n", "--- \n...\n"])
def test_a_file_without_tasks_is_an_error(text: str):
    """The error for a YAML file without tasks says how to write them."""
    errors = found(plan_of(text, name="plan.yaml"), error=True)
    assert errors == [
        "plan.yaml: there are no tasks in this file (write them below tasks:, each with number, name and prompt)"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntasks:\n" + TASK,
        "tasks:\n" + TASK + "---\n",
        "tasks:\n" + TASK + "...\n",
        "%YAML 1.2\n---\ntasks:\n" + TASK,
    ],
)
def test_document_marks_are_allowed(text: str):
    """One document may have its marks, and an empty one may follow."""
    assert plan_of(text, name="plan.yaml").findings == []


@all_of("value", ["no", "off", "2026-01-31", "1.10", "0x10", "1e3", "12:30", "'~'", '"null"', "1_000", "yes"])
def test_scalars_stay_texts(value: str):
    """No scalar becomes a date, a number or a truth value."""
    plan = plan_of(f"tasks:\n  - number: 1\n    name: {value}\n    prompt: {value}\n    x: {value}\n", name="plan.yaml")
    text = value.strip("'\"")
    assert (plan.tasks[0].name, plan.tasks[0].text, plan.tasks[0].context) == (text, text, {"x": text})
