"""Statuses are written back into a plan file, and nothing else in it changes."""

from __future__ import annotations

import gc
import time

import pytest
from support.quick_cases import all_of, few_of
from support.samples import PLAN_STATUSES

from sow.domain.plans.plan import PlanSource
from sow.errors import SowError
from sow.plans import reader
from sow.plans.write_back import with_statuses

MARKDOWN = "# Plan\n\n## Task 1: One\n{}\nDo it.\n\n## Task 2: Two\n**Status**: pending\n\nDo that.\n"
YAML = (
    "name: P\ntasks:\n  - number: 1\n    name: One\n{}    prompt: Do it.\n  - number: 2\n    name: Two\n    prompt: x\n"
)

# the lines of a task, and what they become when the task is completed
VALUES = {
    "outside": ("**Status**: pending", "**Status**: completed"),
    "inside": ("**Status:** pending", "**Status:** completed"),
    "without a space": ("**Status**:pending", "**Status**:completed"),
    "with a space before the colon": ("**Status** : pending", "**Status** : completed"),
    "both colons": ("**Status:**: pending", "**Status:**: completed"),
    "lower case": ("**status**: in-progress", "**status**: completed"),
    "capitals": ("**STATUS**: IN PROGRESS", "**STATUS**: completed"),
    "a dash before it": ("- **Status**: pending", "- **Status**: completed"),
    "a star before it": ("* **Status**: pending", "* **Status**: completed"),
    "indented": ("  - **Status**:  pending", "  - **Status**:  completed"),
    "a tab": ("\t**Status**:\tpending\t", "\t**Status**:\tcompleted\t"),
    "a picture": ("**Status**: ⏳ pending", "**Status**: completed"),
    "in backticks": ("**Status**: `pending`", "**Status**: completed"),
    "bold": ("**Status**: **BLOCKED**", "**Status**: completed"),
    "a word of nobody": ("**Status**: blocked - waits for ops", "**Status**: completed"),
    "spaces behind it": ("**Status**: pending  ", "**Status**: completed  "),
    "a line break behind it": ("**Status**: pending\\", "**Status**: completed\\"),
    "nothing": ("**Status**:", "**Status**: completed"),
    "nothing, inside": ("**Status:**", "**Status:** completed"),
    "only spaces": ("**Status**:  ", "**Status**: completed  "),
    "a fence before it": (
        "```\n**Status**: failed\n```\n**Status**: pending",
        "```\n**Status**: failed\n```\n**Status**: completed",
    ),
    "a fence behind it": (
        "**Status**: pending\n\n~~~md\n**Status**: pending\n~~~",
        "**Status**: completed\n\n~~~md\n**Status**: pending\n~~~",
    ),
    "twice, where the last one counts": (
        "**Status**: failed\n**Status**: pending",
        "**Status**: failed\n**Status**: completed",
    ),
    "behind the text": (
        "Some words.\n\n- [x] a step\n\n**Status**: failed",
        "Some words.\n\n- [x] a step\n\n**Status**: completed",
    ),
}
NEW_LINES = {
    "no label": ("", "**Status**: completed\n"),
    "one label": ("**Agent**: tester\n", "**Agent**: tester\n**Status**: completed\n"),
    "empty lines between": (
        "\n**Agent**: tester\n\n**Estimated time**: 30m\n\n",
        "\n**Agent**: tester\n\n**Estimated time**: 30m\n**Status**: completed\n\n",
    ),
    "bullets": (
        "- **Agent**: tester\n- **Depends on**: Task 2\n",
        "- **Agent**: tester\n- **Depends on**: Task 2\n- **Status**: completed\n",
    ),
    "indented": ("  * **Type:** regular\n", "  * **Type:** regular\n  * **Status**: completed\n"),
    "a list, which stays with its label": (
        "**Agent**: tester\n**Files**:\n- `a.py`\n- `b.py`\n",
        "**Agent**: tester\n**Status**: completed\n**Files**:\n- `a.py`\n- `b.py`\n",
    ),
    "only a list": ("**Files**:\n- `a.py`\n", "**Status**: completed\n**Files**:\n- `a.py`\n"),
    "a list, then a label": (
        "**Files**:\n- `a.py`\n\n**Agent**: tester\n",
        "**Files**:\n- `a.py`\n\n**Agent**: tester\n**Status**: completed\n",
    ),
    "a label behind the text": (
        "\nSome words.\n\n**Agent**: tester\n",
        "**Status**: completed\n\nSome words.\n\n**Agent**: tester\n",
    ),
    "a label in a fence": (
        "```\n**Agent**: tester\n```\n",
        "**Status**: completed\n```\n**Agent**: tester\n```\n",
    ),
    "criteria": (
        "**Agent**: tester\n**Success Criteria**:\n- It works\n",
        "**Agent**: tester\n**Status**: completed\n**Success Criteria**:\n- It works\n",
    ),
}
FIELDS = {
    "plain": ("    status: pending\n", "    status: completed\n"),
    "more spaces": ("    status:   pending  \n", "    status:   completed  \n"),
    "two words": ("    status: in progress # why\n", "    status: completed # why\n"),
    "over two lines": ("    status: in\n      progress\n", "    status: completed\n"),
    "single quotes": ("    status: 'pending'\n", "    status: 'completed'\n"),
    "double quotes": ('    status: "in\\x20progress" # a "note"\n', '    status: "completed" # a "note"\n'),
    "a comment": ("    status: pending # x: 'y'\n", "    status: completed # x: 'y'\n"),
    "a quoted key": ('    "status": pending\n', '    "status": completed\n'),
    "on the next line": ("    status:\n      pending\n", "    status:\n      completed\n"),
    "a block": ("    status: |\n      pending\n", "    status: |\n      completed\n"),
    "a block with a comment": (
        "    status: >- # c\n\n      in\n      progress\n\n",
        "    status: >- # c\n\n      completed\n\n",
    ),
    "an empty block": ("    status: |- # c\n", "    status: completed # c\n"),
    "nothing": ("    status:\n", "    status: completed\n"),
    "nothing, and a comment": ("    status: # c\n", "    status: completed # c\n"),
    "null": ("    status: null\n", "    status: completed\n"),
    "a tilde": ("    status: ~ # c\n", "    status: completed # c\n"),
    "quoted nothing": ("    status: ''\n", "    status: 'completed'\n"),
    "a word of nobody": ("    status: blocked\n", "    status: completed\n"),
    "a capital": ("    status: TODO\n", "    status: completed\n"),
    "explicit": ("    ? status\n    : pending\n", "    ? status\n    : completed\n"),
    "behind others": ("    agent: é😀\n    status: pending\n", "    agent: é😀\n    status: completed\n"),
}
FLOWS = {
    "with a status": (
        "{number: 1, status: pending, name: One, prompt: x}",
        "{number: 1, status: completed, name: One, prompt: x}",
    ),
    "without": (
        "{number: 1, name: One, prompt: x}",
        "{number: 1, name: One, prompt: x, status: completed}",
    ),
    "with spaces": (
        "{ number: 1, name: One, prompt: x }",
        "{ number: 1, name: One, prompt: x, status: completed }",
    ),
    "with a comma at the end": (
        "{number: 1, name: One, prompt: x,}",
        "{number: 1, name: One, prompt: x, status: completed,}",
    ),
    "as JSON": (
        '{"number":1,"name":"One","prompt":"x"}',
        '{"number":1,"name":"One","prompt":"x", "status": "completed"}',
    ),
    "as JSON with a status": (
        '{"number":1,"status":"pending","name":"One","prompt":"x"}',
        '{"number":1,"status":"completed","name":"One","prompt":"x"}',
    ),
    "over lines": (
        "{\n    number: 1, name: One,\n    prompt: x # c\n  }",
        "{\n    number: 1, name: One,\n    prompt: x, status: completed # c\n  }",
    ),
    "with a list at the end": (
        "{number: 1, name: One, prompt: x, files: [a, b]}",
        "{number: 1, name: One, prompt: x, files: [a, b], status: completed}",
    ),
    "with an empty status": (
        "{number: 1, status: , name: One, prompt: x}",
        "{number: 1, status: completed , name: One, prompt: x}",
    ),
    "with an empty status at the end": (
        "{number: 1, name: One, prompt: x, status: }",
        "{number: 1, name: One, prompt: x, status: completed }",
    ),
    "with a bare key": (
        "{number: 1, status, name: One, prompt: x}",
        "{number: 1, status: completed, name: One, prompt: x}",
    ),
    "with an empty value at the end": (
        "{number: 1, name: One, prompt: x, agent: }",
        "{number: 1, name: One, prompt: x, agent: , status: completed}",
    ),
}
LEADS = {
    "number and name": ("number: 1\n    name: One", "number: 1\n    name: One\n    status: completed"),
    "name and id": ("name: One # c\n    id: 1 # d", "name: One # c\n    id: 1 # d\n    status: completed"),
    "number alone": (
        "task_number: 1\n    files: [a]\n    name: One",
        "task_number: 1\n    status: completed\n    files: [a]\n    name: One",
    ),
    "a name as a block": (
        "number: 1\n    name: >\n      One\n    agent: a",
        "number: 1\n    status: completed\n    name: >\n      One\n    agent: a",
    ),
    "a name over two lines": (
        "number: 1\n    name: One\n      more",
        "number: 1\n    name: One\n      more\n    status: completed",
    ),
    "quoted keys": (
        "\"number\": 1\n    'name': One",
        "\"number\": 1\n    'name': One\n    'status': 'completed'",
    ),
}  # fmt: skip


