"""The solution architect of a run: asked by one agent at a time, and set to work by whoever waits for it."""

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
    """What the escalated notes of an agent need next, as the solution architect stands."""
    workflow = job.deck.workflow()
    members = workflow["members"]
    architect = members.get(job.deck.solution_architect())
    if architect is not None:  # nobody waits for an answer to one whom a new plan has sent away
        architect = {**architect, "requested_by": _askers(job.deck, job.deck.solution_architect())}
    return next_step(job.id, members[job.id], job.deck.notes(job.id), workflow["escalations"], architect)


def commission(job: MemberJob, step: Step) -> None:
    """Give the solution architect a task of its own: its instructions first, then the act that starts it."""
    deck, name = job.deck, job.deck.solution_architect()
    own = [each for each in deck.notes(job.id) if each["note_id"] in step.notes]
    questions = [(each["note_id"], note_history.put(job, each), each["description"]) for each in own]
    desk = deck.desk(name)
    desk.make()
    told = words.commission(job.id, questions, deck.desk(job.id).folder)
    before = _text(deck, desk.instructions_path) if deck.plan.member(name) is not None else ""
    deck.folder.write(desk.instructions_path, crew_briefing.with_contract(contract_block.ask(before, told)))
    planned = next((each for each in deck.plan.members if each.kind == ARCHITECT), None)
    workflow_questions.assign(
        deck.home,
        name,
        task_id=ids.slug(f"decide for {job.id} {' '.join(step.notes)}", clock.epoch()),
        agent=planned.agent if planned is not None and planned.agent else SOLUTION_ARCHITECT,
        verifier=planned.verifier if planned is not None and planned.verifier else ARCHITECT_VERIFIER,
        requested_by=[job.id],
    )


def has_work(job: MemberJob) -> bool:
    """Whether a blocked agent that asks a person has something to be done meanwhile: its technical questions."""
    deck, name = job.deck, job.deck.solution_architect()
    if deck.member(job.id)["status"] != "blocked":
        return False
    return step_of(job).kind == "commission" or (job.id in _askers(deck, name) and _can_work(deck, name))


def can_go_on(job: MemberJob) -> bool:
    """Whether a blocked agent can do something about its notes now, be it to set the solution architect to work.

    Where another agent is to take the answer of that one first, it cannot: it would only take a place again and again.
    """
    return step_of(job).kind != "wait" or _can_work(job.deck, job.deck.solution_architect())


def _askers(deck: Deck, name: str) -> list[str]:
    """For whom the solution architect works, of those who are still in the plan."""
    known = deck.workflow()["members"].get(name)
    doers = deck.doers()
    return [each for each in known.get("requested_by", []) if each in doers] if known is not None else []


def _can_work(deck: Deck, name: str) -> bool:
    """Whether the solution architect has a task that it can go on with."""
    if not _askers(deck, name) or not deck.approved(name):
        return False
    known = deck.member(name)
    return "question" not in known and known["status"] not in (*DONE, "failed")


def wait(job: MemberJob, step: Step) -> Steps[Ended | None]:
    """For the solution architect, whom anybody who waits may set to work; for who takes its answer; or for a person."""
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
    """What the solution architect has handed out."""
    desk = deck.desk(deck.solution_architect())
    parts = []
    for each in deck.member(desk.id)["outputs"]:
        text = _text(deck, f"{deck.folder.path}/{each['path']}") or "(it cannot be read)"
        parts.append(f"{each['path']}:\n{text[:MOST_DECISION]}")
    return "\n\n".join(parts)


def _text(deck: Deck, path: str) -> str:
    """What a file says; nothing where it cannot be read."""
    try:
        return deck.home.read(path)
    except (FileNotFoundError, SowError):
        return ""
