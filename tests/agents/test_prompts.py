"""Every packaged prompt is correct: its commands parse, and its references exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.docs_commands import commands, parsed
from support.quick_cases import all_of

from sow.agents import briefing
from sow.agents.crew_briefing import CONTRACT
from sow.agents.registry import JUDGES, STANDARD_AGENTS
from sow.domain.task import AUTHORITY_CATEGORIES, SELF_CATEGORIES, TASK
from sow.errors import SowError

if TYPE_CHECKING:
    from conftest import Repo

ROLES = [agent.name for agent in STANDARD_AGENTS]
NAMES = briefing.template_names()
READING = ("prompt", "status", "inbox", "task show", "task list", "agent list", "phase list", "note list")


def references(name: str) -> set[str]:
    """Returns the prompts that a prompt refers to."""
    calls = [parsed(line) for line in commands(briefing.load_template(name))]
    return {values["name"] for command, values in calls if command.name == "prompt" and not values["list"]}


@all_of("name", NAMES)
def test_every_command_in_a_prompt_parses(name: str) -> None:
    """Each `sow …` of each packaged prompt is a call that the real parser takes."""
    for line in commands(briefing.load_template(name)):
        parsed(line)


@all_of("name", NAMES)
def test_commands_in_prompts_use_existing_values(name: str) -> None:
    """Prompts name only statuses and roles that exist."""
    for line in commands(briefing.load_template(name)):
        command, values = parsed(line)
        if command.name == "task set" and values["field"] == "status":
            assert values["value"] in TASK.statuses, line
        if command.name in ("agent spawn", "task create"):
            assert values["agent"] in ROLES, line


@all_of("name", NAMES)
def test_every_referenced_prompt_exists(name: str) -> None:
    """Every prompt that another prompt names is packaged."""
    for reference in references(name):
        assert briefing.load_template(reference)


@pytest.mark.parametrize(
    "line",
    [
        "sow nonsense",
        "sow task nonsense 010",
        "sow task create",
        "sow task show 010 020",
        "sow note add --description x",
        "sow note add --description x --context y --category taste",
        "sow agent log two words",
    ],
)
def test_a_wrong_command_in_a_prompt_is_found(line: str) -> None:
    """The check finds an unknown call in a fence and in backticks."""
    assert commands(f"```bash\n{line}\n```\nor `{line}`") == [line, line]
    with pytest.raises(SowError):
        parsed(line)


@all_of("role", ROLES)
def test_every_role_starts_with_a_template_that_loads_its_guidance(role: str) -> None:
    """The template is short and tells the worker to load its own base prompt, before anything else."""
    text = briefing.load_template(f"templates/{role}")
    assert 15 <= text.count("\n") <= 40
    first = commands(text)[0]
    assert first == f"sow prompt guidance/{role}/base"
    assert briefing.load_template(f"guidance/{role}/base")


@all_of("name", [name for name in NAMES if name.startswith("guidance/")])
def test_guidance_can_be_read_in_a_minute(name: str) -> None:
    """Guidance has 20 to 80 lines and a heading that says what it is."""
    text = briefing.load_template(name)
    assert 20 <= text.count("\n") <= 80
    assert text.startswith("# ")


def test_every_prompt_is_reachable() -> None:
    """Every prompt is a role's template, is for roles from files, or is named by a reachable prompt."""
    waiting = [*(f"templates/{role}" for role in ROLES), "guidance/common/contract", CONTRACT]
    reached = set(waiting)
    while waiting:
        for reference in references(waiting.pop()) - reached:
            reached.add(reference)
            waiting.append(reference)
    assert reached == set(NAMES)


@all_of("name", NAMES)
def test_no_prompt_names_a_path_below_the_state_folder(name: str) -> None:
    """State is not in the worktree, so prompts name `sow task show` and $SOW_DESK instead."""
    assert ".sow" not in briefing.load_template(name)


@all_of("name", NAMES)
def test_rendering_leaves_no_placeholder(name: str) -> None:
    """After rendering no placeholder is left in any command."""
    rendered = briefing.render(briefing.load_template(name), sow="sow", task="070")
    assert not [line for line in commands(rendered) if "{" in line]
    assert briefing.TASK not in rendered


def test_only_the_orchestrator_gets_commands_that_workers_may_not_run() -> None:
    """No prompt for a worker contains a command that sow refuses to workers."""
    refused = ("approve", "answer", "agent spawn", "agent resume", "feedback add", "task abandon", "phase advance")
    for name in NAMES:
        if "orchestrator" not in name:
            calls = [parsed(line) for line in commands(briefing.load_template(name))]
            assert not [command.name for command, _ in calls if command.name in refused], name
            assert not [values for _, values in calls if values.get("value") == "completed"], name


def test_the_orchestrator_prompt_says_when_to_spawn() -> None:
    """The template has the rules for project code and trivial work, and the guidance has each pattern with commands."""
    template = " ".join(briefing.load_template("templates/orchestrator").split())
    assert "Trivial one-off work" in template and "needs no project" in template
    assert "the code of a project is always spawned" in template
    assert "never write project code yourself" in template
    shown = {
        parsed(line)[0].name
        for name in NAMES
        if "orchestrator" in name
        for line in commands(briefing.load_template(name))
    }
    assert {"agent spawn", "agent resume", "approve", "inbox", "task create", "phase advance", "task show"} <= shown