def by_name(table):
    return pytest.mark.parametrize(("old", "new"), table.values(), ids=table)


def read(text: str, file: str) -> dict[str, str]:
    return {task.number: task.status for task in reader.read([PlanSource(file, text)]).tasks}


def check(old: str, new: str, file: str, statuses: dict[str, str]) -> None:
    """Checks that the old text becomes the new one, which has these statuses and stays."""
    assert with_statuses(old, file, statuses) == new
    assert with_statuses(new, file, statuses) == new
    assert read(new, file) == read(old, file) | statuses


@by_name(VALUES)
def test_a_value_is_replaced_in_its_line(old, new):
    """For any form of the label only the value after it changes."""
    check(MARKDOWN.format(old), MARKDOWN.format(new), "plan.md", {"1": "completed"})


@by_name(NEW_LINES)
def test_a_missing_status_gets_a_line(old, new):
    """It goes after the last leading field, or after the heading, and breaks no list."""
    check(MARKDOWN.format(old), MARKDOWN.format(new), "plan.md", {"1": "completed"})


@by_name(FIELDS)
def test_a_scalar_is_replaced_in_place(old, new):
    """In block style the scalar changes in its quotes; comments, keys and spaces stay."""
    check(YAML.format(old), YAML.format(new), "plan.yaml", {"1": "completed"})


