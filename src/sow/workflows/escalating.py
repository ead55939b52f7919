"""Answers escalated notes: the architect sorts them, a person or the solution architect decides, the answer is checked.

All notes of one agent are handled together, the longest blocked agent first. The next step is read from disk.
"""

from __future__ import annotations

from sow.domain import escalation
from sow.domain.crew_plan import ARCHITECT
from sow.domain.escalation import Decision
from sow.engine.ended import Ended
from sow.store import workflow_questions
from sow.workflows import advising, judge_turn, note_history, replanning, words
from sow.workflows.deck import WORKFLOW_ARCHITECT
from sow.workflows.judge_turn import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.escalation import Ruling
    from sow.domain.escalation_step import Step
    from sow.domain.shapes import MemberState
    from sow.engine.steps import Steps
    from sow.workflows.member_job import MemberJob


def answer(job: MemberJob) -> Steps[Ended | None]:
    """Take one step towards an answer; the job asks for its stage again after each."""
    step = advising.step_of(job)
    if step.kind in ("sort", "loop", "validate"):
        return (yield from _with_architect(job, step))
    if step.kind == "apply":
        _apply(job, step)
        return None
    if step.kind == "ask":
        job.ask(_asked(job, step.notes), kind=_kind(job, step.notes))
        return None  # it may be answered already
    if step.kind == "commission" and job.deck.solution_architect() not in job.deck.at_work:
        advising.commission(job, step)
        return None
    if step.kind in ("wait", "commission"):
        return (yield from advising.wait(job, step))
    workflow_questions.resolve_notes(job.deck.home, job.id, {})
    return None


def _with_architect(job: MemberJob, step: Step) -> Steps[Ended | None]:
    """Take one turn of the workflow architect when it is this agent's turn in the queue."""
    line = job.deck.line
    line.join(job.id)
    try:
        yield  # lets all agents that begin now join the queue before the first is served
        while not line.take(job.id, job.deck.queue()):
            yield
            if job.deck.ship.stopping:
                return Ended("stopped")
        return (yield from _turn(job, step))
    finally:
        line.give(job.id)


def _turn(job: MemberJob, step: Step) -> Steps[Ended | None]:
    deck, name = job.deck, job.id
    deck.ship.step(name, "the workflow architect looks at its notes")
    if step.kind == "sort":
        deck.ship.tell("escalated", task=name, notes=step.notes)
    reply = yield from judge_turn.hear(deck, _question(job, step))
    if reply.ended is not None:
        return reply.ended
    ruling = reply.answer if isinstance(reply.answer, escalation.Ruling) else None
    if ruling is None:  # the decision is unreadable, so a person decides
        _route(job, [(note, escalation.LOOP if step.kind == "loop" else escalation.USER, "") for note in step.notes])
        return job.ask(_asked(job, step.notes, failure=reply.failure), kind=_kind(job, step.notes))
    ended = _rule(job, step, ruling)
    ended_by_plan = yield from replanning.look(deck, job)
    return ended or ended_by_plan


def _rule(job: MemberJob, step: Step, ruling: Ruling) -> Ended | None:
    """Record what the architect decided, in as few steps as possible, because a crash may fall between two steps."""
    if step.kind == "loop":
        _route(job, [(note, escalation.LOOP, ruling.analysis) for note in step.notes])
        return job.ask(_asked(job, step.notes), kind="loop")
    sources = {note: note_history.source(job, note) for note in step.notes}
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
    user_notes = [note for note, _, _ in routed if note_history.source(job, note) == "user"]
    if user_notes:
        job.ask(_asked(job, user_notes), kind="user")  # the job continues if there is something to do meanwhile
    return None


def _route(job: MemberJob, routes: list[tuple[str, str, str]]) -> None:
    # The solution architect must not decide its own questions: they go to a person.
    is_architect = job.deck.member(job.id)["kind"] == ARCHITECT
    decisions = [
        Decision(note, escalation.USER if is_architect and route == escalation.ARCHITECT else route, question=question)
        for note, route, question in routes
    ]
    workflow_questions.route(job.deck.home, job.id, decisions)