@pytest.mark.parametrize("role", ["reviewer", "quality-control", "verifier", "design-verifier"])
def test_a_judge_prompt_has_the_verdict_format(role: str) -> None:
    """Every judging role loads the verdict format, and its template forbids changes."""
    assert role in JUDGES
    assert "guidance/common/verdict" in references(f"guidance/{role}/base")
    assert "You change no file" in briefing.load_template(f"templates/{role}")


def test_the_verdict_format_has_its_two_parts() -> None:
    """The example has one line `Quality Control:` with one word, and `Feedback:` after it."""
    text = briefing.load_template("guidance/common/verdict")
    lines = [line for line in text.split("\n") if re.fullmatch(r"Quality Control: (GREEN|YELLOW|RED)", line)]
    assert len(lines) == 1
    assert text.index("\nFeedback:\n") > text.index(lines[0])
    assert all(f"| {word} |" in text for word in ("GREEN", "YELLOW", "RED"))


def test_the_guidance_on_notes_lists_the_categories_that_must_be_escalated() -> None:
    """The guidance escalates exactly the categories that sow refuses to let a worker resolve."""

    must, _, can = briefing.load_template("guidance/common/notes").partition("## What you can settle yourself")
    assert tuple(re.findall(r"^\| (\w+) \|", must, re.M)[1:]) == AUTHORITY_CATEGORIES
    assert tuple(re.findall(r"^\| (\w+) \|", can, re.M)[1:]) == SELF_CATEGORIES


def test_every_reading_command_of_a_prompt_works(task_repo: Repo) -> None:
    """Each command that only reads works in a project, called as the worker of task 010."""
    task_repo.ok("task", "create", "--name", "Review task 010", "--agent", "reviewer")
    rendered = [
        briefing.render(briefing.load_template(name), sow="sow", task="010")
        for name in NAMES
        if "orchestrator" not in name
    ]
    lines = {line for text in rendered for line in commands(text)}
    reading = sorted(line for line in lines if parsed(line)[0].name in READING or "--list" in line)
    assert len(reading) > 30
    for line in reading:
        task_repo.ok(*shlex.split(line)[1:], SOW_TASK="010", SOW_AGENT="implementer", SOW_ROOT=str(task_repo.root))


def test_the_commands_for_notes_and_the_end_of_a_turn_work(task_repo: Repo) -> None:
    """The writing commands of that guidance, run in order, bring the task to needs_review."""
    worker = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}

    def follow(name: str, verb: str) -> str:
        text = briefing.render(briefing.load_template(name), sow="sow", task="010")
        line = next(command for command in commands(text) if parsed(command)[0].name == verb)
        return task_repo.ok(*shlex.split(line)[1:], **worker).out

    assert "open" in follow("guidance/common/notes", "note add")
    refused = task_repo.sow("note", "resolve", "1", "--resolution", "unique", **worker)
    assert refused.code == 2 and "escalate" in refused.err
    assert "escalated" in follow("guidance/common/notes", "note escalate")
    gated = task_repo.sow("task", "set", "--id", "010", "status", "needs_review", **worker)
    assert gated.code == 2 and "open notes" in gated.err
    task_repo.ok("task", "set", "--id", "010", "status", "paused", **worker)
    task_repo.ok("answer", "010", "Yes, unique")
    task_repo.ok("note", "add", "--description", "Lower case?", "--context", "x", "--category", "consistency", **worker)
    assert "agent_self" in follow("guidance/common/notes", "note resolve")
    follow("guidance/common/logging", "agent log")
    follow("guidance/common/logging", "log")
    follow("guidance/common/ending-a-turn", "task set")
    assert task_repo.task("010")["status"] == "needs_review"


@pytest.mark.parametrize(
    "name", ["", "..", "/etc/passwd", "../agent", "guidance", "guidance//implementer/base", "Guidance/implementer/base"]
)
def test_a_prompt_name_cannot_leave_the_package(name: str) -> None:
    """Any name that is no packaged prompt is refused, also one with a path."""
    with pytest.raises(SowError, match=r"failed to load prompt .*: it does not exist"):
        briefing.load_template(name)


def test_rendering_fills_in_the_task_and_the_full_path() -> None:
    """Commands in fences and backticks get the path of sow; words that only begin with "sow" do not."""
    text = "Run `sow task show {id}`.\n```bash\nsow log --task {id} --list\n# sow is small\n```\nsow is a program."
    assert briefing.render(text, sow="/opt/sow", task="070") == (
        "Run `/opt/sow task show 070`.\n```bash\n/opt/sow log --task 070 --list\n# sow is small\n```\nsow is a program."
    )


TWICE = """import sys
from sow.agents import briefing
opened = []
sys.addaudithook(lambda event, found: event == "open" and opened.append(str(found[0])))
texts = [briefing.load_template("templates/implementer") for _ in range(2)]
print(texts[0] == texts[1] != "", sum(path.endswith("implementer.md") for path in opened))
"""


def test_a_prompt_file_is_read_once():
    """A process that needs one prompt many times reads its file once."""
    result = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=300)
    assert result.stdout == "True 1\n", result.stderr