@by_name(FLOWS)
def test_a_task_in_braces(old, new):
    """In flow style the scalar changes, or a pair is added after the last one."""
    text = "tasks: # all\n  - {}\n  - {{number: 2, name: Two, prompt: y}} # end\n"
    check(text.format(old), text.format(new), "plan.yml", {"1": "completed"})


@by_name(LEADS)
def test_a_missing_field_gets_a_line(old, new):
    """In block style it goes after the number, or after the name that follows, with the same indentation."""
    text = "plan:\n  metadata: {{feature_name: P}}\n  tasks:\n  - {}\n    description: x\n"
    check(text.format(old), text.format(new), "plan.yaml", {"1": "completed"})


def test_a_file_in_json_stays_json():
    """A file that is JSON stays JSON."""
    old = '{"name": "P", "tasks": [{"id": 1, "name": "A", "prompt": "a"}, {"id": 2, "name": "B", "prompt": "b"}]}'
    new = old.replace('"a"}', '"a", "status": "failed"}').replace('"b"}', '"b", "status": "in-progress"}')
    check(old, new, "plan.yaml", {"1": "failed", "2": "in_progress"})


@pytest.mark.parametrize("status", PLAN_STATUSES)
def test_the_words_of_statuses(status):
    """Each status is written in its usual word, and read back as itself."""
    text = MARKDOWN.format("**Status**: blocked")
    new = with_statuses(text, "plan.md", {"1": status})
    expected = "blocked" if status == "pending" else status.replace("_", "-")
    assert new == MARKDOWN.format(f"**Status**: {expected}")
    assert read(new, "plan.md")["1"] == status


