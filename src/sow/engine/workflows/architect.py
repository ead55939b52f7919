"""Puts escalated questions to the solution architect, which serves one agent at a time."""

from __future__ import annotations

from sow.agents import crew_briefing
from sow.domain import ids
from sow.domain.workflows import contract_block, escalation
from sow.domain.workflows.crew_plan import ARCHITECT, ARCHITECT_VERIFIER
from sow.domain.workflows.escalation_step import next_step
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.runs.run_context import JobEnd
from sow.engine.workflows import prompts
from sow.engine.workflows.crew_context import SOLUTION_ARCHITECT
from sow.errors import SowError
from sow.store.workflows import question_updates
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Escalation, Note
    from sow.domain.workflows.escalation_step import EscalationStep
    from sow.engine.workflows.crew_context import CrewContext
    from sow.engine.workflows.member_job import MemberJob
    from sow.system.process.generator_steps import Steps

MOST_DECISION = 20_000


def next_escalation_step(job: MemberJob) -> EscalationStep:
    """Return what the escalated notes of an agent need next, given the solution architect's state."""
    workflow = job.crew.workflow()
    members = workflow["members"]
    architect = members.get(job.crew.solution_architect())
    if architect is not None:  # agents that a new plan dropped do not wait for an answer
        architect = {**architect, "requested_by": _waiting_agents(job.crew, job.crew.solution_architect())}
    return next_step(job.id, members[job.id], job.crew.notes(job.id), workflow["escalations"], architect)


def start_architect(job: MemberJob, step: EscalationStep) -> None:
    """Give the solution architect a task: write its instructions first, then start it."""
    crew, name = job.crew, job.crew.solution_architect()
    notes = [note for note in crew.notes(job.id) if note["note_id"] in step.notes]
    questions = [(note["note_id"], question_text(job, note), note["description"]) for note in notes]
    folder = crew.agent_folder(name)
    folder.make_folders()
    instructions = prompts.architect_instructions(job.id, questions, crew.agent_folder(job.id).folder)
    before = _text(crew, folder.instructions_path) if crew.plan.member(name) is not None else ""
    crew.folder.write(
        folder.instructions_path, crew_briefing.with_contract(contract_block.set_questions(before, instructions))
    )
    planned = next((member for member in crew.plan.members if member.kind == ARCHITECT), None)
    question_updates.assign_architect(
        crew.home,
        name,
        task_id=ids.note_session_id(f"decide for {job.id} {' '.join(step.notes)}", clock.epoch()),
        agent=planned.agent if planned is not None and planned.agent else SOLUTION_ARCHITECT,
        verifier=planned.verifier if planned is not None and planned.verifier else ARCHITECT_VERIFIER,
        requested_by=[job.id],
    )


def has_work(job: MemberJob) -> bool:
    """Tell whether a blocked agent that asks a person can have its technical questions answered meanwhile."""
    crew, name = job.crew, job.crew.solution_architect()
    if crew.member(job.id)["status"] != "blocked":
        return False
    return next_escalation_step(job).kind == "commission" or (
        job.id in _waiting_agents(crew, name) and _can_work(crew, name)
    )


def can_go_on(job: MemberJob) -> bool:
    """Tell whether a blocked agent can do something about its notes now, including starting the solution architect.

    If another agent must read the architect's answer first, it cannot; it would only occupy a slot again and again.
    """
    return next_escalation_step(job).kind != "wait" or _can_work(job.crew, job.crew.solution_architect())


def _waiting_agents(crew: CrewContext, name: str) -> list[str]:
    """Return the agents for which the solution architect works, of those that are still in the plan."""
    member = crew.workflow()["members"].get(name)
    doers = crew.active_agents()
    return [asker for asker in member.get("requested_by", []) if asker in doers] if member is not None else []


def _can_work(crew: CrewContext, name: str) -> bool:
    if not _waiting_agents(crew, name) or not crew.approved(name):
        return False
    member = crew.member(name)
    return "question" not in member and member["status"] not in (*DONE_STATUSES, "failed")


def wait_for_architect(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    """Wait for the solution architect (any waiting agent starts it), for the reader of its answer, or for a person."""
    crew, name = job.crew, job.crew.solution_architect()
    if "question" in crew.member(job.id) and job.id not in _waiting_agents(crew, name) and step.kind == "wait":
        return JobEnd("asking", reason=step.reason)
    if name not in crew.at_work and _can_work(crew, name):
        ended = yield from type(job)(crew, name).run()
        if ended.status == "completed":
            return None
        return JobEnd(ended.status, reason=f"{name}: {ended.reason}", executor=ended.executor)
    if crew.at_work.isdisjoint({name, *_waiting_agents(crew, name)} - {job.id}):
        return JobEnd("asking", reason=step.reason)
    yield
    return JobEnd("stopped") if crew.context.stopping else None


def decision(crew: CrewContext) -> str:
    """Return the solution architect's outputs as text."""
    folder = crew.agent_folder(crew.solution_architect())
    parts = []
    for output in crew.member(folder.id)["outputs"]:
        text = _text(crew, f"{crew.folder.path}/{output['path']}") or "(it cannot be read)"
        parts.append(f"{output['path']}:\n{text[:MOST_DECISION]}")
    return "\n\n".join(parts)


def _text(crew: CrewContext, path: str) -> str:
    try:
        return crew.home.read(path)
    except (FileNotFoundError, SowError):
        return ""


def escalation_entry(job: MemberJob, note: str) -> Escalation | None:
    """Return the history's entry for a note of this agent."""
    return escalation.find_record(job.crew.workflow()["escalations"], job.crew.member(job.id)["task_id"], note)


def route_of(job: MemberJob, note: str) -> str:
    """Return where the architect sent a note; empty if it did not yet."""
    escalated = escalation_entry(job, note)
    return escalated.get("route", "") if escalated is not None else ""


def answered_by(job: MemberJob, note: str) -> str:
    """Return who answers a note, as the note will say it: a person, or the crew itself."""
    return "user" if route_of(job, note) in (escalation.USER, escalation.LOOP) else "workflow_executor"


def question_text(job: MemberJob, note: Note) -> str:
    """Return a note as the architect would ask it, else in the agent's own words."""
    escalated = escalation_entry(job, note["note_id"])
    return (escalated.get("question") if escalated is not None else "") or note["description"]
