"""Handles a plan that changes during its run: the agents concerned wait until it is approved, the others continue."""

from __future__ import annotations

from sow.domain.reviews import verdict
from sow.engine.runs.run_context import RUNNER, JobEnd
from sow.engine.workflows import design_check, judge
from sow.engine.workflows.judge import JudgeQuestion
from sow.store.workflows.folder import DesignFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.workflows.crew_plan import WorkflowPlan
    from sow.engine.workflows.crew_context import CrewContext
    from sow.engine.workflows.design_check import Design
    from sow.engine.workflows.member_job import MemberJob
    from sow.system.process.generator_steps import Steps

HOW = "--yes"


def load_changed_plan(crew: CrewContext) -> list[str]:
    """Load the plan as it is now and report once whose part has changed; returns their names."""
    plan = design_check.plan_on_disk(crew.home)
    if plan is None or plan.digest == crew.plan.digest:
        return []
    before, crew.plan = crew.plan, plan
    names = [
        name for name in {**before.sections, **plan.sections} if before.sections.get(name) != plan.sections.get(name)
    ]
    crew.context.journal("plan_changed", path=plan.file, sections=names)
    return names


def check_changed_plan(crew: CrewContext, job: MemberJob) -> Steps[JobEnd | None]:
    """Check a plan that the architect changed in its turn, and approve it if the person agreed beforehand."""
    if not load_changed_plan(crew):
        return None
    try:
        design = design_check.read(crew.home, crew.context.agents.names())
    except FileNotFoundError:
        return None
    result = None
    if not design.errors:
        reply = yield from judge.ask_judge(crew, _question(crew, job, design))
        if reply.ended is not None:
            return reply.ended
        result = reply.answer if isinstance(reply.answer, verdict.Verdict) else verdict.Verdict(verdict.RED)
    design_check.record_check(crew.home, design, result, crew.context.agents)
    if design_check.passes(design, result) and crew.approves_changes:
        approve(crew, design.plan)
    return None


def approve(crew: CrewContext, plan: WorkflowPlan) -> None:
    """Approve the design in the name of the person, who agreed beforehand."""
    design_check.approve(crew.home, plan, crew.context.agents, actor=RUNNER, how=HOW)
    crew.context.journal("approved", digest=plan.digest, how=HOW)


def _question(crew: CrewContext, job: MemberJob, design: Design) -> JudgeQuestion:
    agents = crew.context.agents
    return JudgeQuestion(
        job.id,
        DesignFolder(crew.home, crew.workflow()["id"], design_check.VERIFIER.replace("-", "_")),
        agents.get(design_check.VERIFIER),
        ask=lambda nonce: design_check.prompt(crew.home, agents, design, nonce),
        form=lambda nonce: design_check.FORM.format(nonce=nonce),
        read=verdict.parse,
    )