@pytest.mark.parametrize(
    ("present", "status"),
    [
        ("✅ COMPLETE", "completed"),
        ("Done!", "completed"),
        ("in_progress", "in_progress"),
        ("*In Progress*", "in_progress"),
        ("todo", "pending"),
        ("nobody knows", "pending"),
        ("`skipped`", "skipped"),
    ],
)
def test_a_synonym_stays(present, status):
    """If the present word is read as the wanted status, no byte changes."""
    for text, file in (
        (MARKDOWN.format(f"**Status**: {present}"), "plan.md"),
        (YAML.format(f'    status: "{present}"\n'), "plan.yaml"),
    ):
        assert with_statuses(text, file, {"1": status, "2": "pending"}) == text


def test_pending_needs_no_word():
    """A task without a status is pending: none is added."""
    assert with_statuses(MARKDOWN.format(""), "plan.md", {"1": "pending"}) == MARKDOWN.format("")
    assert with_statuses(YAML.format(""), "plan.yaml", {"1": "pending"}) == YAML.format("")
    assert with_statuses("nothing", "plan.md", {}) == "nothing"


@all_of("ending", ["\n", "\r\n", "\r"])
@all_of("mark", ["", "\ufeff"])
@all_of("last", ["", "\n"])
def test_line_endings_and_marks_stay(ending, mark, last):
    """Every line ending, the byte order mark and a missing last newline stay; a new line ends like the others."""
    markdown = "## Task 1: Á\n\nDo it.\t \n## Task 2: B\n**Status**: pending \n**Agent**: a\nx\n## Task 3: 😀"
    written = markdown.replace("Á\n", "Á\n**Status**: completed\n").replace("pending", "failed")
    yaml = "tasks:\n- name: Á\n  prompt: 'x\n\n    y'\n  status: 'todo' # c\n  id: 1\n- prompt: é\n  name: z\n  id: 2"
    for old, new, file, statuses in (
        (markdown, written + "\n**Status**: skipped", "a.md", {"1": "completed", "2": "failed", "3": "skipped"}),
        (yaml, yaml.replace("todo", "failed") + "\n  status: skipped", "a.yaml", {"1": "failed", "2": "skipped"}),
    ):
        before, after = (mark + (text + last).replace("\n", ending) for text in (old, new))
        assert with_statuses(before, file, statuses) == after
        assert with_statuses(after, file, statuses) == after


def test_mixed_line_endings_stay():
    """With mixed line endings each stays, and a new line takes that of the line before it."""
    old = "# P\r\n## Task 1: A\rx\r\n\n## Task 2: B\r\n**Agent**: a\n\ry"
    new = "# P\r\n## Task 1: A\r**Status**: failed\rx\r\n\n## Task 2: B\r\n**Agent**: a\n**Status**: failed\n\ry"
    assert with_statuses(old, "a.md", {"1": "failed", "2": "failed"}) == new


def test_frontmatter_is_not_changed():
    """A status in the frontmatter belongs to no task."""
    head = "---\nsow:\n  default_agent: a\nstatus: pending\n---\n"
    check(head + MARKDOWN.format(""), head + MARKDOWN.format("**Status**: failed\n"), "plan.md", {"1": "failed"})


