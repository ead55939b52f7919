"""Takes one agent of a crew through a run: work, blocked notes, verification; each stage is read from disk.

A job is a generator that never ends in the middle of a write. If it is killed, the next run reads the stage again.
"""

from __future__ import annotations

from sow.domain import crew_stage
from sow.domain.workflow_agent import DONE
from sow.engine import task_budget
from sow.engine.ended import Ended
from sow.engine.work_turn import until_of
from sow.executors.registry import adapter as find_adapter
from sow.store import sessions, workflow_acts, workflow_questions
from sow.workflows import advising, escalating, outputs, standing_word
from sow.workflows.crew_seat import CrewSeat
from sow.workflows.verify_turn import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.domain.shapes import MemberState
    from sow.engine.steps import Steps
    from sow.workflows.crew_seat import Taken
    from sow.workflows.deck import Deck


class MemberJob:
    """The job of one agent."""

    __slots__ = ("deck", "id")

    def __init__(self, deck: Deck, name: str) -> None:
        self.deck = deck
        self.id = name

    def steps(self) -> Steps[Ended]:
        """Run stage after stage until the agent is verified, waits for somebody, or cannot continue."""
        self.deck.at_work.add(self.id)
        try:
            return (yield from self._stages())
        finally:
            self.deck.at_work.discard(self.id)

    def _stages(self) -> Steps[Ended]:
        self._settle_last()
        while not self.deck.ship.stopping:
            if self.id not in (*self.deck.doers(), self.deck.solution_architect()):
                return Ended("abandoned", reason="it is in the plan no more")
            stage, reason = self.deck.stage(self.id)
            if stage == "start" and outputs.reopen_changed(self.deck, self.deck.needs().get(self.id, [])):
                continue  # it waits for them now
            if stage in ("start", "work", "review_notes"):
                ended = yield from self._work(stage)
            elif stage == "blocked" or (stage == "wait" and advising.has_work(self)):
                ended = yield from escalating.answer(self)
            elif stage == "verify":
                ended = yield from verify(self)
            elif stage == "wait" and standing_word.settle(self.deck, self.id):
                ended = None
            elif stage == "wait" and self._waits_for_others():
                yield
                ended = None
            else:
                return self._end(stage, reason)
            if ended is not None:
                return ended
        return Ended("stopped")

    def _settle_last(self) -> None:
        """Settle a turn that ended well before a crash of sow, whatever status its agent had set by then."""
        state = self.deck.workflow()["members"].get(self.id)
        seat = self._seat() if state is not None and state["status"] not in ("pending", *DONE) else None
        if isinstance(seat, CrewSeat):
            seat.settle_last()

    def _waits_for_others(self) -> bool:
        """Tell whether other agents will finish by themselves, after which this agent continues."""
        deck, members = self.deck, self.deck.workflow()["members"]
        if "question" in members[self.id] or not deck.approved(self.id):
            return False
        dependencies = [members[ident] for ident in deck.needs().get(self.id, []) if ident in members]
        return not any("question" in dependency or dependency["status"] == "failed" for dependency in dependencies)

    def _end(self, stage: str, reason: str) -> Ended:
        """Return how the job ends at a stage at which nobody works."""
        if stage == "done":
            return Ended("completed")
        if stage == "ask":
            kind = crew_stage.question_kind(self.deck.member(self.id))
            self.ask(f"Agent {self.id}: {reason}", kind=kind)
            return Ended("failed" if self.deck.member(self.id)["status"] == "failed" else "asking", reason=reason)
        return Ended("failed" if stage == "failed" else "asking", reason=reason)

    def ask(self, text: str, *, kind: str) -> Ended:
        """Ask a person and end the job."""
        self.tell_question(workflow_questions.ask_person(self.deck.home, self.id, text, kind=kind).member)
        return Ended("asking", reason=text)

    def tell_question(self, state: MemberState) -> None:
        """Journal an agent's question to a person as soon as it is in the state."""
        question = state.get("question")
        if question is not None:
            number = f"w{question['number']}"
            self.deck.ship.tell("question", task=self.id, number=number, text=question["text"], kind=question["kind"])

    def _work(self, stage: str) -> Steps[Ended | None]:
        """Take a turn of the agent, with an executor that has not reached a limit."""
        ship = self.deck.ship
        self._make_ready()
        seat = self._seat()
        if isinstance(seat, Ended):
            return seat
        reason = ship.stop_new()
        if reason:
            return Ended("waiting", reason=reason)
        question = task_budget.spent(ship.config, self.deck.desk(self.id), self._answers())
        if question:
            return self.ask(question, kind="approval")
        executor = seat.seat.executor
        if not (yield from ship.has_place(executor, self.id)):
            return Ended("stopped")
        finished = yield from ship.seated(executor.name, seat.work(stage))
        outcome = finished.outcome
        if not finished.is_open:
            return None
        if outcome.kind == "interrupted":
            return Ended("stopped")
        if outcome.kind in ("limited", "overloaded"):
            ship.rest(executor.name, until_of(outcome), outcome.reason)
            return None  # the next turn selects another executor
        return self._failed_try(finished)

    def _answers(self) -> list[tuple[str, str]]:
        """Return what this agent asked, and when it was answered."""
        answers = self.deck.workflow().get("answers", [])
        return [(answer["text"], answer["answered_at"]) for answer in answers if answer["member"] == self.id]

    def _make_ready(self) -> None:
        """Set the agent to work, whatever its status was: a note that came up after it was handed in sends it back."""
        state = self.deck.member(self.id)
        if state["status"] == "ready_for_verification":
            workflow_acts.send_back(
                self.deck.home, self.id, "There are unresolved notes on your desk: settle them first."
            )
        elif state["status"] == "blocked":  # its notes were resolved by hand, or before a crash
            workflow_questions.resolve_notes(self.deck.home, self.id, {})
        elif state["status"] == "pending":
            workflow_acts.begin_session(self.deck.home, self.id, needed=self.deck.needs().get(self.id, []))

    def _seat(self) -> CrewSeat | Ended:
        """Return the seat with the executor of the existing session, else with the first free one."""
        deck, ship, state = self.deck, self.deck.ship, self.deck.member(self.id)
        role = deck.role(self.id)
        record = sessions.current(deck.desk(self.id), state.get("session_id", ""))
        executor = ship.config.executors.get(record.session["executor"]) if record is not None else None
        if (
            executor is not None
            and find_adapter(executor.type).capabilities.resumes
            and not ship.rests_until(executor.name)
        ):
            return CrewSeat(deck, self.id, role, executor)
        executors: list[ExecutorConfig] = deck.executors_of(role.name)
        free = ship.free(executors)
        if free:
            return CrewSeat(deck, self.id, role, free[0])
        first = ship.first_free(executors)
        return Ended("waiting", reason=f"{first} has reached its limit", executor=first)

    def _failed_try(self, finished: Taken) -> Ended | None:
        """Count a crash, a time-out, or a turn without a result; after three in a row a person is asked."""
        reason = finished.reason or finished.outcome.reason or finished.outcome.kind
        failure = reason if finished.outcome.kind == "done" else f"{finished.outcome.kind}: {reason}"
        state = workflow_acts.fail_try(self.deck.home, self.id, failure).member
        self.deck.ship.step(self.id, f"a failed try: {failure}"[:200])
        if state["status"] != "failed":
            return None
        self.tell_question(state)
        return Ended("failed", reason=failure, idle=finished.idle)
