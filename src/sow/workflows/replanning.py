"""Handles a plan that changes during its run: the agents concerned wait until it is approved, the others continue."""

from __future__ import annotations

from sow.domain import verdict
from sow.engine.ended import Ended
from sow.engine.ship import RUNNER
from sow.store.design_desk import DesignDesk
from sow.workflows import checking, judge_turn
from sow.workflows.judge_turn import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.crew_plan import WorkflowPlan
    from sow.engine.steps import Steps
    from sow.workflows.checking import Design
    from sow.workflows.deck import Deck
    from sow.workflows.member_job import MemberJob

HOW = "--yes"


def notice(deck: Deck) -> list[str]:
    """Load the plan as it is now and report once whose part has changed; returns their names."""
    plan = checking.plan_on_disk(deck.home)
    if plan is None or plan.digest == deck.plan.digest:
        return []
    before, deck.plan = deck.plan, plan
    names = [
        name for name in {**before.sections, **plan.sections} if before.sections.get(name) != plan.sections.get(name)
    ]
    deck.ship.tell("plan_changed", path=plan.file, sections=names)
    return names


def look(deck: Deck, job: MemberJob) -> Steps[Ended | None]:
    """Check a plan that the architect changed in its turn, and approve it if the person agreed beforehand."""
    if not notice(deck):
        return None
    try:
        design = checking.read(deck.home, deck.ship.agents.names())
    except FileNotFoundError:
        return None
    result = None
    if not design.errors:
        reply = yield from judge_turn.hear(deck, _question(deck, job, design))
        if reply.ended is not None:
            return reply.ended
        result = reply.answer if isinstance(reply.answer, verdict.Verdict) else verdict.Verdict(verdict.RED)
    checking.record(deck.home, design, result, deck.ship.agents)
    if checking.passes(design, result) and deck.yes:
        approve(deck, design.plan)
    return None


def approve(deck: Deck, plan: WorkflowPlan) -> None:
    """Approve the design in the name of the person, who agreed beforehand."""
    checking.approve(deck.home, plan, deck.ship.agents, actor=RUNNER, how=HOW)
    deck.ship.tell("approved", digest=plan.digest, how=HOW)


def _question(deck: Deck, job: MemberJob, design: Design) -> Question:
    agents = deck.ship.agents
    return Question(
        job.id,
        DesignDesk(deck.home, deck.workflow()["id"], checking.VERIFIER.replace("-", "_")),
        agents.get(checking.VERIFIER),
        ask=lambda nonce: checking.prompt(deck.home, agents, design, nonce),
        form=lambda nonce: checking.FORM.format(nonce=nonce),
        read=verdict.parse,
    )
