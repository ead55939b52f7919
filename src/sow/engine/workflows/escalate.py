"""Answers escalated notes: the architect sorts them, a person or the solution architect decides, the answer is checked.

All notes of one agent are handled together, the longest blocked agent first. The next step is read from disk.
"""

from __future__ import annotations

from sow.domain.workflows import escalation
from sow.domain.workflows.crew_plan import ARCHITECT
from sow.domain.workflows.escalation import EscalationDecision
from sow.engine.runs.run_context import JobEnd
from sow.engine.workflows import architect, judge, prompts, replan
from sow.engine.workflows.architect import answered_by, escalation_entry, question_text, route_of
from sow.engine.workflows.crew_context import WORKFLOW_ARCHITECT
from sow.engine.workflows.judge import JudgeQuestion
from sow.store.workflows import question_updates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import MemberState
    from sow.domain.workflows.escalation import ArchitectAnswer
    from sow.domain.workflows.escalation_step import EscalationStep
    from sow.engine.workflows.member_job import MemberJob
    from sow.system.process.generator_steps import Steps


def take_step(job: MemberJob) -> Steps[JobEnd | None]:
    """Take one step towards an answer; the job asks for its stage again after each."""
    step = architect.next_escalation_step(job)
    if step.kind in ("sort", "loop", "validate"):
        return (yield from _with_architect(job, step))
    if step.kind == "apply":
        _apply(job, step)
        return None
    if step.kind == "ask":
        job.ask(_question_text(job, step.notes), kind=_kind(job, step.notes))
        return None  # it may be answered already
    if step.kind == "commission" and job.crew.solution_architect() not in job.crew.at_work:
        architect.start_architect(job, step)
        return None
    if step.kind in ("wait", "commission"):
        return (yield from architect.wait_for_architect(job, step))
    question_updates.resolve_notes(job.crew.home, job.id, {})
    return None


def _with_architect(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    """Take one turn of the workflow architect when it is this agent's turn in the queue."""
    line = job.crew.line
    line.enqueue(job.id)
    try:
        yield  # lets all agents that begin now join the queue before the first is served
        while not line.acquire(job.id, job.crew.blocked_agents()):
            yield
            if job.crew.context.stopping:
                return JobEnd("stopped")
        return (yield from _turn(job, step))
    finally:
        line.release(job.id)


def _turn(job: MemberJob, step: EscalationStep) -> Steps[JobEnd | None]:
    crew, name = job.crew, job.id
    crew.context.progress(name, "the workflow architect looks at its notes")
    if step.kind == "sort":
        crew.context.journal("escalated", task=name, notes=step.notes)
    reply = yield from judge.ask_judge(crew, _question(job, step))
    if reply.ended is not None:
        return reply.ended
    ruling = reply.answer if isinstance(reply.answer, escalation.ArchitectAnswer) else None
    if ruling is None:  # the decision is unreadable, so a person decides
        _route(job, [(note, escalation.LOOP if step.kind == "loop" else escalation.USER, "") for note in step.notes])
        return job.ask(_question_text(job, step.notes, failure=reply.failure), kind=_kind(job, step.notes))
    ended = _rule(job, step, ruling)
    ended_by_plan = yield from replan.check_changed_plan(crew, job)
    return ended or ended_by_plan


def _rule(job: MemberJob, step: EscalationStep, ruling: ArchitectAnswer) -> JobEnd | None:
    """Record what the architect decided, in as few steps as possible, because a crash may fall between two steps."""
    if step.kind == "loop":
        _route(job, [(note, escalation.LOOP, ruling.analysis) for note in step.notes])
        return job.ask(_question_text(job, step.notes), kind="loop")
    sources = {note: answered_by(job, note) for note in step.notes}
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
    user_notes = [note for note, _, _ in routed if answered_by(job, note) == "user"]
    if user_notes:
        job.ask(_question_text(job, user_notes), kind="user")  # the job continues if there is something to do meanwhile
    return None


def _route(job: MemberJob, routes: list[tuple[str, str, str]]) -> None:
    # The solution architect must not decide its own questions: they go to a person.
    is_architect = job.crew.member(job.id)["kind"] == ARCHITECT
    decisions = [
        EscalationDecision(
            note, escalation.USER if is_architect and route == escalation.ARCHITECT else route, question=question
        )
        for note, route, question in routes
    ]
    question_updates.record_routes(job.crew.home, job.id, decisions)


def _resolve(job: MemberJob, answers: dict[str, tuple[str, str]]) -> None:
    question_updates.resolve_notes(job.crew.home, job.id, answers)
    for note, (_, by) in answers.items():
        job.crew.context.journal("resolved", task=job.id, note=note, by=by)


def _apply(job: MemberJob, step: EscalationStep) -> None:
    """Write answers into notes that have one in the history only, because a crash came between."""
    entries = {note: escalation_entry(job, note) for note in step.notes}
    texts = {note: escalated.get("resolution", "") for note, escalated in entries.items() if escalated is not None}
    _resolve(job, {note: (text, answered_by(job, note)) for note, text in texts.items()})


def _kind(job: MemberJob, notes: list[str]) -> str:
    return "loop" if any(route_of(job, note) == escalation.LOOP for note in notes) else "user"


def _question_text(job: MemberJob, notes: list[str], *, failure: str = "") -> str:
    """Return the question as a person reads it; a loop comes with its whole history."""
    own_notes = [note for note in job.crew.notes(job.id) if note["note_id"] in notes]
    lines = [f"{note['note_id']}: {question_text(job, note)}" for note in own_notes]
    if failure:
        lines.append(f"{escalation.UNREADABLE}{failure})")
    if _kind(job, notes) == "loop":
        history = escalation.history_text(job.crew.workflow()["escalations"], job.crew.member(job.id)["task_id"])
        lines += ["The same was asked three times or more; all that was asked on this task:", history]
    return "\n".join(lines)


def _question(job: MemberJob, step: EscalationStep) -> JudgeQuestion:
    crew = job.crew

    def form(nonce: str) -> str:
        if step.kind == "loop":
            return prompts.ANALYSIS.format(nonce=nonce)
        return prompts.DECISIONS.format(nonce=nonce, notes=", ".join(step.notes))

    def read(text: str, nonce: str) -> ArchitectAnswer:
        if step.kind == "loop":
            return escalation.parse_analysis(text, nonce)
        return escalation.parse(text, nonce, step.notes)

    agent = crew.context.agents.get(WORKFLOW_ARCHITECT)
    facts = _facts(job, step)
    workflow_facts = {"workflow": crew.workflow()["name"], "root": crew.home.root}
    return JudgeQuestion(
        job.id,
        crew.architect_folder(),
        agent,
        ask=lambda nonce: prompts.architect_prompt(agent, **workflow_facts, facts=facts, form=form(nonce)),
        form=form,
        read=read,
        judging=False,  # it may change the plan
    )


def _facts(job: MemberJob, step: EscalationStep) -> list[str]:
    """Return what the architect must know: the notes, the answer to check, the history and the status of all agents."""
    crew, workflow, state = job.crew, job.crew.workflow(), job.crew.member(job.id)
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
    return [*facts, prompts.status_lines(workflow["members"])]


def _answer_to_check(job: MemberJob, state: MemberState, step: EscalationStep) -> str:
    """Return the answer to be checked: a person's, or the solution architect's decision."""
    if all(answered_by(job, note) == "user" for note in step.notes):
        return "The person answers:\n" + prompts.quoted(state.get("pending_answer", ""))
    return "The solution architect has decided, and was verified:\n" + prompts.quoted(architect.decision(job.crew))
