"""Computes what a person has to do for a workflow: its inbox items, and the next command."""

from __future__ import annotations

from collections.abc import Mapping

from sow.domain.documents.state import MemberState, Workflow
from sow.domain.inbox import Item, item, waiting_counts
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.domain.workflows.member import is_removed_from_design


def items(workflow: Workflow) -> list[Item]:
    """Returns the questions of its agents, the failed agents, and a design that waits for approval."""
    members = workflow["members"]
    waits = {name: member["dependencies"] for name, member in members.items() if member["status"] not in DONE_STATUSES}
    asking = [name for name, member in members.items() if _asks(member) and not is_removed_from_design(name, workflow)]
    blocked = waiting_counts(members, waits, asking)
    agent_items = [_of_agent(name, members[name], blocked[name]) for name in asking]
    return [*agent_items, *_approval(workflow, len(waits))]


def _asks(member: MemberState) -> bool:
    return "question" in member or member["status"] == "failed"


def _of_agent(name: str, member: MemberState, blocks: int) -> Item:
    kind = "failed" if member["status"] == "failed" else "question"
    if "question" not in member:
        do = f"sow workflow set status working --agent {name}"
        return item(kind, agent=name, text=f"agent {name}", since=member["last_update"] or "", blocks=blocks, do=do)
    question = member["question"]
    number, text, since = f"w{question['number']}", question["text"], question["asked_at"]
    do = f'sow answer {number} "…"'
    return item(kind, agent=name, text=text, number=number, since=since, blocks=blocks, do=do)


def _approval(workflow: Workflow, waiting: int) -> list[Item]:
    """Returns the item for a design that failed its verification, or that no person has approved."""
    check = workflow.get("verified")
    if check is None or workflow["status"] == "completed":
        return []
    design = f"the design of workflow {workflow['name']} ({check['digest'][:12]})"
    if not check["passed"]:
        text = f"{design} did not pass its verification: see orchestration/verification_report.md"
        return [item("failed", text=text, since=check["at"], blocks=waiting, do=design_command(workflow))]
    if check["digest"] == workflow.get("approval", {}).get("digest"):
        return []
    text = f"{design} waits for your approval"
    return [item("approval", text=text, since=check["at"], blocks=waiting, do="sow workflow approve")]


def changed_agents(workflow: Workflow, sections: Mapping[str, str]) -> list[str]:
    """Returns the agents whose part of the design differs from the approved one, or was removed."""
    approved = workflow.get("approval", {}).get("sections", {})
    return [name for name in {**approved, **sections} if approved and approved.get(name) != sections.get(name)]


def next_step(workflow: Workflow, *, designed: bool, digest: str = "") -> str:
    """Returns the next command. `digest` is that of the design on disk, if the caller has read it."""
    numbers = [member["question"]["number"] for member in workflow["members"].values() if "question" in member]
    if workflow["status"] == "completed":
        return "sow workflow archive"
    if not designed:
        return "sow workflow design"
    if numbers:
        return f'sow answer w{min(numbers)} "…"'
    verified = workflow.get("verified")
    if not verified or (digest and digest != verified["digest"]):
        return "sow workflow verify"
    if not verified["passed"]:
        return design_command(workflow)
    if workflow.get("approval", {}).get("digest") != verified["digest"]:
        return "sow workflow approve"
    return "sow workflow run"


def design_command(workflow: Workflow) -> str:
    """Returns the command that has a workflow designed again."""
    return "sow workflow design --yes" if "approval" in workflow else "sow workflow design"
