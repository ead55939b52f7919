"""The agent contract describes the program correctly, and each agent's instructions contain it once."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.test_prompts import commands, parsed
from sow.agents import briefing, crew_briefing
from sow.agents.registry import AgentRegistry
from sow.domain.task import AUTHORITY_CATEGORIES, SELF_CATEGORIES
from sow.domain.workflows import contract_block, design_checks
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT
from sow.plans import workflow_plan

if TYPE_CHECKING:
    from conftest import Repo

CONTRACT = briefing.load_template(crew_briefing.CONTRACT)
DOER = ("completion_drive_review", "ready_for_verification", "blocked", "working")


def rows(text: str) -> list[list[str]]:
    """Returns the cells of every row of every table, without headings and rulers."""
    result = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("| ") and not lines[at + 1].startswith("|---"):
            result.append([cell.strip() for cell in line.strip("|").split("|")])
    return result


def test_the_contract_has_every_required_part() -> None:
    """The contract covers escalation, files, statuses, notes, the life of a turn, crashes and time-outs."""
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


def test_the_contract_lists_the_categories_that_must_be_escalated() -> None:
    """The contract escalates exactly the categories that sow refuses to let an agent resolve."""
    must, _, can = CONTRACT.partition("CAN SELF-RESOLVE")
    assert tuple(row[0] for row in rows(must)) == AUTHORITY_CATEGORIES
    assert tuple(row[0] for row in rows(can) if row[0] in SELF_CATEGORIES) == SELF_CATEGORIES


def test_the_contract_lists_the_transitions_of_the_lifecycle() -> None:
    """The contract has exactly the transitions of the lifecycle, except those of a person."""
    messages = {(row[0], row[1]) for row in rows(CONTRACT.partition("| from | to |")[2]) if len(row) == 4}
    failing = {move for move in WORKFLOW_AGENT.moves if move[1] == "failed"}
    told_plain = messages - {("any running status", "failed")}
    assert told_plain <= set(WORKFLOW_AGENT.moves)
    left = set(WORKFLOW_AGENT.moves) - told_plain - failing
    assert left == {("failed", "working"), ("verified", "working")}


def test_the_contract_has_commands_for_an_agents_own_statuses() -> None:
    """The contract has a command for each status that an agent may set, and for no other."""
    calls = [parsed(line) for line in commands(CONTRACT)]
    assert {values["value"] for command, values in calls if command.name == "workflow set"} == set(DOER)


def test_an_agent_reads_its_own_name_and_the_full_path(repo: Repo) -> None:
    """With SOW_TASK, the name of an agent, every command is ready to run."""
    out = repo.ok("prompt", "protocol/agent-contract", SOW_TASK="database_agent").out
    assert "`sow " not in out and "\nsow " not in out
    assert "/sow note add --description" in out


@pytest.mark.parametrize("name", ["x; rm -rf /", "../etc", "Database", "a b", "-x"])
def test_an_invalid_agent_name_is_refused(repo: Repo, name: str) -> None:
    """An invalid SOW_TASK never becomes part of a command that an agent runs."""
    result = repo.sow("prompt", "protocol/agent-contract", SOW_TASK=name)
    assert result.code == 2 and result.out == ""


texts = st.text(st.sampled_from("ab# \n-<!>"), max_size=60)


@given(texts, texts, texts)
def test_writing_the_contract_again_replaces_it(before: str, old: str, new: str) -> None:
    """An old contract is replaced, the architect's text stays, and a second writing changes nothing."""
    first = contract_block.set_contract(before, old)
    second = contract_block.set_contract(first, new)
    assert second == contract_block.set_contract(before, new) == contract_block.set_contract(second, new)
    assert contract_block.remove_blocks(second) == contract_block.remove_blocks(before)
    assert second.count(contract_block.START) == second.count(contract_block.END) == 1


def test_text_below_the_contract_is_kept() -> None:
    """Text after the contract belongs to the architect, too."""
    text = contract_block.set_contract("# a\n", "old").rstrip() + "\nmore\n"
    assert (
        contract_block.set_contract(text, "new")
        == f"# a\n\nmore\n\n{contract_block.START}\n\nnew\n\n{contract_block.END}\n"
    )


def test_a_contract_without_its_end_mark_is_replaced() -> None:
    """If the end mark is missing, the next writing restores a single contract."""
    text = f"# a\n\n{contract_block.START}\nhalf of it\n"
    assert contract_block.set_contract(text, "new") == contract_block.set_contract("# a\n", "new")


def fenced(name: str) -> list[str]:
    return re.findall(r"````markdown\n(.*?)````", briefing.load_template(name), re.S)


def test_the_example_plan_of_the_guidance_passes_every_check() -> None:
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
def test_a_role_with_workflow_guidance_gets_it(role: str) -> None:
    """The prompt of such a role has that guidance, with the full path of sow in every command."""
    text = crew_briefing.workflow_role_prompt(AgentRegistry().get(role), "/opt/sow", "some_desk")
    assert text.startswith("# ") and "in a workflow" in text.split("\n")[0]
    assert "`sow " not in text


def test_a_role_without_guidance_gets_its_description() -> None:
    """The prompt names a role without guidance and its description."""
    text = crew_briefing.workflow_role_prompt(AgentRegistry().get("implementer"), "/opt/sow", "api_agent")
    assert text == "You play the role of implementer: Code implementation using Test-Driven Development."


def test_the_first_prompt_names_folder_and_task() -> None:
    """The prompt names the agent's instructions and the commands that end its turn, and these parse."""
    messages = crew_briefing.first_prompt(
        AgentRegistry().get("implementer"), name="api_agent", workflow="w", folder="/r/o/agents/api_agent",
        task_id="x_1727539200", sow="sow",
    )  # fmt: skip
    assert "/r/o/agents/api_agent/agent_instructions.md" in messages and "x_1727539200" in messages
    assert {parsed(line)[0].name for line in commands(messages)} == {"prompt", "workflow set"}


def test_the_news_has_only_what_changed() -> None:
    """The news has resolutions, feedback, changed inputs and a lost session; without any it is empty."""
    assert crew_briefing.changes_since_last_turn() == ""
    messages = crew_briefing.changes_since_last_turn(
        feedback="created_at is missing", resolutions={"note_001": "unique"}, outputs=["a.sql: version 2"],
        why="the CLI does not know it",
    )  # fmt: skip
    for name in ("created_at is missing", "note_001: unique", "a.sql: version 2", "does not know"):
        assert name in messages


def test_reminders_hold_commands_that_parse() -> None:
    """Every command in a reminder parses."""
    for text in (crew_briefing.reminder("a", "sow"), crew_briefing.next_prompt("", name="a", sow="sow")):
        assert commands(text)
        for line in commands(text):
            assert shlex.split(line) and parsed(line)


def test_the_archivist_prompt_says_that_sow_archives() -> None:
    """In a workflow sow archives by itself, so its prompt gives an agent nothing to do."""
    assert "In a workflow nobody plays this role" in briefing.load_template("guidance/archivist/base")
