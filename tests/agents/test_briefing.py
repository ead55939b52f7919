"""Tests the first prompt of a worker: its role, its task, and the command to set a status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sow.agents import briefing
from sow.agents.registry import Agent, AgentRegistry
from sow.store.files import checkout_home as homes
from sow.store.projects import project as projects
from sow.store.projects import task_folder

if TYPE_CHECKING:
    from conftest import Repo

    from sow.store.projects.task_folder import TaskFolder

SOW = "/opt/tools/sow"
WORDS = "Write Swift. Say `sow task show {id}` as it stands."


def define(repo: Repo, name: str, more: str = "") -> Agent:
    folder = repo.root / ".claude/agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: d\n{more}---\n\n{WORDS}\n")
    return AgentRegistry(root=str(repo.root)).get(name)


@pytest.fixture
def own_folder(task_repo: Repo) -> TaskFolder:
    home = homes.find(option=str(task_repo.root), environment={}, cwd=str(task_repo.root))
    return task_folder.find(home, projects.load(home), "010")


def told(agent: Agent, own_folder: TaskFolder, *, delegates: bool = False, packet: str = "") -> str:
    return briefing.first_prompt(agent, own_folder, own_folder.task(), SOW, delegates=delegates, packet=packet)


def test_the_task_prompt_begins_with_an_absolute_path(own_folder: TaskFolder) -> None:
    """The prompt names the task, its folder, the worker's role, and the first and last call of the turn."""
    lines = briefing.task_prompt(own_folder, own_folder.task(), SOW).split("\n")
    assert lines[0] == f"Execute task 010. Location: {own_folder.folder}/"
    assert own_folder.folder.startswith("/")
    assert f"Start with: {SOW} task show 010" in lines
    assert any(line.startswith(f"End your turn with: {SOW} task set --id 010 status needs_review") for line in lines)


def test_a_built_in_role_starts_with_its_template(own_folder: TaskFolder) -> None:
    """The packaged text comes first, with the full path of sow and the task's id in its commands."""
    text = told(AgentRegistry().get("implementer"), own_folder)
    assert text.startswith("# Implementer\n")
    assert f"\n{SOW} prompt guidance/implementer/base\n" in text
    assert f"`{SOW} task show 010`" in text
    assert briefing.TASK not in text and "`sow " not in text
    assert text.index("# Implementer") < text.index("Execute task 010.")


@pytest.mark.parametrize("role", AgentRegistry().names())
def test_every_built_in_role_loads_its_base_prompt_first(own_folder: TaskFolder, role: str) -> None:
    """The first command in the prompt of each built-in role loads the role's base prompt."""
    text = told(AgentRegistry().get(role), own_folder)
    first = next(line for line in text.split("\n") if line.startswith(f"{SOW} "))
    assert first == f"{SOW} prompt guidance/{role}/base"


def test_a_role_from_a_file_is_used_as_a_subagent(task_repo: Repo, own_folder: TaskFolder) -> None:
    """A CLI with subagents is asked to use the role as one; other CLIs get the text of its file."""
    text = told(define(task_repo, "swiftdev"), own_folder, delegates=True)
    assert text.startswith("use the swiftdev subagent to: Execute task 010.")
    assert WORDS in text


def test_other_clis_get_the_text_of_the_file(task_repo: Repo, own_folder: TaskFolder) -> None:
    """Without subagents the text of the file comes first, unchanged, and the task follows."""
    text = told(define(task_repo, "swiftdev"), own_folder)
    assert text.startswith(f"{WORDS}\n\nExecute task 010.")
    assert "subagent" not in text


def test_a_file_with_extra_frontmatter_is_sent_as_text(task_repo: Repo, own_folder: TaskFolder) -> None:
    """A CLI would obey the other keys of the frontmatter, so it gets the text and not the name."""
    agent = define(task_repo, "swiftdev", "model: opus\npermissionMode: bypassPermissions\n")
    text = told(agent, own_folder, delegates=True)
    assert text.startswith(WORDS) and "subagent" not in text and "bypassPermissions" not in text


def test_a_file_for_a_built_in_role_is_sent_as_text(task_repo: Repo, own_folder: TaskFolder) -> None:
    """A built-in role belongs to sow, so the prompt does not name a subagent of the CLI."""
    text = told(define(task_repo, "implementer"), own_folder, delegates=True)
    assert text.startswith(WORDS) and "subagent" not in text


def test_a_role_from_a_file_is_pointed_to_the_contract(task_repo: Repo, own_folder: TaskFolder) -> None:
    """The file says nothing about sow, so the prompt names the contract, and the contract exists."""
    for delegates in (True, False):
        text = told(define(task_repo, "swiftdev"), own_folder, delegates=delegates)
        assert f"\n\nHow a worker works here, whatever its role: {SOW} prompt guidance/common/contract\n" in text
    assert briefing.load_template("guidance/common/contract")


def test_placeholders_in_a_users_file_are_not_filled(task_repo: Repo, own_folder: TaskFolder) -> None:
    """Only packaged prompts have placeholders; the text of a user's file stays as it is."""
    assert "`sow task show {id}`" in told(define(task_repo, "swiftdev"), own_folder)


def test_a_linked_role_file_is_read(task_repo: Repo, own_folder: TaskFolder) -> None:
    """A role file that is a symbolic link of the user is read through the link."""
    home = task_repo.root.parent / "home"
    (home / ".claude/agents").mkdir(parents=True)
    (home / "dotfiles.md").write_text(f"---\nname: swiftdev\ndescription: d\n---\n{WORDS}\n")
    (home / ".claude/agents/swiftdev.md").symlink_to(home / "dotfiles.md")
    agent = AgentRegistry(user_home=str(home)).get("swiftdev")
    assert WORDS in told(agent, own_folder)


def test_a_fresh_session_is_told_what_it_takes_over(own_folder: TaskFolder) -> None:
    """The prompt says why the earlier session is gone, where its work is, and not to start over."""
    packet = briefing.handover(own_folder.task(), SOW, why="the CLI does not know it any more")
    text = told(AgentRegistry().get("implementer"), own_folder, packet=packet)
    assert "the CLI does not know it any more" in text and "Do not start over" in text
    assert f"\n{SOW} task show 010\n" in text


def test_the_reminder_names_the_three_ways_to_end_a_turn() -> None:
    """A worker that set no status is shown its choices with the real commands."""
    text = briefing.reminder("010", SOW)
    assert f"`{SOW} task set --id 010 status needs_review`" in text
    assert "paused" in text and "failed" in text and f"{SOW} note list --task 010" in text


def test_a_prompt_has_only_the_latest_decisions(task_repo: Repo, own_folder: TaskFolder) -> None:
    """A prompt has the latest decisions up to a size, and the path of the file with the older ones (B3)."""
    for number in range(4):
        task_repo.ok("project", "remember", f"Rule {number} " + "x" * 3000)
    part = briefing.project_part(own_folder.home)
    assert [f"Rule {number} " in part for number in range(4)] == [False, False, True, True]
    assert "| Older decisions: " in part
    assert len(part) < briefing.MOST_DECISIONS + 1000
