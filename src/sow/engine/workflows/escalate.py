"""Answers escalated notes: the architect sorts them, a person or the solution architect decides, the answer is checked.

All notes of one agent are handled together, the longest blocked agent first. The next step is read from disk. The
solution architect serves one agent at a time.
"""

from __future__ import annotations

from sow.agents import briefing, crew_briefing
from sow.domain import inputs
from sow.domain.reviews import verdict
from sow.domain.workflows import contract_block, escalation
from sow.domain.workflows.crew_plan import ARCHITECT, ARCHITECT_VERIFIER
from sow.domain.workflows.escalation import EscalationDecision
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.runs.judge import JudgeQuestion, ask_judge
from sow.engine.runs.run_job import JobEnd
from sow.engine.workflows import design_check, prompts
from sow.engine.workflows.crew_context import SOLUTION_ARCHITECT, WORKFLOW_ARCHITECT
from sow.errors import SowError
from sow.store.workflows import question_updates
from sow.store.workflows.folder import DesignFolder
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Escalation, MemberState, Note
    from sow.domain.workflows.escalation import ArchitectAnswer, EscalationStep
    from sow.engine.workflows.crew_context import CrewContext
    from sow.engine.workflows.design_check import Design
    from sow.engine.workflows.member_job import MemberJob
    from sow.system.process.steps import Steps

MOST_DECISION = 20_000


def take_step(job: MemberJob) -> Steps[JobEnd | None]:
    """Takes one step towards an answer; the job asks for its stage again after each."""
    step = _next_step(job)
    if step.kind in ("sort", "loop", "validate"):
        return (yield from _with_architect(job, step))
    if step.kind == "apply":
        _apply(job, step)
        return None
    if step.kind == "ask":
        job.ask(_question_text(job, step.notes), kind=_kind(job, step.notes))
        return None  # it may be answered already
    if step.kind == "commission" and job.context.solution_architect() not in job.context.running_agents:
        _start_architect(job, step)
        return None
    if step.kind in ("wait", "commission"):
        return (yield from _wait_for_architect(job, step))
    question_updates.resolve_notes(job.context.home, job.id, {})
    return None


