"""Creates a workflow, records the checks and approval of its design, and takes its crew from the plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sow.domain import inputs as texts
from sow.domain.documents.state import MemberState, Workflow
from sow.domain.inputs import is_member
from sow.domain.task import Actor
from sow.domain.workflows import member
from sow.domain.workflows.crew_plan import Member, WorkflowPlan, role_of
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.formats import VERSION
from sow.store.workflows import archive
from sow.store.workflows.folder import COPY, WorkflowFolder
from sow.store.workflows.question_updates import DROPPED, withdraw
from sow.store.workflows.transaction import WorkflowLock, WorkflowTransaction
from sow.system import clock


def create(home: Home, name: str, summary: str) -> WorkflowFolder:
    """Creates a workflow: its summary, then its state; raises if there is one."""
    if not is_member(name):
        raise SowError(
            f"{name!r:.80} is not the name of a workflow", "begin with a letter, then letters, digits, _ and -"
        )
    folder = WorkflowFolder(home)
    with home.lock():
        archive.finish(home)
        if folder.exists():
            existing = WorkflowTransaction(home).workflow["name"]  # repairs an interrupted call
            raise SowError(
                f"there is a workflow already: {existing}",
                "continue it (sow workflow status), or archive it: sow workflow archive",
            )
        now = clock.now()
        workflow: Workflow = {
            "id": clock.uuid4(),
            "name": name,
            "task_id": name,
            "status": "pending",
            "branch": home.checkout.branch(),
            "created_at": now,
            "updated_at": now,
            "question_number": 0,
            "members": {},
            "escalations": [],
        }
        folder.make_folder("agents")
        if summary or not os.path.lexists(folder.summary_path(name)):
            folder.write(folder.summary_path(name), home.redact(summary))
        folder.save({"schema_version": VERSION, "revision": 0, "workflow": workflow})
    return folder


def record_check(home: Home, *, digest: str, sections: Mapping[str, str], passed: bool, by: str) -> None:
    """Records the result of a check of the design."""
    with WorkflowLock(home) as opened:
        opened.workflow["verified"] = {
            "digest": digest,
            "sections": dict(sections),
            "passed": passed,
            "at": clock.now(),
            "by": by,
        }
        opened.folder.save(opened.loaded)


def approve(home: Home, *, digest: str, sections: Mapping[str, str], actor: Actor, how: str) -> None:
    """Records a person's approval of the checked design."""
    with WorkflowLock(home) as opened:
        check = opened.workflow.get("verified")
        if check is None or not check["passed"] or check["digest"] != digest:
            raise SowError("the plan was not checked as it is now", "check it first: sow workflow verify")
        opened.workflow["approval"] = {
            "digest": digest,
            "sections": dict(sections),
            "by": texts.checked_line(actor.name, "the name", 200),
            "at": clock.now(),
            "how": how,
        }
        opened.folder.save(opened.loaded)


def apply_plan(home: Home, plan: WorkflowPlan, known_agents: Sequence[str]) -> None:
    """Takes the crew from the plan: new agents are pending, existing ones keep their progress.

    An agent that is in no plan any more leaves, unless it has begun; once a person has approved that, its open question
    is withdrawn.
    """
    with WorkflowLock(home) as opened:
        workflow = opened.workflow
        before = workflow["members"]
        crew = {
            planned.name: _planned(planned, role_of(planned, known_agents), before.get(planned.name))
            for planned in plan.members
        }
        approved = workflow.get("approval", {}).get("sections", {})  # without an approval no agent is dropped
        left = {
            name: state for name, state in before.items() if name not in crew and (name in approved or _stays(state))
        }
        workflow["members"] = {**crew, **left}
        for name in left:
            if member.is_removed_from_design(name, workflow):
                withdraw(opened, name, DROPPED)
        workflow["task_id"] = plan.task_id or workflow["task_id"]
        workflow["plan_digest"] = plan.digest
        for name in crew:
            opened.agent_folder(name).make_folders()
        opened.folder.save(opened.loaded)


def _stays(member: MemberState) -> bool:
    """Returns whether an agent that is not in the plan stays: it has begun, or the Executor gave it its task."""
    return member["status"] != "pending" or member["kind"] == "solution_architect"


def _planned(planned: Member, agent: str, current: MemberState | None) -> MemberState:
    """Returns an agent as planned, with its progress so far."""
    fresh = member.new(planned, agent=agent)
    if current is None or current["status"] == "pending":
        return fresh
    changed: MemberState = {**current}
    for field in ("kind", "agent", "verifier", "dependencies"):
        changed[field] = fresh[field]
    return changed


def restore(home: Home) -> bool:
    """Restores this branch's workflow that git removed during a run; returns whether anything was restored."""
    folder = WorkflowFolder(home)
    if folder.exists():
        return False
    from sow.store.projects import restore

    owner = state_file.newest_owner(home, home.checkout.branch(), COPY)
    with home.lock():
        return bool(owner) and restore.restore_file(home, owner, COPY, folder.state_path)[1]
