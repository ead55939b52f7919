"""Verifies and approves the design of a workflow (`sow workflow verify`, `sow workflow approve`)."""

from __future__ import annotations

from sow import config as configs
from sow.cli.agent_run import registry_of
from sow.cli.agent_screen import Screen
from sow.cli.output import emit
from sow.engine.crew import Crew
from sow.engine.steps import drive
from sow.errors import SowError
from sow.store.workflow import WorkflowFolder
from sow.system.terminal import confirm, err, harmless, harmless_line, is_interactive, out, paint
from sow.workflows import checking
from sow.workflows.counsel import Counsel
from sow.workflows.design import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.agents.registry import AgentRegistry
    from sow.cli.context import Context
    from sow.domain.actor import Actor
    from sow.domain.verdict import Verdict
    from sow.store.home import Home
    from sow.workflows.checking import Design

PASSED, GAPS, ERRORS = 0, 1, 2


def verify(context: Context, *, no_agent: bool, executor: str, timeout: str, yes: bool, json: bool) -> int:
    home, actor = context.home(), context.actor()
    config = configs.load(context.environment)
    agents = registry_of(context, home, config)
    design = checking.of_checkout(home, agents.names())
    if actor.is_worker:  # an architect looks at its own work: nothing is written
        return _tell(home, design, None, agents, json=json)
    screen = Screen(quiet=json)
    limit = configs.seconds(timeout) if timeout else 0
    crew = Crew(home, config, context.environment, tell=screen.show, timeout=limit)
    verdict: Verdict | None = None
    with home.claim("run", purpose="sow workflow verify"):
        checking.put_contracts(home, design)  # before the agent looks at the files
        if not no_agent and not design.errors:
            counsel = Counsel(crew, agents, WorkflowFolder(home).workflow()["id"], executor=executor)
            verdict = drive(checking.ask_verifier(counsel, design))
        passed = checking.passes(design, verdict)
        checking.record(home, design, verdict, agents)
        shown = verdict is not None and screen.has_shown(verdict.feedback)
        code = _tell(home, design, verdict, agents, json=json, shown=shown)
        if passed and (yes or (not json and _agrees())):
            _approve(home, design, agents, actor, how="--yes" if yes else "asked on the terminal")
            err(f"approved: {design.plan.digest[:12]}")
    return code


def _agrees() -> bool:
    return is_interactive() and confirm("Approve this design, so that it can be run?")


def _tell(
    home: Home, design: Design, verdict: Verdict | None, agents: AgentRegistry, *, json: bool, shown: bool = False
) -> int:
    passed = checking.passes(design, verdict)
    code = ERRORS if design.errors else PASSED if passed else GAPS
    if json:
        emit(_document(home, design, verdict, agents, passed=passed))
        return code
    for item in design.complaints:
        kind = "error" if item.error else "warning"
        err(f"{kind}: {harmless_line(f'{item.file}:{item.line}: {item.text}')}\nhint: {harmless_line(item.hint)}")
    if verdict is not None:
        _tell_verdict(verdict, shown=shown)
    tell_missing(design, agents)
    plan = design.plan
    numbers = {"agent": len(plan.members), "verifier": len(plan.verifiers), "error": len(design.errors)}
    counts = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for noun, number in numbers.items())
    result = paint("PASSED" if passed else "FAILED", "green" if passed else "red")
    out(f"{result}: {harmless_line(plan.name or 'a plan without a name')}, {counts}")
    return code


def _tell_verdict(verdict: Verdict, *, shown: bool) -> None:
    out(f"Design Verifier: {harmless_line(checking.said(verdict))}")
    for finding in verdict.findings:
        scope = f"{finding.get('file', '')} {finding.get('symbol', '')}".strip()
        out(f"  {finding['severity']}: {harmless_line(f'{scope}: ' if scope else '')}{harmless_line(finding['text'])}")
    if verdict.feedback.strip() and not shown:
        out(harmless(verdict.feedback.strip()))


def tell_missing(design: Design, agents: AgentRegistry) -> None:
    """Prints the agent types that the plan needs and that do not exist yet."""
    missing_agents = missing(design, agents.names())
    for agent in missing_agents:
        err(f"missing agent type {harmless_line(f'{agent.name}: {agent.description}')}")
        if agent.capabilities:
            err(f"  capabilities: {harmless_line(agent.capabilities)}")
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
    actor = context.person("approve a workflow's design")
    home = context.home()
    config = configs.load(context.environment)
    agents = registry_of(context, home, config)
    design = checking.of_checkout(home, agents.names())
    _approve(home, design, agents, actor, how="sow workflow approve")  # also while it runs: who waits for it goes on
    out(f"approved: {design.plan.digest[:12]}; run it: sow workflow run")
    return 0


def _approve(home: Home, design: Design, agents: AgentRegistry, actor: Actor, *, how: str) -> None:
    """Approves the plan if exactly this version was verified."""
    verified = WorkflowFolder(home).workflow().get("verified")
    if not verified or verified["digest"] != design.plan.digest:
        raise SowError("the design as it stands has not been verified", "run: sow workflow verify")
    if not verified["passed"]:
        raise SowError("the design did not pass its verification", "see orchestration/verification_report.md")
    checking.approve(home, design.plan, agents, actor=actor, how=how)
