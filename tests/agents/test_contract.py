"""The agent contract describes the program correctly, and each agent's instructions contain it once."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.test_prompts import commands, parsed
from sow.agents import crew_briefing, prompts
from sow.agents.registry import AgentRegistry
from sow.domain.note import AUTHORITY_CATEGORIES, SELF_CATEGORIES
from sow.domain.workflows import contract_block, design_checks
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT
from sow.plans import workflow_plan

if TYPE_CHECKING:
    from conftest import Repo

CONTRACT = prompts.load(crew_briefing.CONTRACT)
DOER = ("completion_drive_review", "ready_for_verification", "blocked", "working")


def rows(text: str) -> list[list[str]]:
    """The cells of every line of every table, but for heads and rules."""
    result = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("| ") and not lines[at + 1].startswith("|---"):
            result.append([cell.strip() for cell in line.strip("|").split("|")])
    return result


def test_the_contract_has_every_part_that_issue_1_asks_for() -> None:
    """Escalation rules, files to read and write, status updates, notes, the turn's life, crashes and time-outs."""
    for name in (
        "## When your turn starts: read",
        "## While you work: write",
        "MUST ESCALATE",
        "CAN SELF-RESOLVE",
        "When in doubt, escalate.",
        "## How your turn ends",
        "## When something goes wrong",
        "crash",
        "time-out",
        "agent_instructions.md",
        "shared_status.json",
        "session_current.json",
        "verification_results.json",
        "task_output/",
    ):
        assert name in CONTRACT, name


def test_the_contract_sorts_the_categories_as_the_rules_do() -> None:
    """What must be escalated is what the program refuses to let an agent resolve, and no more."""
    must, _, can = CONTRACT.partition("CAN SELF-RESOLVE")
    assert tuple(row[0] for row in rows(must)) == AUTHORITY_CATEGORIES
    assert tuple(row[0] for row in rows(can) if row[0] in SELF_CATEGORIES) == SELF_CATEGORIES


def test_the_contract_lists_the_transitions_of_the_table() -> None:
    """Each move of the contract is one of the lifecycle, and each of the lifecycle is there, but for a person's."""
    messages = {(row[0], row[1]) for row in rows(CONTRACT.partition("| from | to |")[2]) if len(row) == 4}
    failing = {move for move in WORKFLOW_AGENT.moves if move[1] == "failed"}
    told_plain = messages - {("any running status", "failed")}
    assert told_plain <= set(WORKFLOW_AGENT.moves)
    left = set(WORKFLOW_AGENT.moves) - told_plain - failing
    assert left == {("failed", "working"), ("verified", "working")}


def test_an_agent_is_told_only_of_its_own_moves_as_commands() -> None:
    """Every status that the contract has a command for is one that an agent may set, and all of those are there."""
    calls = [parsed(line) for line in commands(CONTRACT)]
    assert {values["value"] for command, values in calls if command.name == "workflow set"} == set(DOER)


def test_an_agent_reads_its_own_name_and_the_full_path(repo: Repo) -> None:
    """With SOW_TASK, the name of an agent, every command is ready to run."""
    out = repo.ok("prompt", "protocol/agent-contract", SOW_TASK="database_agent").out
    assert "`sow " not in out and "\nsow " not in out
    assert "/sow note add --description" in out


@pytest.mark.parametrize("name", ["x; rm -rf /", "../etc", "Database", "a b", "-x"])
def test_a_mark_that_is_no_agent_is_refused(repo: Repo, name: str) -> None:
    """A broken SOW_TASK does not end up in a command that an agent runs."""
    result = repo.sow("prompt", "protocol/agent-contract", SOW_TASK=name)
    assert result.code == 2 and result.out == ""


texts = st.text(st.sampled_from("ab# \n-<!>"), max_size=60)


@given(texts, texts, texts)
def test_the_contract_is_put_once_and_replaced_as_a_whole(before: str, old: str, new: str) -> None:
    """Whatever contract was there goes, the architect's words stay, and putting it again changes nothing."""
    first = contract_block.set_contract(before, old)
    second = contract_block.set_contract(first, new)
    assert second == contract_block.set_contract(before, new) == contract_block.set_contract(second, new)
    assert contract_block.remove_blocks(second) == contract_block.remove_blocks(before)
    assert second.count(contract_block.START) == second.count(contract_block.END) == 1