def _with_architect(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    """Takes one turn of the workflow architect when it is this agent's turn in the queue."""
    crew = job.context
    crew.architect_queue.waiting.add(job.id)
    try:
        yield  # lets all agents that begin now join the queue before the first is served
        if not (yield from crew.architect_queue.hold(crew, job.id, crew.blocked_agents)):
            return JobEnd("stopped")
        return (yield from _turn(job, step))
    finally:
        crew.architect_queue.release(job.id)


def _turn(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    crew, name = job.context, job.id
    if step.kind == "sort":
        crew.journal("escalated", task=name, notes=step.notes)
    reply = yield from ask_judge(crew, _question(job, step))
    if reply.ended is not None:
        return reply.ended
    ruling = reply.answer
    if ruling is None and _is_answered_by_person(job, step):  # the answer counts as the person gave it
        crew.progress(name, f"the workflow architect's reply cannot be read ({reply.failure}); the answer is kept")
        _resolve(job, {note: (crew.member(name)["pending_answer"], "user") for note in step.notes})
        return None
    if ruling is None:  # the decision is unreadable, so a person decides
        _route(job, [(note, escalation.LOOP if step.kind == "loop" else escalation.USER, "") for note in step.notes])
        return job.ask(_question_text(job, step.notes, failure=reply.failure), kind=_kind(job, step.notes))
    ended = _rule(job, step, ruling)
    ended_by_plan = yield from _check_changed_plan(job)
    return ended or ended_by_plan


def _check_changed_plan(job: MemberJob) -> Steps[JobEnd | None]:
    """Checks a plan that the architect changed in its turn, and approves it if the person agreed beforehand."""
    crew = job.context
    if not crew.load_changed_plan():
        return None
    try:
        design = design_check.read(crew.home, crew.agents.names())
    except FileNotFoundError:
        return None
    result = None
    if not design.errors:
        reply = yield from ask_judge(crew, _design_question(job, design))
        if reply.ended is not None:
            return reply.ended
        result = reply.answer or verdict.Verdict(verdict.RED)
    design_check.record_check(crew.home, design, result, crew.agents)
    if design_check.passes(design, result) and crew.approves_changes:
        crew.approve(design.plan)
    return None


def _design_question(job: MemberJob, design: Design) -> JudgeQuestion[verdict.Verdict]:
    crew = job.context
    folder = DesignFolder(crew.home, crew.workflow()["id"], design_check.DESIGN_VERIFIER.replace("-", "_"))
    folder.make_folders()
    return JudgeQuestion(
        job.id,
        folder,
        crew.agents.get(design_check.DESIGN_VERIFIER),
        prompt=lambda nonce: design_check.prompt(crew.home, crew.agents, design, nonce),
        form=lambda nonce: design_check.FORM.format(nonce=nonce),
        parse=verdict.parse,
    )


def _rule(job: MemberJob, step: EscalationStep, ruling: ArchitectAnswer) -> JobEnd | None:
    """Records what the architect decided, in as few steps as possible, because a crash may fall between two steps."""
    if step.kind == "loop":
        _route(job, [(note, escalation.LOOP, ruling.analysis) for note in step.notes])
        return job.ask(_question_text(job, step.notes), kind="loop")
    sources = {note: _answered_by(job, note) for note in step.notes}
    answers = {
        decision.note: (decision.resolution, sources[decision.note])
        for decision in ruling.decisions
        if decision.route == "answer"
    }
    routed = [
        (decision.note, decision.route, decision.question)
        for decision in ruling.decisions
        if decision.route != "answer"
    ]
    if routed:
        _route(job, routed)
    if answers:
        _resolve(job, answers)
    user_notes = [note for note, _, _ in routed if _answered_by(job, note) == "user"]
    if user_notes:
        job.ask(_question_text(job, user_notes), kind="user")  # the job continues if there is something to do meanwhile
    return None


def _route(job: MemberJob, routes: list[tuple[str, str, str]]) -> None:
    # The solution architect must not decide its own questions: they go to a person.
    is_architect = job.context.member(job.id)["kind"] == ARCHITECT
    decisions = [
        EscalationDecision(
            note, escalation.USER if is_architect and route == escalation.ARCHITECT else route, question=question
        )
        for note, route, question in routes
    ]
    question_updates.record_routes(job.context.home, job.id, decisions)


def _resolve(job: MemberJob, answers: dict[str, tuple[str, str]]) -> None:
    question_updates.resolve_notes(job.context.home, job.id, answers)
    for note, (_, by) in answers.items():
        job.context.journal("resolved", task=job.id, note=note, by=by)


def _apply(job: MemberJob, step: EscalationStep) -> None:
    """Writes answers into notes that have one in the history only, because a crash came between."""
    entries = {note: _entry(job, note) for note in step.notes}
    texts = {note: escalated.get("resolution", "") for note, escalated in entries.items() if escalated is not None}
    _resolve(job, {note: (text, _answered_by(job, note)) for note, text in texts.items()})


def _kind(job: MemberJob, notes: list[str]) -> str:
    return "loop" if any(_route_of(job, note) == escalation.LOOP for note in notes) else "user"


def _question_text(job: MemberJob, notes: list[str], *, failure: str = "") -> str:
    """Returns the question as a person reads it; a loop comes with its whole history."""
    own_notes = [note for note in job.context.notes(job.id) if note["note_id"] in notes]
    lines = [f"{note['note_id']}: {_note_text(job, note)}" for note in own_notes]
    if failure:
        lines.append(f"{escalation.UNREADABLE}{failure})")
    if _kind(job, notes) == "loop":
        history = escalation.history_text(job.context.workflow()["escalations"], job.context.member(job.id)["task_id"])
        lines += ["The same was asked three times or more; all that was asked on this task:", history]
    return "\n".join(lines)


def _question(job: MemberJob, step: EscalationStep) -> JudgeQuestion[ArchitectAnswer]:
    crew = job.context

    def form(nonce: str) -> str:
        if step.kind == "loop":
            return prompts.ANALYSIS.format(nonce=nonce)
        return prompts.DECISIONS.format(nonce=nonce, notes=", ".join(step.notes))

    def read(text: str, nonce: str) -> ArchitectAnswer:
        if step.kind == "loop":
            return escalation.parse_analysis(text, nonce)
        return escalation.parse(text, nonce, step.notes)

    agent, folder = crew.agents.get(WORKFLOW_ARCHITECT), crew.architect_folder()
    folder.make_folders()
    facts = _facts(job, step)
    workflow_facts = {"workflow": crew.workflow()["name"], "root": crew.home.root}
    return JudgeQuestion(
        job.id,
        folder,
        agent,
        prompt=lambda nonce: prompts.architect_prompt(agent, **workflow_facts, facts=facts, form=form(nonce)),
        form=form,
        parse=read,
        doing="the workflow architect looks at its notes",
        read_only=False,
    )


def _facts(job: MemberJob, step: EscalationStep) -> list[str]:
    """Returns what the architect must know: the notes, the answer to check, the history and all statuses."""
    crew, workflow, state = job.context, job.context.workflow(), job.context.member(job.id)
    notes = [note for note in crew.notes(job.id) if note["note_id"] in step.notes]
    request = {
        "sort": "is blocked. Sort these notes:",
        "loop": "asks the same for the third time or more. Find the cause of the loop:",
        "validate": "waits. These notes have an answer; check it, and write it as the resolution (route answer):",
    }[step.kind]
    facts = [f"Agent {job.id} (task {state['task_id']}) {request}\n{prompts.notes_text(notes)}"]
    if step.kind == "validate":
        facts.append(_answer_to_check(job, state, step))
    history = escalation.history_text(workflow["escalations"], state["task_id"])
    facts.append("All that was ever escalated on this task:\n" + prompts.quoted(history))
    project = briefing.project_part(crew.home)
    return [*([project] if project else []), *facts, prompts.status_lines(workflow["members"])]


def _answer_to_check(job: MemberJob, state: MemberState, step: EscalationStep) -> str:
    """Returns the answer to be checked: a person's, or the solution architect's decision."""
    if _is_answered_by_person(job, step):
        return "The person answers:\n" + prompts.quoted(state.get("pending_answer", ""))
    return "The solution architect has decided, and was verified:\n" + prompts.quoted(_decision(job.context))


def _is_answered_by_person(job: MemberJob, step: EscalationStep) -> bool:
    return step.kind == "validate" and all(_answered_by(job, note) == "user" for note in step.notes)


def _next_step(job: MemberJob) -> EscalationStep:
    """Returns what the escalated notes of an agent need next, given the solution architect's state."""
    workflow = job.context.workflow()
    members = workflow["members"]
    architect = members.get(job.context.solution_architect())
    if architect is not None:  # agents that a new plan dropped do not wait for an answer
        architect = {**architect, "requested_by": _waiting_agents(job.context, job.context.solution_architect())}
    return escalation.next_step(job.id, members[job.id], job.context.notes(job.id), workflow["escalations"], architect)


def _start_architect(job: MemberJob, step: EscalationStep) -> None:
    """Gives the solution architect a task: writes its instructions first, then starts it."""
    crew, name = job.context, job.context.solution_architect()
    notes = [note for note in crew.notes(job.id) if note["note_id"] in step.notes]
    questions = [(note["note_id"], _note_text(job, note), note["description"]) for note in notes]
    folder = crew.agent_folder(name)
    folder.make_folders()
    instructions = prompts.architect_instructions(job.id, questions, crew.agent_folder(job.id).folder)
    before = _text(crew, folder.instructions_path) if crew.plan.member(name) is not None else ""
    crew.workflow_folder.write(
        folder.instructions_path, crew_briefing.with_contract(contract_block.set_questions(before, instructions))
    )
    planned = next((member for member in crew.plan.members if member.kind == ARCHITECT), None)
    question_updates.assign_architect(
        crew.home,
        name,
        task_id=inputs.note_session_id(f"decide for {job.id} {' '.join(step.notes)}", clock.epoch()),
        agent=planned.agent if planned is not None and planned.agent else SOLUTION_ARCHITECT,
        verifier=planned.verifier if planned is not None and planned.verifier else ARCHITECT_VERIFIER,
        requested_by=[job.id],
    )


def has_work(job: MemberJob) -> bool:
    """Tells whether a blocked agent that asks a person can have its technical questions answered meanwhile."""
    crew, name = job.context, job.context.solution_architect()
    if crew.member(job.id)["status"] != "blocked":
        return False
    return _next_step(job).kind == "commission" or (job.id in _waiting_agents(crew, name) and _can_work(crew, name))


def can_continue(job: MemberJob) -> bool:
    """Tells whether a blocked agent can do something about its notes now, including starting the solution architect.

    If another agent must read the architect's answer first, it cannot; it would only occupy a slot again and again.
    """
    return _next_step(job).kind != "wait" or _can_work(job.context, job.context.solution_architect())


def _waiting_agents(crew: CrewContext, name: str) -> list[str]:
    """Returns the agents for which the solution architect works, of those that are still in the plan."""
    member = crew.workflow()["members"].get(name)
    doers = crew.active_agents()
    return [asker for asker in member.get("requested_by", []) if asker in doers] if member is not None else []


def _can_work(crew: CrewContext, name: str) -> bool:
    if not _waiting_agents(crew, name) or not crew.approved(name):
        return False
    member = crew.member(name)
    return "question" not in member and member["status"] not in (*DONE_STATUSES, "failed")


def _wait_for_architect(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    """Waits for the solution architect (any waiting agent starts it), for the reader of its answer, or for a person."""
    crew, name = job.context, job.context.solution_architect()
    if "question" in crew.member(job.id) and job.id not in _waiting_agents(crew, name) and step.kind == "wait":
        return JobEnd("asking", reason=step.reason)
    if name not in crew.running_agents and _can_work(crew, name):
        ended = yield from type(job)(crew, name).run()
        if ended.status == "completed":
            return None
        return JobEnd(ended.status, reason=f"{name}: {ended.reason}", executor=ended.executor)
    if crew.running_agents.isdisjoint({name, *_waiting_agents(crew, name)} - {job.id}):
        return JobEnd("asking", reason=step.reason)
    yield
    return JobEnd("stopped") if crew.stopping else None


def _decision(crew: CrewContext) -> str:
    """Returns the solution architect's outputs as text."""
    folder = crew.agent_folder(crew.solution_architect())
    parts = []
    for output in crew.member(folder.id)["outputs"]:
        text = _text(crew, f"{crew.workflow_folder.path}/{output['path']}") or "(it cannot be read)"
        parts.append(f"{output['path']}:\n{text[:MOST_DECISION]}")
    return "\n\n".join(parts)


def _text(crew: CrewContext, path: str) -> str:
    try:
        return crew.home.read(path)
    except (FileNotFoundError, SowError):
        return ""


def _entry(job: MemberJob, note: str) -> Escalation | None:
    """Returns the history's entry for a note of this agent."""
    return escalation.find_record(job.context.workflow()["escalations"], job.context.member(job.id)["task_id"], note)


def _route_of(job: MemberJob, note: str) -> str:
    """Returns where the architect sent a note; empty if it did not yet."""
    escalated = _entry(job, note)
    return escalated.get("route", "") if escalated is not None else ""


def _answered_by(job: MemberJob, note: str) -> str:
    """Returns who answers a note, as the note will say it: a person, or the crew itself."""
    return "user" if _route_of(job, note) in (escalation.USER, escalation.LOOP) else "workflow_executor"


def _note_text(job: MemberJob, note: Note) -> str:
    """Returns a note as the architect would ask it, else in the agent's own words."""
    escalated = _entry(job, note["note_id"])
    return (escalated.get("question") if escalated is not None else "") or note["description"]
