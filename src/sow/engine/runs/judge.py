"""Asks a judge about a task or an agent: one question with a one-time nonce, and once more if the answer is unclear."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sow.agents.registry import Agent
from sow.config import ExecutorConfig
from sow.engine.runs.run_context import RunContext, turn_fields
from sow.engine.runs.run_job import LIMITED, JobEnd
from sow.engine.turns.turn import AgentTurn
from sow.executors.adapter import Outcome
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs.sessions import SessionRecord
from sow.store.workflows.folder import AgentFolder
from sow.system import clock
from sow.system.process.steps import Steps

REPAIR = """\
Your answer cannot be read: {why}. Change nothing in your judgement, and answer once more with nothing but the answer.

"""


class JudgeAnswer(Protocol):
    """The parsed final text of a judge; `doubt` says why it cannot be read."""

    doubt: str


Answer = TypeVar("Answer", bound=JudgeAnswer)


@dataclass(frozen=True)
class JudgeQuestion(Generic[Answer]):
    """A question to a judge about the work of one job."""

    job: str  # the task or agent that the question is about
    folder: TaskFolder | AgentFolder  # where the judge's session is recorded
    agent: Agent
    prompt: Callable[[str], str]  # nonce → the whole prompt
    form: Callable[[str], str]  # nonce → how to answer
    parse: Callable[[str, str], Answer]  # final text, nonce → answer
    doing: str = ""  # what the run shows meanwhile
    read_only: bool = True  # False for a judge that may change the plan
    tries: int = 1  # turns that may fail before there is no answer
    checkout: Callable[[], AbstractContextManager[str]] = lambda: nullcontext("")  # opens the folder that it works in
    commit: str = ""  # the work that it judges, if it can do so on another host
    base: str = ""


@dataclass(frozen=True)
class JudgeReply(Generic[Answer]):
    """The result: an answer, the end of the job (a limit, a budget, Ctrl-C), or why there is no answer."""

    answer: Answer | None = None
    ended: JobEnd | None = None
    failure: str = ""
    unclear_text: str | None = None  # the final text, if it cannot be read


def ask_judge(context: RunContext, question: JudgeQuestion[Answer]) -> Steps[JudgeReply[Answer]]:
    """Asks a judge; again if its turn fails, with another executor if one has reached its limit."""
    role, failures, failure = question.agent.name, 0, ""
    while failures < question.tries:
        executors = context.turns.executors_of(context, role)
        executor = yield from context.pool.take(question.job, executors, role=role, skip=failures)
        if isinstance(executor, JobEnd):
            return JudgeReply(ended=executor)
        if question.doing:
            context.progress(question.job, question.doing)
        nonce = clock.uuid4()
        remote = context.turns.judge(context, question, executor, nonce)
        asking = ask_once(context, question, executor, nonce) if remote is None else remote
        answer, outcome = yield from context.pool.count(executor, asking)
        if outcome.kind == "interrupted":
            return JudgeReply(ended=JobEnd("stopped"))
        if outcome.kind in LIMITED:
            context.pool.mark_limited(executor.name, outcome)
        elif answer is None:
            failures, failure = failures + 1, outcome.reason or outcome.kind
        elif answer.doubt:
            return JudgeReply(failure=answer.doubt, unclear_text=outcome.text)
        else:
            return JudgeReply(answer)
    return JudgeReply(failure=failure)


def ask_once(
    context: RunContext, question: JudgeQuestion[Answer], executor: ExecutorConfig, nonce: str
) -> Steps[tuple[Answer | None, Outcome]]:
    """Asks with one executor; an unclear answer stays unclear if the second turn brings none."""
    settings = context.turn_settings(context.listener(question.job))
    with question.checkout() as cwd:
        turn = context.turn_class(
            settings, question.folder, question.agent, executor, cwd=cwd, judging=question.read_only
        )
        turn.check()
        record = turn.open_session("review")
        outcome = yield from _turn(context, question.job, turn, record, "review", question.prompt(nonce))
        if outcome.kind != "done":
            return None, outcome
        answer = question.parse(outcome.text, nonce)
        if answer.doubt and turn.adapter.capabilities.resumes:
            request = REPAIR.format(why=answer.doubt) + question.form(nonce)
            repaired = yield from _turn(context, question.job, turn, record, "reminder", request)
            if repaired.kind in ("interrupted", *LIMITED):
                return None, repaired
            answer = question.parse(repaired.text, nonce) if repaired.kind == "done" else answer
    return answer, outcome


def _turn(
    context: RunContext, job: str, turn: AgentTurn, record: SessionRecord, kind: str, text: str
) -> Steps[Outcome]:
    """Takes one turn, journals it under the job that it is about, and undoes what the judge edited by hand."""
    facts = {"task": job, "role": turn.agent.name, "executor": turn.executor.name, "kind": kind}
    outcome = yield from context.turn(facts, turn.run(record, kind, text))
    remarks = context.undo_edits(turn)
    end_facts = turn_fields(outcome, record.session["turns"][-1])
    context.journal("turn_ended", **facts, **end_facts, remarks=remarks)
    return outcome