def test_words_below_the_contract_are_kept() -> None:
    """What somebody wrote after the block is the architect's, too."""
    text = contract_block.set_contract("# a\n", "old").rstrip() + "\nmore\n"
    assert (
        contract_block.set_contract(text, "new")
        == f"# a\n\nmore\n\n{contract_block.START}\n\nnew\n\n{contract_block.END}\n"
    )


def test_a_block_that_was_never_closed_does_not_swallow_a_second_contract() -> None:
    """A cut-off end is fixed by the next writing."""
    text = f"# a\n\n{contract_block.START}\nhalf of it\n"
    assert contract_block.set_contract(text, "new") == contract_block.set_contract("# a\n", "new")


def fenced(name: str) -> list[str]:
    return re.findall(r"````markdown\n(.*?)````", prompts.load(name), re.S)


def test_the_plan_in_the_guidance_is_one_that_passes_every_check() -> None:
    """An architect that copies the guidance's plan and instructions has no finding to fix."""
    plan_text, instructions = fenced("guidance/workflow-architect/coordination-plan")
    plan = workflow_plan.read(plan_text)

    def own(member: Member) -> str:
        text = instructions.replace("database_agent", member.name)
        named = "\n".join(f"- {item}" for item in (*member.inputs, *member.outputs))
        return text.replace("## Success Criteria", f"{named}\n## Success Criteria")

    texts = {member.name: own(member) for member in plan.members} | {"database_agent": instructions}
    findings = design_checks.findings(plan, texts, AgentRegistry().names(), existing=[])
    assert [finding.document() for finding in findings if finding.error] == []
    assert plan.order == [["database_agent"], ["api_agent", "docs_agent"]]


@pytest.mark.parametrize("role", ["verifier", "design-verifier", "solution-architect"])
def test_a_role_with_guidance_for_workflows_gets_it(role: str) -> None:
    """In a workflow these roles are told how they work there, with the full path of sow in every command."""
    text = crew_briefing.workflow_role_prompt(AgentRegistry().get(role), "/opt/sow", "some_desk")
    assert text.startswith("# ") and "in a workflow" in text.split("\n")[0]
    assert "`sow " not in text


def test_every_other_role_is_told_what_it_is() -> None:
    """A role without such guidance is named with its description."""
    text = crew_briefing.workflow_role_prompt(AgentRegistry().get("implementer"), "/opt/sow", "api_agent")
    assert text == "You play the role of implementer: Code implementation using Test-Driven Development."


def test_a_first_prompt_names_folder_task_and_how_to_end() -> None:
    """An agent finds its instructions, and ends its turn, by what it is told; its commands are real ones."""
    messages = crew_briefing.first_prompt(
        AgentRegistry().get("implementer"), name="api_agent", workflow="w", folder="/r/o/agents/api_agent",
        task_id="x_1727539200", sow="sow",
    )  # fmt: skip
    assert "/r/o/agents/api_agent/agent_instructions.md" in messages and "x_1727539200" in messages
    assert {parsed(line)[0].name for line in commands(messages)} == {"prompt", "workflow set"}


def test_news_has_what_changed_and_nothing_else() -> None:
    """Resolutions, feedback, changed inputs and a lost session are told; nothing new is no text."""
    assert crew_briefing.changes_since_last_turn() == ""
    messages = crew_briefing.changes_since_last_turn(
        feedback="created_at is missing", resolutions={"note_001": "unique"}, outputs=["a.sql: version 2"],
        why="the CLI does not know it",
    )  # fmt: skip
    for name in ("created_at is missing", "note_001: unique", "a.sql: version 2", "does not know"):
        assert name in messages


def test_reminders_hold_commands_that_parse() -> None:
    """What an agent is reminded of can be run as it is."""
    for text in (crew_briefing.reminder("a", "sow"), crew_briefing.next_prompt("", name="a", sow="sow")):
        assert commands(text)
        for line in commands(text):
            assert shlex.split(line) and parsed(line)


def test_the_archivist_says_that_it_is_code_in_a_workflow() -> None:
    """Nobody is sent to play a role there that the program has."""
    assert "In a workflow nobody plays this role" in prompts.load("guidance/archivist/base")
