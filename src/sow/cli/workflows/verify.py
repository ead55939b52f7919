"""Verifies and approves the design of a workflow (`sow workflow verify`, `sow workflow approve`)."""

from __future__ import annotations

from typing import Any

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.cli.agents.turn_output import TurnOutput
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.workflows.show import run_command
from sow.domain.reviews.verdict import Verdict
from sow.domain.task import Actor
from sow.domain.text.units import counted
from sow.domain.workflows.inbox import design_command
from sow.engine.turns.turn import TurnSettings
from sow.engine.workflows import design_check
from sow.engine.workflows.conversation import RoleConversations
from sow.engine.workflows.design import missing
from sow.engine.workflows.design_check import Design
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.workflows.folder import WorkflowFolder
from sow.system.process.child_process import run_to_end
from sow.system.terminal import confirm, err, escape_control, escape_line, is_interactive, out, paint

PASSED, GAPS, ERRORS = 0, 1, 2
APPROVE = "Approve this design, so that it can be run?"


def verify(context: Context, *, no_agent: bool, executor: str, timeout: str, yes: bool, json: bool) -> int:
    home, actor = context.project_home(), context.actor()
    config = context.config()
    agents = config.agents(home.root, context.environment)
    design = design_check.of_checkout(home, agents.names())
    option = f" --executor {executor}" if executor else ""
    if no_agent and yes:
        raise SowError("--no-agent does not verify the design, so --yes cannot approve it", "use one of them")
    if actor.is_worker or (no_agent and not design.errors):  # only the Design Verifier can pass a design
        code = _tell(home, design, None, agents, json=json)
        if not (json or actor.is_worker or design.errors):
            out(f"Next: sow workflow verify{option} (the Design Verifier has not checked the design)")
        return code
    screen = TurnOutput(quiet=json)
    limit = configs.seconds(timeout) if timeout else 0
    settings = TurnSettings(home, config, context.environment, on_event=screen.show, timeout=limit, verbs=context.verbs)
    verdict: Verdict | None = None
    with home.claim("run", purpose="sow workflow verify"):
        design_check.write_contracts(home, design)  # before the agent looks at the files
        if not design.errors:
            conversations = RoleConversations(
                settings, agents, WorkflowFolder(home).workflow()["id"], executor=executor
            )
            verdict = run_to_end(design_check.ask_verifier(conversations, design))
        passed = design_check.passes(design, verdict)
        design_check.record_check(home, design, verdict, agents)
        shown = verdict is not None and screen.has_shown(verdict.feedback)
        code = _tell(home, design, verdict, agents, json=json, shown=shown)
        approved = passed and (yes or (not json and is_interactive() and confirm(APPROVE)))
        if approved:
            _approve(home, design, agents, actor, how="--yes" if yes else "asked on the terminal")
            err(f"approved: {design.plan.digest[:12]}")
    if not json:
        out(f"Next: {_next_command(home, passed=passed, approved=approved)}{option}")
    return code


def _next_command(home: Home, *, passed: bool, approved: bool) -> str:
    """Returns the command that follows a verification, without the executor."""
    if not passed:
        return design_command(WorkflowFolder(home).workflow())
    return "sow workflow run" if approved else "sow workflow approve && sow workflow run"


def _tell(
    home: Home, design: Design, verdict: Verdict | None, agents: AgentRegistry, *, json: bool, shown: bool = False
) -> int:
    passed = design_check.passes(design, verdict)
    code = ERRORS if design.errors else PASSED if passed else GAPS
    if json:
        emit(_document(home, design, verdict, agents, passed=passed))
        return code
    for item in design.complaints:
        kind = "error" if item.error else "warning"
        err(f"{kind}: {escape_line(f'{item.file}:{item.line}: {item.text}')}\nhint: {escape_line(item.hint)}")
    if verdict is not None:
        _tell_verdict(verdict, shown=shown)
    tell_missing(design, agents)
    plan = design.plan
    numbers = {"agent": len(plan.members), "verifier": len(plan.verifiers), "error": len(design.errors)}
    counts = ", ".join(counted(number, noun) for noun, number in numbers.items())
    result = paint("PASSED" if passed else "FAILED", "green" if passed else "red")
    by_code = " by code" if passed and verdict is None else ""
    out(f"{result}{by_code}: {escape_line(plan.name or 'a plan without a name')}, {counts}")
    if not passed:
        out("the next 'sow workflow design' gives these findings to the architect")
    return code


def _tell_verdict(verdict: Verdict, *, shown: bool) -> None:
    out(f"Design Verifier: {escape_line(design_check.verdict_text(verdict))}")
    for finding in verdict.findings:
        scope = f"{finding.get('file', '')} {finding.get('symbol', '')}".strip()
        out(f"  {finding['severity']}: {escape_line(f'{scope}: ' if scope else '')}{escape_line(finding['text'])}")
    if verdict.feedback.strip() and not shown:
        out(escape_control(verdict.feedback.strip()))


def tell_missing(design: Design, agents: AgentRegistry) -> None:
    """Prints the agent types that the plan needs and that do not exist yet."""
    missing_agents = missing(design, agents.names())
    for agent in missing_agents:
        err(f"missing agent type {escape_line(f'{agent.name}: {agent.description}')}")
        if agent.capabilities:
            err(f"  capabilities: {escape_line(agent.capabilities)}")
    if missing_agents:
        err(f"  write {'it' if len(missing_agents) == 1 else 'them'}: sow agent new --from-workflow")


def _document(
    home: Home, design: Design, verdict: Verdict | None, agents: AgentRegistry, *, passed: bool
) -> dict[str, Any]:
    return {
        "valid": passed,
        "digest": design.plan.digest,
        "findings": [complaint.document() for complaint in design.complaints],
        "verifier": None
        if verdict is None
        else {"verdict": verdict.flag or "RED", "feedback": verdict.feedback, "findings": verdict.findings},
        "missing_agents": [
            {"name": agent.name, "description": agent.description, "capabilities": agent.capabilities}
            for agent in missing(design, agents.names())
        ],
        "report": home.relative(WorkflowFolder(home).report_path),
    }


def approve(context: Context) -> int:
    actor = context.require_person("approve a design", asked=True)
    home = context.project_home()
    config = context.config()
    agents = config.agents(home.root, context.environment)
    design = design_check.of_checkout(home, agents.names())
    _approve(
        home, design, agents, actor, how="sow workflow approve"
    )  # a live run continues the members that wait for it
    out(f"approved: {design.plan.digest[:12]}; run it: {run_command(context, home)}")
    return 0


def _approve(home: Home, design: Design, agents: AgentRegistry, actor: Actor, *, how: str) -> None:
    """Approves the plan if exactly this version was verified."""
    verified = WorkflowFolder(home).workflow().get("verified")
    if not verified or verified["digest"] != design.plan.digest:
        raise SowError("this version of the design is not verified", "run: sow workflow verify")
    if not verified["passed"]:
        raise SowError("the design did not pass its verification", "see orchestration/verification_report.md")
    design_check.approve(home, design.plan, agents, actor=actor, how=how)
