"""Asks a judge a question with a one-time nonce and parses its answer."""

from __future__ import annotations

from sow.engine.runs.reviewer import turn_fields
from sow.engine.runs.run_context import JobEnd
from sow.engine.runs.work_stage import retry_time
from sow.errors import SowError
from sow.system import random_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sow.agents.agent import Agent
    from sow.engine.turns.turn import AgentTurn
    from sow.engine.workflows.crew_context import CrewContext
    from sow.executors.adapter import Outcome
    from sow.store.runs.sessions import SessionRecord
    from sow.store.workflows.folder import AgentFolder
    from sow.system.process.generator_steps import Steps

    class JudgeAnswer(Protocol):
        """The parsed final text of a judge; `why` says what makes it doubtful."""

        doubt: str


REPAIR = """\
Your answer cannot be read: {why}. Change nothing in your judgement, and answer once more with nothing but the answer.

"""


class JudgeQuestion:
    """A question to a judge on behalf of one agent."""

    __slots__ = ("about_agent", "agent", "ask", "folder", "form", "judging", "read")

    def __init__(
        self,
        subject: str,
        folder: AgentFolder,
        agent: Agent,
        *,
        ask: Callable[[str], str],
        form: Callable[[str], str],
        read: Callable[[str, str], JudgeAnswer],
        judging: bool = True,
    ) -> None:
        self.about_agent = subject  # the agent that the question is about
        self.folder = folder
        self.agent = agent
        self.ask = ask  # nonce → the whole prompt
        self.form = form  # nonce → how to answer
        self.judging = judging  # whether it may only read, whatever the role's name is
        self.read = read  # final text, nonce → parsed answer


class JudgeReply:
    """The result: an answer, the end of the job (a limit, a budget, Ctrl-C), or why there is no answer."""

    __slots__ = ("answer", "ended", "failure")

    def __init__(self, answer: JudgeAnswer | None = None, *, ended: JobEnd | None = None, failure: str = "") -> None:
        self.answer = answer
        self.ended = ended
        self.failure = failure


def ask_judge(crew_context: CrewContext, question: JudgeQuestion) -> Steps[JudgeReply]:
    """Ask a judge with the first free executor, and once more if the answer is doubtful."""
    context = crew_context.context
    while True:
        stop_reason = context.refuse_turn_reason()
        if stop_reason:
            return JudgeReply(ended=JobEnd("waiting", reason=stop_reason))
        executors = crew_context.executors_of(question.agent.name)
        free = context.free_executors(executors)
        if not free:
            first = context.first_free(executors)
            reason = f"{first}, which plays {question.agent.name}, has reached its limit"
            return JudgeReply(ended=JobEnd("waiting", reason=reason, executor=first))
        if not (yield from context.has_free_slot(free[0], question.about_agent)):
            return JudgeReply(ended=JobEnd("stopped"))
        settings = crew_context.turn_settings(crew_context.listener(question.about_agent))
        turn = crew_context.turn_class(settings, question.folder, question.agent, free[0], judging=question.judging)
        answer, outcome = yield from context.counted_turn(free[0].name, _ask_once(crew_context, turn, question))
        if outcome.kind == "interrupted":
            return JudgeReply(ended=JobEnd("stopped"))
        if outcome.kind in ("limited", "overloaded"):
            context.mark_limited(free[0].name, retry_time(outcome), outcome.reason)
            continue
        if outcome.kind != "done" or answer is None:
            return JudgeReply(failure=outcome.reason or outcome.kind)
        return JudgeReply(failure=answer.doubt) if answer.doubt else JudgeReply(answer)


def _ask_once(crew: CrewContext, turn: AgentTurn, question: JudgeQuestion) -> Steps[tuple[JudgeAnswer | None, Outcome]]:
    nonce = random_ids.uuid4()
    turn.check()
    question.folder.make_folders()
    record = turn.open_session("review")
    outcome = yield from _take(crew, turn, record, "review", question.ask(nonce), question)
    if outcome.kind != "done":
        return None, outcome
    answer = question.read(outcome.text, nonce)
    if answer.doubt and turn.adapter.capabilities.resumes:
        request = REPAIR.format(why=answer.doubt) + question.form(nonce)
        outcome = yield from _take(crew, turn, record, "reminder", request, question)
        answer = question.read(outcome.text, nonce) if outcome.kind == "done" else answer
    return answer, outcome


def _take(
    crew: CrewContext, turn: AgentTurn, record: SessionRecord, kind: str, text: str, question: JudgeQuestion
) -> Steps[Outcome]:
    """Take one turn, journal it under the agent it is about, and restore state that the judge edited."""
    facts = {"task": question.about_agent, "role": question.agent.name, "executor": turn.executor.name, "kind": kind}
    crew.context.journal("turn_started", **facts)
    try:
        outcome = yield from turn.run(record, kind, text)
    except SowError as problem:
        crew.context.journal("turn_ended", **facts, outcome="failed", reason=problem.message)
        raise
    remarks = restore_state(crew, turn)
    end_facts = turn_fields(outcome, record.session["turns"][-1])
    crew.context.journal("turn_ended", **facts, **end_facts, remarks=remarks)
    return outcome


def restore_state(crew: CrewContext, turn: AgentTurn) -> list[str]:
    """Restore state files that were edited by hand meanwhile, except those of agents at work."""
    from sow.store.projects import at_work

    home, remarks = crew.home, []
    with home.lock():
        for edit in turn.snapshot.hand_edits() if turn.snapshot is not None else ():
            if edit.in_conflict or (edit.task and at_work.is_running(home, edit.task)):
                continue
            edit.revert(home)
            remarks.append(f"{home.relative(edit.path)} was edited by hand; the last good state is back")
    return remarks
