"""Asks a judge a question with a one-time nonce and parses its answer."""

from __future__ import annotations

from sow.engine.ended import Ended
from sow.engine.reviewing import turn_facts
from sow.engine.work_turn import until_of
from sow.errors import SowError
from sow.system import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sow.agents.agent import Agent
    from sow.engine.steps import Steps
    from sow.engine.turn import Seat
    from sow.executors.adapter import Outcome
    from sow.store.member_desk import MemberDesk
    from sow.store.sessions import Record
    from sow.workflows.deck import Deck

    class Answer(Protocol):
        """The parsed final text of a judge; `why` says what makes it doubtful."""

        why: str


TRIES = 3  # turns of a judge that fail or leave a doubt, before a person is asked
REPAIR = """\
Your answer cannot be read: {why}. Change nothing in your judgement, and answer once more with nothing but the answer.

"""


class Question:
    """A question to a judge on behalf of one agent."""

    __slots__ = ("agent", "ask", "desk", "form", "judging", "read", "subject")

    def __init__(
        self,
        subject: str,
        desk: MemberDesk,
        agent: Agent,
        *,
        ask: Callable[[str], str],
        form: Callable[[str], str],
        read: Callable[[str, str], Answer],
        judging: bool = True,
    ) -> None:
        self.subject = subject  # the agent that the question is about
        self.desk = desk
        self.agent = agent
        self.ask = ask  # nonce → the whole prompt
        self.form = form  # nonce → how to answer
        self.judging = judging  # whether it may only read, whatever the role's name is
        self.read = read  # final text, nonce → parsed answer


class Heard:
    """The result: an answer, the end of the job (a limit, a budget, Ctrl-C), or why there is no answer."""

    __slots__ = ("answer", "ended", "failure")

    def __init__(self, answer: Answer | None = None, *, ended: Ended | None = None, failure: str = "") -> None:
        self.answer = answer
        self.ended = ended
        self.failure = failure


def hear(deck: Deck, question: Question) -> Steps[Heard]:
    """Ask a judge with the first free executor, and once more if the answer is doubtful."""
    ship = deck.ship
    while True:
        stop_reason = ship.stop_new()
        if stop_reason:
            return Heard(ended=Ended("waiting", reason=stop_reason))
        executors = deck.executors_of(question.agent.name)
        free = ship.free(executors)
        if not free:
            first = ship.first_free(executors)
            reason = f"{first}, which plays {question.agent.name}, has reached its limit"
            return Heard(ended=Ended("waiting", reason=reason, executor=first))
        if not (yield from ship.has_place(free[0], question.subject)):
            return Heard(ended=Ended("stopped"))
        crew = deck.crew(deck.hear(question.subject))
        seat = deck.seat(crew, question.desk, question.agent, free[0], judging=question.judging)
        answer, outcome = yield from ship.seated(free[0].name, _hold(deck, seat, question))
        if outcome.kind == "interrupted":
            return Heard(ended=Ended("stopped"))
        if outcome.kind in ("limited", "overloaded"):
            ship.rest(free[0].name, until_of(outcome), outcome.reason)
            continue
        if outcome.kind != "done" or answer is None:
            return Heard(failure=outcome.reason or outcome.kind)
        return Heard(failure=answer.why) if answer.why else Heard(answer)


def _hold(deck: Deck, seat: Seat, question: Question) -> Steps[tuple[Answer | None, Outcome]]:
    nonce = identity.uuid4()
    seat.check()
    question.desk.make()
    record = seat.open_session("review")
    outcome = yield from _take(deck, seat, record, "review", question.ask(nonce), question)
    if outcome.kind != "done":
        return None, outcome
    answer = question.read(outcome.text, nonce)
    if answer.why and seat.adapter.capabilities.resumes:
        request = REPAIR.format(why=answer.why) + question.form(nonce)
        outcome = yield from _take(deck, seat, record, "reminder", request, question)
        answer = question.read(outcome.text, nonce) if outcome.kind == "done" else answer
    return answer, outcome


def _take(deck: Deck, seat: Seat, record: Record, kind: str, text: str, question: Question) -> Steps[Outcome]:
    """Take one turn, journal it under the agent it is about, and restore state that the judge edited."""
    facts = {"task": question.subject, "role": question.agent.name, "executor": seat.executor.name, "kind": kind}
    deck.ship.tell("turn_started", **facts)
    try:
        outcome = yield from seat.take(record, kind, text)
    except SowError as problem:
        deck.ship.tell("turn_ended", **facts, outcome="failed", reason=problem.message)
        raise
    remarks = put_back(deck, seat)
    end_facts = turn_facts(outcome, record.session["turns"][-1])
    deck.ship.tell("turn_ended", **facts, **end_facts, remarks=remarks)
    return outcome


def put_back(deck: Deck, seat: Seat) -> list[str]:
    """Restore state files that were edited by hand meanwhile, except those of agents at work."""
    from sow.store import at_work

    home, remarks = deck.home, []
    with home.lock():
        for edit in seat.snapshot.edits() if seat.snapshot is not None else ():
            if edit.in_conflict or (edit.task and at_work.is_at_work(home, edit.task)):
                continue
            edit.take_back(home)
            remarks.append(f"{home.relative(edit.path)} was edited by hand; the last good state is back")
    return remarks