def _resolve(job: MemberJob, answers: dict[str, tuple[str, str]]) -> None:
    workflow_questions.resolve_notes(job.deck.home, job.id, answers)
    for note, (_, by) in answers.items():
        job.deck.ship.tell("resolved", task=job.id, note=note, by=by)


def _apply(job: MemberJob, step: Step) -> None:
    """Write answers into notes that have one in the history only, because a crash came between."""
    entries = {note: note_history.entry(job, note) for note in step.notes}
    texts = {note: escalated.get("resolution", "") for note, escalated in entries.items() if escalated is not None}
    _resolve(job, {note: (text, note_history.source(job, note)) for note, text in texts.items()})


def _kind(job: MemberJob, notes: list[str]) -> str:
    """Return the kind of a question: about a loop, or an ordinary one."""
    return "loop" if any(note_history.way(job, note) == escalation.LOOP for note in notes) else "user"


def _asked(job: MemberJob, notes: list[str], *, failure: str = "") -> str:
    """Return the question as a person reads it; a loop comes with its whole history."""
    own_notes = [note for note in job.deck.notes(job.id) if note["note_id"] in notes]
    lines = [f"{note['note_id']}: {note_history.put(job, note)}" for note in own_notes]
    if failure:
        lines.append(f"{escalation.UNREADABLE}{failure})")
    if _kind(job, notes) == "loop":
        history = escalation.history_text(job.deck.workflow()["escalations"], job.deck.member(job.id)["task_id"])
        lines += ["The same was asked three times or more; all that was asked on this task:", history]
    return "\n".join(lines)


def _question(job: MemberJob, step: Step) -> Question:
    deck = job.deck

    def form(nonce: str) -> str:
        if step.kind == "loop":
            return words.ANALYSIS.format(nonce=nonce)
        return words.DECISIONS.format(nonce=nonce, notes=", ".join(step.notes))

    def read(text: str, nonce: str) -> Ruling:
        if step.kind == "loop":
            return escalation.parse_analysis(text, nonce)
        return escalation.parse(text, nonce, step.notes)

    agent = deck.ship.agents.get(WORKFLOW_ARCHITECT)
    facts = _facts(job, step)
    workflow_facts = {"workflow": deck.workflow()["name"], "root": deck.home.root}
    return Question(
        job.id,
        deck.architects_desk(),
        agent,
        ask=lambda nonce: words.architect_prompt(agent, **workflow_facts, facts=facts, form=form(nonce)),
        form=form,
        read=read,
        judging=False,  # it may change the plan
    )


def _facts(job: MemberJob, step: Step) -> list[str]:
    """Return what the architect must know: the notes, the answer to check, the history and the status of all agents."""
    deck, workflow, state = job.deck, job.deck.workflow(), job.deck.member(job.id)
    notes = [note for note in deck.notes(job.id) if note["note_id"] in step.notes]
    request = {
        "sort": "is blocked. Sort these notes:",
        "loop": "asks the same for the third time or more. Find the cause of the loop:",
        "validate": "waits. These notes have an answer; check it, and write it as the resolution (route answer):",
    }[step.kind]
    facts = [f"Agent {job.id} (task {state['task_id']}) {request}\n{words.noted(notes)}"]
    if step.kind == "validate":
        facts.append(_given(job, state, step))
    history = escalation.history_text(workflow["escalations"], state["task_id"])
    facts.append("All that was ever escalated on this task:\n" + words.quoted(history))
    return [*facts, words.standing(workflow["members"])]


def _given(job: MemberJob, state: MemberState, step: Step) -> str:
    """Return the answer to be checked: a person's, or the solution architect's decision."""
    if all(note_history.source(job, note) == "user" for note in step.notes):
        return "The person answers:\n" + words.quoted(state.get("pending_answer", ""))
    return "The solution architect has decided, and was verified:\n" + words.quoted(advising.decision(job.deck))
