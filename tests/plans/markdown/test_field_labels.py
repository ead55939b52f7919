"""The labels of a task in Markdown, and the lists below them."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from plans.plan_text import found, plan_of, task_of

# How a label may be there; # is where it goes.
FORMS = [
    "**#**: {}",
    "**#:** {}",
    "**#** : {}",
    "**#**:{}",
    "**#:**{}",
    "__#__: {}",
    "- **#**: {}",
    "* **#:** {}",
    "1. **#**: {}",
    "  **#**: {}",
    "**#:**: {}",
    "+ __#:__ {}",
    "**#** (note): {}",
    "- [x] **#**: {}",
]
SPELLINGS = {
    "files": ("Files", "File", "File(s)", "FILES", "file"),
    "depends_on": ("Depends on", "Depends On", "DEPENDS ON", "depends_on", "Dependencies", "Dependency"),
    "estimated_time": ("Estimated time", "Estimated Time", "estimate", "Estimated_time"),
    "agent": ("Agent", "agents", "AGENT"),
    "status": ("Status", "STATUS"),
    "type": ("Type", "types"),
    "allow_empty": ("Allow empty", "Allow Empty", "allow_empty"),
    "worktree_group": ("WorktreeGroup", "Worktree Group", "worktree_group", "worktreegroups"),
    "protected": ("Protected", "PROTECTED", "Protected paths", "protected path"),
    "success_criteria": ("Success Criteria", "success criterion"),
    "integration_criteria": ("Integration Criteria", "Integration criterion"),
    "structured_criteria": ("Structured Criteria",),
    "test_commands": ("Test Commands", "Test Command", "test_commands"),
    "key_points": ("Key Points", "Key point"),
    "dependency_checks": ("Dependency Checks", "Dependency check"),
    "documentation_targets": ("Documentation Targets", "documentation target"),
    "prompt_blocks": ("Prompt Blocks", "Prompt block"),
    "commit_message": ("Commit message", "Commit Messages"),
    "files_to_commit": ("Files to commit", "File to commit"),
}
VALUES = {
    "files": ("a.py", lambda task: task.files == ["a.py"]),
    "depends_on": ("9", lambda task: task.depends_on == ["9"]),
    "estimated_time": ("30m", lambda task: task.estimated_minutes == 30),
    "agent": ("`dev`", lambda task: task.agent == "dev"),
    "status": ("completed", lambda task: task.status == "completed"),
    "type": ("component", lambda task: task.type == "component"),
    "allow_empty": ("yes", lambda task: task.allow_empty),
    "worktree_group": ("api", lambda task: task.worktree_group == "api"),
    "protected": ("tests/**, ci/**", lambda task: task.protected == ["tests/**", "ci/**"]),
    "success_criteria": ("it works", lambda task: task.success_criteria[0].text == "it works"),
    "integration_criteria": ("it works", lambda task: task.integration_criteria[0].text == "it works"),
    "structured_criteria": ("it works", lambda task: task.success_criteria[0].text == "it works"),
    "test_commands": ("`make`", lambda task: task.test_commands == ["make"]),
    "key_points": ("a point", lambda task: task.key_points == ["a point"]),
    "dependency_checks": ("`make`", lambda task: task.dependency_checks == ["make"]),
    "documentation_targets": ("README.md", lambda task: task.documentation_targets == ["README.md"]),
    "prompt_blocks": ("words", lambda task: task.prompt_blocks == ["words"]),
    "commit_message": ("`feat: x`", lambda task: task.commit == {"message": "feat: x"}),
    "files_to_commit": ("`a`, b", lambda task: task.commit == {"files": ["a", "b"]}),
}
LISTS = {
    "dashes": ("- a.py\n- b.py", ["a.py", "b.py"]),
    "stars": ("* a.py\n* b.py", ["a.py", "b.py"]),
    "numbers": ("1. a.py\n2) b.py", ["a.py", "b.py"]),
    "boxes": ("- [ ] a.py\n- [x] b.py", ["a.py", "b.py"]),
    "dots": ("• a.py\n• b.py", ["a.py", "b.py"]),
    "behind an empty line": ("\n- a.py\n\n- b.py", ["a.py", "b.py"]),
    "indented": ("  - a.py\n  - b.py", ["a.py", "b.py"]),
    "behind a tab": ("\t- a.py\n\t- b.py", ["a.py", "b.py"]),
    "with details": ("- a.py\n  - new\n- b.py\n  it has words", ["a.py", "b.py"]),
    "a fence": ("```\na.py\nb.py\n```", ["a.py", "b.py"]),
    "behind a remark": ("(both are new)\n- a.py\n- b.py", ["a.py", "b.py"]),
    "behind a comment": ("<!-- more\nto come -->\n- a.py\n- b.py", ["a.py", "b.py"]),
    "a paragraph": ("`a.py`,\n`b.py`", ["a.py", "b.py"]),
    "up to the text": ("- a.py\n\nSome words.\n\n- not-a-file.py", ["a.py"]),
    "up to a heading": ("- a.py\n### Steps\n- not-a-file.py", ["a.py"]),
    "up to a label": ("- a.py\n- **Agent**: dev", ["a.py"]),
    "none": ("(none)\n\n- not-a-file.py", []),
    "empty": ("\nSome words.", []),
}
COMMANDS = {
    "a fence": ("\n```bash\nmake a\nmake b\n```", ["make a", "make b"]),
    "tildes": ("\n~~~\nmake a\n~~~", ["make a"]),
    "two fences": ("\n```\nmake a\n```\n\n```\nmake b\n```", ["make a", "make b"]),
    "comments and prompts": ("\n```\n# first\n$ make a\n\n  make b\n```", ["make a", "make b"]),
    "a long one": ("\n```\nmake \\\n  a \\\n  b\nmake c\n```", ["make a b", "make c"]),
    "bullets": ("\n- `make a`\n- make b\n* `make c` — checks it", ["make a", "make b", "make c"]),
    "a long bullet": ("\n- make \\\n  a", ["make a"]),
    "fences below bullets": (
        "\n1. Build:\n   ```\n   make a\n   ```\n2. Test:\n   ```\n   make b\n   ```",
        ["make a", "make b"],
    ),
    "details are none": ("\n- `make a`\n  - it takes a while", ["make a"]),
    "on the line": (" `make a`", ["make a"]),
    "several on the line": (" `make a`, `make b` and `make c`", ["make a", "make b", "make c"]),
    "words around them": ("\n- Run `make a` first\n- `make b` (it needs `c`)", ["make a", "make b"]),
    "on the line, then bullets": (" `make a`\n- `make b`", ["make a", "make b"]),
    "a heading of its own": (" run these:\n- `make a`", ["make a"]),
    "backticks in a fence": ("\n```\necho `date`\n```", ["echo `date`"]),
    "code of somebody else": ("\n- make a\n\n```python\nprint(1)\n```", ["make a"]),
    "an end in the air": ("\n```\nmake a \\\n```", ["make a"]),
}


@all_of("field", SPELLINGS)
@all_of("form", FORMS)
def test_a_label_in_any_form(field: str, form: str):
    """In any case, singular or plural, with the colon inside or outside, in a list or not, a label is its field."""
    value, holds = VALUES[field]
    for spelling in SPELLINGS[field]:
        task = task_of(f"\n{form.replace('#', spelling).format(value)}\n\nDo it.")
        assert holds(task), spelling
        assert task.lines[field] == 5


def test_several_labels_on_one_line():
    """Labels on one line are all read; marks between them belong to none."""
    task = task_of("**Phase**: two | **Depends on**: 9 | **Agent**: dev · **Estimated time**: 5m, **Files**: a.py\nx")
    assert (task.depends_on, task.agent, task.estimated_minutes, task.files) == (["9"], "dev", 5, ["a.py"])


@all_of("name", LISTS)
def test_a_list_below_its_label(name: str):
    """A field continues below its label as any kind of list, and ends with other text."""
    body, files = LISTS[name]
    assert task_of(f"**Files**:\n{body}\n\nDo it.").files == files
    assert task_of(f"### Files:\n{body}\n\nDo it.").files == files


@all_of("name", COMMANDS)
def test_commands_in_a_fence_or_in_bullets(name: str):
    """A test command is a line of code or a bullet; comments, prompts and remarks do not run."""
    body, commands = COMMANDS[name]
    assert task_of(f"**Test Commands**:{body}\n\nDo it.").test_commands == commands


def test_steps_after_a_dependency_are_text():
    """Bullets right after `**Depends on**: 9` are the work, and no dependencies."""
    task = task_of("**Depends on**: 9\n- [ ] write it\n- [x] test it")
    assert task.depends_on == ["9"]
    assert task.status == "pending"


def test_headings_are_labels_of_lists_only():
    """`### Test Commands` begins that field without a colon; `### Dependencies` may be about packages, and is text."""
    task = task_of("### Test Commands\n\n- `make`\n\n### Dependencies\n\n- numpy\n\n### Status\n\ncompleted")
    assert (task.test_commands, task.depends_on, task.status) == (["make"], [], "pending")


def test_the_last_of_two_labels_counts():
    """A label that a task may have once is taken from its last place, and a warning names the first."""
    plan = plan_of("## Task 1: a\n**Status**: done\n**Agent**: dev\n**Status**: failed\n\nx\n")
    assert plan.tasks[0].status == "failed"
    assert found(plan, error=False) == [
        "plan.md:4: task 1: a second status; that of line 2 is left out (keep one of the two)"
    ]


def test_lists_add_up():
    """Fields that are lists may be in several places."""
    task = task_of(
        "**Files**: a.py\n\nx\n\n**Files**: b.py\n**Success Criteria**: one\n**Structured Criteria**:\n1. two"
    )
    assert task.files == ["a.py", "b.py"]
    assert [item.text for item in task.success_criteria] == ["one", "two"]


SLIPS = {
    "**Agnet**: dev": "Agent",
    "**Depnds on**: 9": "Depends on",
    "**Sucess Criteria**: x": "Success criteria",
    "- **Test Comands**: x": "Test commands",
    "**Files** a.py": "Files",
    "- **Depends on** Task 9": "Depends on",
    "Depends on: the weather": "Depends on",
    "Requires: 9": "Depends on",
    "**Wave**: 9": "Depends on",
    "Status: done": "Status",
}
OWN_WORDS = [
    "**Approach**: x",
    "**Test file**: `a`",
    "**Note**: x",
    "Note: x",
    "- Status: 200 is answered",
    "Key points: x",
    "**Bold** words",
    "**Created**: today",
    "**Requires**: Python 3 and 2 GB",
    "**After**: the party",
    "http://x: y",
    "**" * 50,
    "a: b",
]


@all_of("line", SLIPS)
def test_a_mistyped_label_is_a_warning(line: str):
    """A label that is mistyped, has no colon or is not bold stays text, and the warning names the right one."""
    plan = plan_of(f"## Task 1: a\n\n{line}\n\nx\n")
    what, hint = f"task 1: {line!r} is read as text", f"if it is the field, write: **{SLIPS[line]}**: …"
    assert found(plan, error=False) == [f"plan.md:3: {what} ({hint})"]


@pytest.mark.parametrize(
    "line",
    [
        "**Depends**: Task 1",
        "*Depends on*: 1",
        "_Depends on:_ 1",
        "Depends on: Task 1",
        "- **Blocked by**: Task 1 (the store)",
        "**Requires**: 1",
        "__Needs__: #1",
    ],
)
def test_other_words_for_depends_on_count(line: str):
    """Other words for `Depends on` count if only tasks follow them (C3)."""
    plan = plan_of(f"## Task 1: a\n\nx\n\n## Task 2: b\n{line}\n\nx\n")
    assert plan.findings == []
    assert plan.tasks[1].depends_on == ["1"]


@pytest.mark.parametrize(
    "line",
    ["**Blocked by**: Task 7 of ours", "- Waits for: 1 as soon as 2 is over", "**Requires**: task 1, 3 of the others"],
)
def test_unreadable_dependencies_are_named(line: str):
    """A dependency that is only partly understood is named in a warning (C3)."""
    plan = plan_of(f"## Task 1: a\n\nx\n\n## Task 2: b\n{line}\n\nx\n")
    what, hint = f"task 2: {line!r} is read as text", "if it is the field, write: **Depends on**: …"
    assert found(plan, error=False) == [f"plan.md:6: {what} ({hint})"]
    assert [finding.kind for finding in plan.findings] == ["dependency"]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("**Test**: make test", ["make test"]),
        ("**Tests**: `./check.sh` and `pytest -q`", ["./check.sh", "pytest -q"]),
        ("- **Verify:** Run `make test` first", ["make test"]),
        ("**Checks**:\n- `make a`\n- pytest -q", ["make a", "pytest -q"]),
        ("**Check**: make test", ["make test"]),
        ("**Verify**: `false`", ["false"]),
        ("**Verify**: `test -f x`", ["test -f x"]),
        ("**Verify**:\n- `grep -q x y`\n- `test -f x` and `false`", ["grep -q x y", "test -f x", "false"]),
        ("**Verify**:\n- `make a`\n- pytest -q", ["make a", "pytest -q"]),
        ("**Tests**:\n\n```\nmake a\nany program\n```", ["make a", "any program"]),
    ],
)
def test_other_words_for_test_commands_count(text: str, commands: list[str]):
    """Other words for `Test commands` count if only commands follow them (C3)."""
    plan = plan_of(f"## Task 1: a\n\n{text}\n\nx\n")
    assert plan.findings == []
    assert plan.tasks[0].test_commands == commands


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("**Tests**: cover the empty list", "3: task 1: 'cover the empty list'"),
        ("**Verify**: test -f x", "3: task 1: 'test -f x'"),
        ("**Verify**: make sure that `x` is set", "3: task 1: 'make sure that `x` is set'"),
        ("**Test**: Go through the form.", "3: task 1: 'Go through the form.'"),
        ("**Tests**:\n- `make a`\n- the empty list", "5: task 1: 'the empty list'"),
        ("**Checks**: the list is sorted", "3: task 1: 'the list is sorted'"),
    ],
)
def test_a_sentence_about_tests_is_no_command(text: str, what: str):
    """A description of tests stays text, and a warning says that this check will not run (C3)."""
    plan = plan_of(f"## Task 1: a\n\n{text}\n\nx\n")
    lost = "these checks" if "\n" in text else "this check"
    why = f"{what} is not recognized as a command, so {lost} will not run"
    assert found(plan, error=False) == [f"plan.md:{why} (if it is a command, put it in backticks)"]
    assert [finding.kind for finding in plan.findings] == ["field"]
    assert plan.tasks[0].test_commands == []


def test_a_label_for_tests_above_a_sentence_is_no_field():
    """A paragraph below `**Verify**:` stays text, and a warning names the label for commands (C3)."""
    plan = plan_of("## Task 1: a\n\n**Verify**:\n\nMake sure.\n")
    hint = "if it is the field, write: **Test commands**: …"
    assert found(plan, error=False) == [f"plan.md:3: task 1: '**Verify**:' is read as text ({hint})"]
    assert plan.tasks[0].test_commands == []


@pytest.mark.parametrize("label", ["Owner", "Assignee", "Assigned to"])
def test_an_owner_is_the_agent(label: str):
    """`**Owner**: reviewer` names the agent; an unknown one is a warning like any other (C3)."""
    plan = plan_of(f"## Task 1: a\n**{label}**: reviewer\n\nx\n", agents=["reviewer"])
    assert (plan.tasks[0].agent, plan.findings) == ("reviewer", [])
    plan = plan_of(f"## Task 1: a\n**{label}**: Jane\n\nx\n", agents=["reviewer"])
    assert [finding.kind for finding in plan.findings] == ["agent"]


@pytest.mark.parametrize(
    "line",
    [
        "Depends on task 1 and 2.",
        "- This is blocked by Task #1.",
        "Start it only after task 1 is done.",
        "It requires tasks 1 and 2",
    ],
)
def test_a_sentence_about_other_tasks_is_a_warning(line: str):
    """A dependency in a sentence stays text, and a warning has its line, unless a field has that task (C3)."""
    plan = plan_of(f"## Task 1: a\n\nx\n\n## Task 2: b\n\nx\n\n## Task 3: c\n\nx\n{line}\n")
    hint = "if it is the field, write: **Depends on**: …"
    assert found(plan, error=False) == [f"plan.md:12: task 3: {line!r} is read as text ({hint})"]
    assert plan.findings[0].kind == "dependency"
    assert plan_of(f"## Task 1: a\n\nx\n\n## Task 2: b\n\n{line}\n\n**Depends on**: 1\n").findings == []
    assert plan_of(f"## Task 1: a\n\n{line}\n").findings == []


@all_of("line", OWN_WORDS)
def test_labels_of_the_author_are_no_mistakes(line: str):
    """Other labels and sentences cause no warning."""
    assert plan_of(f"## Task 1: a\n\n{line}\n\nx\n").findings == []


CRITERIA = {
    "a text": ("- it works", "it works"),
    "several lines": ("- it works\n  on Mondays\n  - and Tuesdays", "it works\non Mondays\nand Tuesdays"),
    "a command": ("- it works\n  - Command: `make`", {"command": "make"}),
    "a verification command": ("- it works\n  - Verification Command: make", {"command": "make"}),
    "bold names": ("1. it works\n   - **Command**: make\n   - **Expected:** ok", {"command": "make", "expected": "ok"}),
    "in any case": ("1. it works\n   COMMAND: make\n   expected: ok", {"command": "make", "expected": "ok"}),
    "globs": ("- it works\n  Command: ls src/**/*.py", {"command": "ls src/**/*.py"}),
    "a colon": ("- it works\n  Command: curl http://x:1", {"command": "curl http://x:1"}),
    "on the next line": ("- it works\n  Command:\n    make all", {"command": "make all"}),
    "in a fence": ("- it works\n  Command:\n  ```\n  make all\n  ```", {"command": "make all"}),
    "only expected": ("- it works\n  Expected: ok", {"expected": "ok"}),
    "all": (
        "- it works\n  Command: a\n  Expected: b\n  Description: c",
        {"command": "a", "expected": "b", "description": "c"},
    ),
}


@all_of("label", ["Success Criteria", "Structured Criteria", "Integration Criteria"])
@all_of("name", CRITERIA)
def test_a_criterion_and_its_verification(label: str, name: str):
    """A criterion has its text, and the command, the expected answer and the description below it."""
    body, expected = CRITERIA[name]
    task = task_of(f"**{label}**:\n{body}\n")
    documents = [item.document() for item in [*task.success_criteria, *task.integration_criteria]]
    assert documents == [expected if isinstance(expected, str) else {"criterion": "it works", "verification": expected}]


def test_an_agent_is_one_name():
    """Marks around an agent's name do not count, an empty name is none, and more than a name is a warning."""
    assert [
        task_of(f"**Agent**: {name}\nx").agent for name in ("`dev`", "@dev", "**dev**", "dev (the old one)", "dev,")
    ] == ["dev"] * 5
    assert task_of("**Agent**: none\nx").agent == ""
    plan = plan_of("## Task 1: a\n**Agent**: dev or nobody\n\nx\n")
    assert plan.tasks[0].agent == "dev"
    assert found(plan, error=False) == ["plan.md:2: task 1: of 'dev or nobody' only 'dev' is read (name one agent)"]


@pytest.mark.parametrize(
    ("text", "allowed", "warnings"),
    [("**Allow empty**: yes", True, 0), ("**Allow Empty:** no", False, 0), ("**Allow empty**: perhaps", False, 1)],
)
def test_allow_empty_is_yes_or_no(text: str, allowed: bool, warnings: int) -> None:
    """Any other value is no, with a warning."""
    plan = plan_of(f"# P\n\n## Task 1: Look\n{text}\n\nLook around.\n")
    assert plan.tasks[0].allow_empty is allowed
    assert len(plan.findings) == warnings