def test_document_marks_stay():
    """The marks of a document, and an empty one after it, stay."""
    old, new = (f"---\n{YAML.format(f'    status: {word}' + chr(10))}---\n" for word in ("pending", "completed"))
    check(old, new, "plan.yaml", {"1": "completed"})


def test_numbers_as_people_write_them():
    """The number of a task is the file's, with or without leading zeros, and may be a word."""
    text = "## Task 01: A\nx\n## Task 2.5: B\nx\n## Task integration-1: C\nx\n"
    new = with_statuses(text, "a.md", {"1": "failed", "2.5": "skipped", "integration-1": "completed"})
    assert new == (
        "## Task 01: A\n**Status**: failed\nx\n## Task 2.5: B\n**Status**: skipped\nx\n"
        "## Task integration-1: C\n**Status**: completed\nx\n"
    )
    assert with_statuses(text, "a.md", {"01": "failed"}) == text.replace("A\n", "A\n**Status**: failed\n")


def test_one_of_several_files_can_be_written():
    """Dependencies on tasks of other files do not matter."""
    text = "## Task 2: B\n**Depends on**: file:setup.md:task:1, Task 9\nx\n"
    new = "## Task 2: B\n**Depends on**: file:setup.md:task:1, Task 9\n**Status**: completed\nx\n"
    assert with_statuses(text, "api.md", {"2": "completed"}) == new


REFUSED = {
    "a label behind it": (MARKDOWN.format("**Status**: pending **Agent**: x"), "plan.md", 4, "more than a status"),
    "a comment behind it": (MARKDOWN.format("**Status**: open <!-- x -->"), "plan.md", 4, "more than a status"),
    "a heading": (MARKDOWN.format("### Status:\n\npending"), "plan.md", 4, "a heading of its own"),
    "a task twice": (MARKDOWN.format("").replace("Task 2", "Task 1"), "plan.md", 8, "line 3 has a task of this number"),
    "a list": (YAML.format("    status: [pending]\n"), "plan.yaml", 5, "it is not a text"),
    "a mapping": (YAML.format("    status: {is: pending}\n"), "plan.yaml", 5, "it is not a text"),
    "no braces": ("tasks: [number: 1]\n", "plan.yaml", 1, "it would be read as pending"),
    "no line": ("tasks:\n- number: |\n    1\n  name: |\n    x\n  prompt: x\n", "plan.yaml", 2, "no line for it"),
}  # fmt: skip


@all_of(("text", "file", "line", "reason"), REFUSED.values())
def test_an_unwritable_status_is_refused(text, file, line, reason):
    """If a status cannot be written alone, the error names task, line and reason."""
    with pytest.raises(SowError) as excinfo:
        with_statuses(text, file, {"1": "completed"})
    assert excinfo.value.message.startswith(f"{file}:{line}: the status of task 1 cannot be written: ")
    assert reason in excinfo.value.message
    assert excinfo.value.hint == "write it there by hand: completed"


@pytest.mark.parametrize("keys", ["    id: 1\n    ? status\n", "    name: One\n    ? id\n    : 1\n"])
def test_a_file_that_would_be_invalid_is_refused(keys):
    """If the new text could not be read, the error has the reason and the line."""
    text = f"tasks:\n  - prompt: x\n{keys}"
    with pytest.raises(SowError) as excinfo:
        with_statuses(text, "plan.yaml", {"1": "completed"})
    start = "plan.yaml: the status of task 1 cannot be written: the file would be broken (plan.yaml:"
    assert excinfo.value.message.startswith(start)


@pytest.mark.parametrize(
    ("text", "file"), [("## Task 1: A\nx\n", "a.md"), ("tasks: [\n", "a.yaml"), ("", "a.md"), ("[" * 50000, "a.yaml")]
)
def test_an_unknown_task_is_refused(text, file):
    """A number that the file does not have is an error that names it, also if the file cannot be read."""
    with pytest.raises(SowError, match=f"{file}: there is no task 7 in it"):
        with_statuses(text, file, {"7": "completed"})


