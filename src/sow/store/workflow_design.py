"""The design of a workflow as its state has it: begun, checked, approved, and what its plan says of the crew."""

from __future__ import annotations

import os

from sow.domain import member
from sow.domain import text as texts
from sow.domain.crew_plan import role_of
from sow.domain.ids import is_member
from sow.errors import SowError
from sow.store import kept, workflow_archive
from sow.store.schema import VERSION
from sow.store.workflow import COPY, WorkflowFolder
from sow.store.workflow_opened import Opened
from sow.store.workflow_questions import DROPPED, withdraw
from sow.system import clock, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.actor import Actor
    from sow.domain.crew_plan import Member, WorkflowPlan
    from sow.domain.shapes import MemberState, Workflow
    from sow.store.home import Home


def new(home: Home, name: str, summary: str) -> WorkflowFolder:
    """Begin a workflow: its summary, then its state; refused where there is one."""
    if not is_member(name):
        raise SowError(
            f"{name!r:.80} is not the name of a workflow", "begin with a letter, then letters, digits, _ and -"
        )
    folder = WorkflowFolder(home)
    with home.lock():
        workflow_archive.finish(home)
        if folder.exists():
            raise SowError(
                f"there is a workflow already: {Opened(home).workflow['name']}",  # whole, if a call was cut off
                "go on with it (sow workflow status), or put it away: sow workflow archive",
            )
        now = clock.now()
        workflow: Workflow = {
            "id": identity.uuid4(),
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
            folder.write(folder.summary_path(name), home.struck(summary))
        folder.save({"schema_version": VERSION, "revision": 0, "workflow": workflow})
    return folder


def checked(home: Home, *, digest: str, sections: Mapping[str, str], passed: bool, by: str) -> None:
    """Write down the outcome of a check of the design."""
    with home.lock():
        opened = Opened(home)
        opened.workflow["verified"] = {
            "digest": digest,
            "sections": dict(sections),
            "passed": passed,
            "at": clock.now(),
            "by": by,
        }
        opened.folder.save(opened.loaded)


def approve(home: Home, *, digest: str, sections: Mapping[str, str], actor: Actor, how: str) -> None:
    """A person's word on the design as it was checked."""
    with home.lock():
        opened = Opened(home)
        check = opened.workflow.get("verified")
        if check is None or not check["passed"] or check["digest"] != digest:
            raise SowError("the plan was not checked as it is now", "check it first: sow workflow verify")
        opened.workflow["approval"] = {
            "digest": digest,
            "sections": dict(sections),
            "by": texts.line(actor.name, "the name", 200),
            "at": clock.now(),
            "how": how,
        }
        opened.folder.save(opened.loaded)


def replan(home: Home, plan: WorkflowPlan, known_agents: Sequence[str], *, only: Sequence[str] | None = None) -> None:
    """Take the crew from the plan: new agents are pending, known ones keep what they have done.

    With `only`, the sections of other agents stay as they are. Who is in no plan any more goes, unless it has begun;
    and once a person has approved that, nobody is asked what such an agent wanted to know.
    """
    with home.lock():
        opened = Opened(home)
        workflow = opened.workflow
        before = workflow["members"]
        crew: dict[str, MemberState] = {}
        for each in plan.members:
            known = before.get(each.name)
            if known is not None and only is not None and each.name not in only:
                crew[each.name] = known
            else:
                crew[each.name] = _planned(each, role_of(each, known_agents), known)
        word = workflow.get("approval", {}).get("sections", {})  # without a new one nobody is dropped
        left = {name: each for name, each in before.items() if name not in crew and (name in word or _stays(each))}
        workflow["members"] = {**crew, **left}
        for name in left:
            if member.is_dropped(name, workflow):
                withdraw(opened, name, DROPPED)
        workflow["task_id"] = plan.task_id or workflow["task_id"]
        workflow["plan_digest"] = plan.digest
        for name in crew:
            opened.desk(name).make()
        opened.folder.save(opened.loaded)


def _stays(member: MemberState) -> bool:
    """Whether an agent that is not in the plan is kept: it has begun, or the Executor gave it its task."""
    return member["status"] != "pending" or member["kind"] == "solution_architect"


def _planned(planned: Member, agent: str, known: MemberState | None) -> MemberState:
    """An agent as the plan has it, with what it has done so far."""
    fresh = member.new(planned, agent=agent)
    if known is None or known["status"] == "pending":
        return fresh
    changed: MemberState = {**known}
    for field in ("kind", "agent", "verifier", "dependencies"):
        changed[field] = fresh[field]
    return changed


def bring_back(home: Home) -> bool:
    """Restore the workflow of this branch that git took away under a run; whether anything came back."""
    folder = WorkflowFolder(home)
    if folder.exists():
        return False
    from sow.store import restoring

    owner = kept.owner_on(home, home.checkout.branch(), COPY)
    with home.lock():
        return bool(owner) and restoring.bring_back(home, owner, COPY, folder.state_path)
