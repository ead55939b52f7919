"""Starts a workflow's run: recovers what a crash left and loads an approved design."""

from __future__ import annotations

from sow.domain.ids import is_member
from sow.engine.opening import folder_for
from sow.engine.recovery import is_needed, recover
from sow.engine.ship import Ship
from sow.engine.turn import Seat
from sow.errors import SowError, Waiting
from sow.store import workflow_acts, workflow_design
from sow.store.disk import list_folder
from sow.store.workflow import WorkflowFolder
from sow.system import git
from sow.workflows import checking
from sow.workflows.deck import Deck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.agents.registry import AgentRegistry
    from sow.config import Config
    from sow.domain.crew_plan import WorkflowPlan
    from sow.domain.shapes import RunSettings, Workflow
    from sow.store.claim import Claim
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk


def put_in_order(home: Home, environment: Mapping[str, str]) -> list[str]:
    """End what earlier turns left running, restore what was edited by hand, archive sessions that are over."""
    remarks = ["the workflow's state was gone; its last copy is back"] if workflow_design.bring_back(home) else []
    remarks += workflow_acts.mend(home)
    for desk in desks(home):
        if is_needed(desk) and not home.holder(desk.id):
            with home.claim(f"task-{desk.id}", purpose="recovery"):
                remarks += recover(desk, environment)
    return remarks + workflow_acts.archive_left_overs(home)


def desks(home: Home) -> list[MemberDesk]:
    """Return the folder of every agent, verifier and architect that ever had a session here."""
    folder = WorkflowFolder(home)
    return [folder.desk(name) for name in list_folder(f"{home.sow}/local/sessions") if is_member(name)]


def open_deck(
    home: Home,
    config: Config,
    environment: Mapping[str, str],
    *,
    claim: Claim,
    agents: AgentRegistry,
    settings: RunSettings,
    listeners: list[Callable[[dict[str, Any]], None]],
    yes: bool = False,
    seat: type[Seat] = Seat,
) -> tuple[Deck, bool]:
    """Return the workflow with its run, and whether the run continues from an earlier call."""
    workflow = WorkflowFolder(home).workflow()
    plan = _sound(home, agents)
    _refuse_unapproved(workflow, plan, yes=yes)
    workflow_design.replan(home, plan, agents.names())
    folder, continues = folder_for(
        home,
        workflow["id"],
        claim=claim,
        name=workflow["name"],
        branch=_branch(home),
        base=_base(home),
        plans=[{"path": plan.file, "digest": plan.digest}],
        tasks=[member.name for member in plan.members],
        settings=settings,
    )
    ship = Ship(
        home,
        config,
        environment,
        agents=agents,
        folder=folder,
        isolation=None,
        listeners=listeners,
        judges=(),
    )
    return Deck(ship, plan, yes=yes, seat=seat), continues


def _sound(home: Home, agents: AgentRegistry) -> WorkflowPlan:
    """Return the plan, if code finds no error in the design."""
    try:
        design = checking.read(home, agents.names())
    except FileNotFoundError:
        raise SowError(
            "there is no workflow_coordination_plan.md yet", "have it designed: sow workflow design"
        ) from None
    if design.errors:
        first = design.errors[0]
        raise SowError(f"{first.file}:{first.line}: {first.text}", f"{first.hint}; all findings: sow workflow verify")
    checking.put_contracts(home, design)
    return design.plan


def _refuse_unapproved(workflow: Workflow, plan: WorkflowPlan, *, yes: bool) -> None:
    """Refuse a design that nobody approved; of a changed plan, the unchanged parts may run."""
    check, approval = workflow.get("verified"), workflow.get("approval")
    is_verified = check is not None and check["digest"] == plan.digest and check["passed"]
    if not is_verified and (approval is None or yes):
        raise Waiting("the design as it stands was not verified", "sow workflow verify")
    approved = approval["sections"] if approval is not None else {}
    if not yes and not any(approved.get(name) == digest for name, digest in plan.sections.items()):
        raise Waiting("nobody has approved the design as it stands", "sow workflow approve, or add --yes")


def _branch(home: Home) -> str:
    branch = home.checkout.branch()
    if not branch:
        raise SowError(f"HEAD is detached in {home.root}: a workflow works for a branch", "git switch -c feature/NAME")
    return branch


def _base(home: Home) -> str:
    commit = git.run(["rev-parse", "--verify", "--quiet", "HEAD"], cwd=home.root, check=False).strip()
    if not commit:
        raise SowError(f"{home.root} has no commit yet", "make a first one: git commit --allow-empty -m first")
    return commit


def facts(deck: Deck) -> dict[str, object]:
    """Return the fields that the journal keeps when a call begins."""
    run, needs, members = deck.ship.folder.run, deck.needs(), deck.workflow()["members"]
    tasks = [
        {
            "id": name,
            "number": "",
            "name": member["task_id"],
            "agent": member["agent"],
            "needs": needs.get(name, []),
            "estimated_minutes": None,
        }
        for name, member in members.items()
    ]
    return {"run": run["id"], "name": run["name"], "plans": run["plans"], "tasks": tasks, "settings": run["settings"]}