def seconds(text: str, file: str, statuses: dict[str, str]) -> float:
    """Measures processor time, without a garbage collection of other tests' objects."""
    gc.disable()
    try:
        start = time.process_time()
        with_statuses(text, file, statuses)
        return time.process_time() - start
    finally:
        gc.enable()


@few_of(
    ("file", "head", "task"),
    [
        ("a.md", "# P\r\n", "## Task {0}: N\r\n**Agent**: a\r\n\r\nText\r\n"),
        ("a.md", "", "## Task {0}: N\n**Status**: pending\n\n\n\n\nText\n"),
        ("a.yaml", "tasks:\r\n", "- id: {0}\r\n  name: N\r\n  prompt: x\r\n"),
        ("a.yaml", "tasks:\n", "- {{id: {0}, name: N, status: pending, prompt: x}}\n"),
    ],
    3,
    ids=["new lines", "lines", "fields", "braces"],
)
def test_the_time_is_linear(file, head, task):
    """Four times the tasks take about four times as long."""
    texts = {count: head + "".join(map(task.format, range(1, count + 1))) for count in (500, 2000)}
    best = {count: float("inf") for count in texts}
    for _ in range(8):  # the best of several: others work on this machine too
        few, many = (
            seconds(text, file, {str(number): "completed" for number in range(1, count + 1)})
            for count, text in texts.items()
        )
        best = {500: min(best[500], few), 2000: min(best[2000], many)}
        if best[2000] < best[500] * 9:
            return
    raise AssertionError(f"{best[500]:.3f} s became {best[2000]:.3f} s")


# A plan in another form, a status, and the text with it.
OTHER_FORMS = {
    "a level": ("### Task 1: a\n\nx\n", "failed", "### Task 1: a\n**Status**: failed\n\nx\n"),
    "a dash": (
        "## Task 1 - a\n**Agent**: dev\n\nx\n",
        "completed",
        "## Task 1 - a\n**Agent**: dev\n**Status**: completed\n\nx\n",
    ),
    "a sign": ("## ✅ Task 1: a\n\nx\n", "failed", "## ✅ Task 1: a\n**Status**: failed\n\nx\n"),
    "a number": ("  ## 1. a\r\n\r\nx\r\n", "completed", "  ## 1. a\r\n**Status**: completed\r\n\r\nx\r\n"),
    "a near label": (
        "## Task 1: a\n**Requires**: 2\n\nx\n\n## Task 2: b\n\ny\n",
        "completed",
        "## Task 1: a\n**Status**: completed\n**Requires**: 2\n\nx\n\n## Task 2: b\n\ny\n",
    ),
    "a box": ("# P\n\n- [ ] a\n- [ ] b\n", "completed", "# P\n\n- [x] a\n- [ ] b\n"),
    "a numbered box": ("1. [X] a\n2. [ ] b\n", "pending", "1. [ ] a\n2. [ ] b\n"),
    "a box with a text": ("* [ ] **a**\n  more\n", "failed", "* [ ] **a**\n  **Status**: failed\n  more\n"),
    "a box with a field": (
        "- [ ] a\n  - **Agent**: dev\n",
        "in_progress",
        "- [ ] a\n  **Status**: in-progress\n  - **Agent**: dev\n",
    ),
    "a box with a status": ("- [ ] a\n  **Status**: failed\n", "completed", "- [ ] a\n  **Status**: completed\n"),
}  # fmt: skip


@all_of("name", OTHER_FORMS)
def test_a_status_is_written_into_other_forms(name: str):
    """Numbered headings, other levels and checklists keep every other byte, and have the written status (D12)."""
    before, status, after = OTHER_FORMS[name]
    assert with_statuses(before, "plan.md", {"1": status}) == after
    assert reader.read([PlanSource("plan.md", after)]).tasks[0].status == status
    assert with_statuses(after, "plan.md", {"1": status}) == after
