"""Puts escalated questions to the solution architect, which serves one agent at a time."""

from __future__ import annotations

from sow.agents import crew_briefing
from sow.domain import contract_block, ids
from sow.domain.crew_plan import ARCHITECT, ARCHITECT_VERIFIER
from sow.domain.escalation_step import next_step
from sow.domain.workflow_agent import DONE
from sow.engine.ended import Ended
from sow.errors import SowError
from sow.store import workflow_questions
from sow.system import clock
from sow.workflows import note_history, words
from sow.workflows.deck import SOLUTION_ARCHITECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.escalation_step import Step
    from sow.engine.steps import Steps
    from sow.workflows.deck import Deck
    from sow.workflows.member_job import MemberJob

MOST_DECISION = 20_000


def step_of(job: MemberJob) -> Step:
    """Return what the escalated notes of an agent need next, given the solution architect's state."""
    workflow = job.deck.workflow()
    members = workflow["members"]
    architect = members.get(job.deck.solution_architect())
    if architect is not None:  # agents that a new plan dropped do not wait for an answer
        architect = {**architect, "requested_by": _askers(job.deck, job.deck.solution_architect())}
    return next_step(job.id, members[job.id], job.deck.notes(job.id), workflow["escalations"], architect)


def commission(job: MemberJob, step: Step) -> None:
    """Give the solution architect a task: write its instructions first, then start it."""
    deck, name = job.deck, job.deck.solution_architect()
    notes = [note for note in deck.notes(job.id) if note["note_id"] in step.notes]
    questions = [(note["note_id"], note_history.put(job, note), note["description"]) for note in notes]
    desk = deck.desk(name)
    desk.make()
    instructions = words.commission(job.id, questions, deck.desk(job.id).folder)
    before = _text(deck, desk.instructions_path) if deck.plan.member(name) is not None else ""
    deck.folder.write(desk.instructions_path, crew_briefing.with_contract(contract_block.ask(before, instructions)))
    planned = next((member for member in deck.plan.members if member.kind == ARCHITECT), None)
    workflow_questions.assign(
        deck.home,
        name,
        task_id=ids.slug(f"decide for {job.id} {' '.join(step.notes)}", clock.epoch()),
        agent=planned.agent if planned is not None and planned.agent else SOLUTION_ARCHITECT,
        verifier=planned.verifier if planned is not None and planned.verifier else ARCHITECT_VERIFIER,
        requested_by=[job.id],
    )


def has_work(job: MemberJob) -> bool:
    """Tell whether a blocked agent that asks a person can have its technical questions answered meanwhile."""
    deck, name = job.deck, job.deck.solution_architect()
    if deck.member(job.id)["status"] != "blocked":
        return False
    return step_of(job).kind == "commission" or (job.id in _askers(deck, name) and _can_work(deck, name))


def can_go_on(job: MemberJob) -> bool:
    """Tell whether a blocked agent can do something about its notes now, including starting the solution architect.

    If another agent must read the architect's answer first, it cannot; it would only occupy a slot again and again.
    """
    return step_of(job).kind != "wait" or _can_work(job.deck, job.deck.solution_architect())


def _askers(deck: Deck, name: str) -> list[str]:
    """Return the agents for which the solution architect works, of those that are still in the plan."""
    member = deck.workflow()["members"].get(name)
    doers = deck.doers()
    return [asker for asker in member.get("requested_by", []) if asker in doers] if member is not None else []


def _can_work(deck: Deck, name: str) -> bool:
    """Tell whether the solution architect has a task that it can continue."""
    if not _askers(deck, name) or not deck.approved(name):
        return False
    member = deck.member(name)
    return "question" not in member and member["status"] not in (*DONE, "failed")


def wait(job: MemberJob, step: Step) -> Steps[Ended | None]:
    """Wait for the solution architect (any waiting agent starts it), for the reader of its answer, or for a person."""
    deck, name = job.deck, job.deck.solution_architect()
    if "question" in deck.member(job.id) and job.id not in _askers(deck, name) and step.kind == "wait":
        return Ended("asking", reason=step.reason)
    if name not in deck.at_work and _can_work(deck, name):
        ended = yield from type(job)(deck, name).steps()
        if ended.status == "completed":
            return None
        return Ended(ended.status, reason=f"{name}: {ended.reason}", executor=ended.executor)
    if deck.at_work.isdisjoint({name, *_askers(deck, name)} - {job.id}):
        return Ended("asking", reason=step.reason)
    yield
    return Ended("stopped") if deck.ship.stopping else None


def decision(deck: Deck) -> str:
    """Return the solution architect's outputs as text."""
    desk = deck.desk(deck.solution_architect())
    parts = []
    for output in deck.member(desk.id)["outputs"]:
        text = _text(deck, f"{deck.folder.path}/{output['path']}") or "(it cannot be read)"
        parts.append(f"{output['path']}:\n{text[:MOST_DECISION]}")
    return "\n\n".join(parts)


def _text(deck: Deck, path: str) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return deck.home.read(path)
    except (FileNotFoundError, SowError):
        return ""
