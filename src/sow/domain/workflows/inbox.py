"""Lists the questions of a workflow as inbox items."""

from __future__ import annotations

from sow.domain.inbox import Item, item, waiting_counts
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.domain.workflows.member import is_removed_from_design

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import MemberState, Workflow


def items(workflow: Workflow) -> list[Item]:
    """Return the questions of its agents, the failed agents, and a design that waits for approval."""
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
    """Return the item for a verified design that no person has approved, unless the workflow is completed."""
    check = workflow.get("verified")
    approved = workflow.get("approval", {}).get("digest")
    if check is None or not check["passed"] or check["digest"] == approved or workflow["status"] == "completed":
        return []
    text = f"the design of workflow {workflow['name']} ({check['digest'][:12]}) waits for your approval"
    return [item("approval", text=text, since=check["at"], blocks=waiting, do="sow workflow approve")]
