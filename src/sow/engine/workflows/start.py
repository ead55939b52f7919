"""Starts a workflow's run: recovers what a crash left and loads an approved design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sow.agents.registry import AgentRegistry
from sow.config import Config
from sow.domain.documents.state import RunSettings, Workflow
from sow.domain.inputs import is_member
from sow.domain.workflows.crew_plan import WorkflowPlan
from sow.engine.consent import load_consents
from sow.engine.runs.run_context import open_run_folder, recover_turn, require_commit, start_fields
from sow.engine.turns.turn import AgentTurn
from sow.engine.workflows import design_check
from sow.engine.workflows.crew_context import CrewContext
from sow.errors import SowError, Waiting
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Claim, list_folder
from sow.store.workflows import design_state, members
from sow.store.workflows.folder import AgentFolder, WorkflowFolder


def recover_workflow(home: Home, environment: Mapping[str, str]) -> list[str]:
    """Ends what earlier turns left running, restores hand-edited state, and archives finished sessions."""
    remarks = ["the workflow's state was gone; its last copy is back"] if design_state.restore(home) else []
    remarks += members.recover(home)
    for folder in session_folders(home):
        remarks += recover_turn(folder, environment)
    return remarks + members.archive_leftover_sessions(home)


def session_folders(home: Home) -> list[AgentFolder]:
    """Returns the folder of every agent, verifier and architect that ever had a session here."""
    folder = WorkflowFolder(home)
    return [folder.agent_folder(name) for name in list_folder(f"{home.sow}/local/sessions") if is_member(name)]


def open_crew(
    home: Home,
    config: Config,
    environment: Mapping[str, str],
    *,
    claim: Claim,
    agents: AgentRegistry,
    settings: RunSettings,
    listeners: list[Callable[[dict[str, Any]], None]],
    yes: bool = False,
    turn: type[AgentTurn] = AgentTurn,
    verbs: Callable[[list[str], Mapping[str, str]], int] | None = None,
) -> tuple[CrewContext, bool]:
    """Returns the workflow with its run, and whether the run continues from an earlier call."""
    workflow = WorkflowFolder(home).workflow()
    plan = _checked_plan(home, agents)
    _refuse_unapproved(workflow, plan, yes=yes)
    design_state.apply_plan(home, plan, agents.names())
    folder, continues = open_run_folder(
        home,
        workflow["id"],
        claim=claim,
        name=workflow["name"],
        branch=require_commit(home, "a workflow"),
        plans=[{"path": plan.file, "digest": plan.digest}],
        tasks=[member.name for member in plan.members],
        settings=settings,
    )
    agreed = load_consents(home, config, environment)
    crew = CrewContext(
        home,
        config,
        environment,
        agents,
        folder,
        listeners,
        agreed,
        verbs=verbs,
        turn_class=turn,
        plan=plan,
        approves_changes=yes,
    )
    return crew, continues


def _checked_plan(home: Home, agents: AgentRegistry) -> WorkflowPlan:
    """Returns the plan, if code finds no error in the design."""
    design = design_check.of_checkout(home, agents.names())
    if design.errors:
        first = design.errors[0]
        raise SowError(f"{first.file}:{first.line}: {first.text}", f"{first.hint}; all findings: sow workflow verify")
    design_check.write_contracts(home, design)
    return design.plan


def _refuse_unapproved(workflow: Workflow, plan: WorkflowPlan, *, yes: bool) -> None:
    """Refuses a design that nobody approved; of a changed plan, the unchanged parts may run."""
    check, approval = workflow.get("verified"), workflow.get("approval")
    is_verified = check is not None and check["digest"] == plan.digest and check["passed"]
    if not is_verified and (approval is None or yes):
        raise Waiting("this version of the design was not verified", "sow workflow verify")
    approved = approval["sections"] if approval is not None else {}
    if not yes and not any(approved.get(name) == digest for name, digest in plan.sections.items()):
        raise Waiting("nobody has approved this version of the design", "sow workflow approve, or add --yes")


def crew_fields(crew: CrewContext) -> dict[str, object]:
    """Returns the fields that the journal keeps when a call begins."""
    needs = crew.needs()
    facts = {"number": "", "estimated_minutes": None}
    return start_fields(
        crew.folder.run,
        [
            {"id": name, "name": member["task_id"], "agent": member["agent"], "needs": needs.get(name, []), **facts}
            for name, member in crew.workflow()["members"].items()
        ],
    )
