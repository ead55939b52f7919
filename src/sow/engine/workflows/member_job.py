"""Takes one agent of a crew through a run: work, blocked notes, verification; each stage is read from disk.

A job is a generator that never ends in the middle of a write. If it is killed, the next run reads the stage again.
"""

from __future__ import annotations

from sow.domain.actor import PERSON, Actor
from sow.domain.workflows import escalation, stages
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.engine.runs import budget
from sow.engine.runs.run_context import JobEnd
from sow.engine.runs.standing_answers import NAME, ORIGIN
from sow.engine.runs.work_stage import retry_time
from sow.engine.workflows import architect, escalate, outputs
from sow.engine.workflows.member_turn import MemberTurn
from sow.engine.workflows.verify import verify
from sow.executors.registry import adapter as find_adapter
from sow.store.runs import sessions
from sow.store.user.standing_answers import StandingAnswers
from sow.store.workflows import members, question_updates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.domain.documents.state import MemberState
    from sow.engine.workflows.crew_context import CrewContext
    from sow.engine.workflows.member_turn import FinishedMemberTurn
    from sow.system.process.generator_steps import Steps


class MemberJob:
    """The job of one agent."""

    __slots__ = ("crew", "id")

    def __init__(self, crew: CrewContext, name: str) -> None:
        self.crew = crew
        self.id = name

    def run(self) -> Steps[JobEnd]:
        """Run stage after stage until the agent is verified, waits for somebody, or cannot continue."""
        self.crew.at_work.add(self.id)
        try:
            return (yield from self._stages())
        finally:
            self.crew.at_work.discard(self.id)

    def _stages(self) -> Steps[JobEnd]:
        self._settle_last()
        while not self.crew.context.stopping:
            if self.id not in (*self.crew.active_agents(), self.crew.solution_architect()):
                return JobEnd("abandoned", reason="it is in the plan no more")
            stage, reason = self.crew.stage(self.id)
            if stage == "start" and outputs.reopen_changed(self.crew, self.crew.needs().get(self.id, [])):
                continue  # it waits for them now
            if stage in ("start", "work", "review_notes"):
                ended = yield from self._work(stage)
            elif stage == "blocked" or (stage == "wait" and architect.has_work(self)):
                ended = yield from escalate.take_step(self)
            elif stage == "verify":
                ended = yield from verify(self)
            elif stage == "wait" and answer_from_saved(self.crew, self.id):
                ended = None
            elif stage == "wait" and self._waits_for_others():
                yield
                ended = None
            else:
                return self._end(stage, reason)
            if ended is not None:
                return ended
        return JobEnd("stopped")

    def _settle_last(self) -> None:
        """Settle a turn that ended well before a crash of sow, whatever status its agent had set by then."""
        state = self.crew.workflow()["members"].get(self.id)
        turn = self._choose_turn() if state is not None and state["status"] not in ("pending", *DONE_STATUSES) else None
        if isinstance(turn, MemberTurn):
            turn.settle_last()

    def _waits_for_others(self) -> bool:
        """Tell whether other agents will finish by themselves, after which this agent continues."""
        crew, members = self.crew, self.crew.workflow()["members"]
        if "question" in members[self.id] or not crew.approved(self.id):
            return False
        dependencies = [members[ident] for ident in crew.needs().get(self.id, []) if ident in members]
        return not any("question" in dependency or dependency["status"] == "failed" for dependency in dependencies)

    def _end(self, stage: str, reason: str) -> JobEnd:
        """Return how the job ends at a stage at which nobody works."""
        if stage == "done":
            return JobEnd("completed")
        if stage == "ask":
            self.ask(f"Agent {self.id}: {reason}", kind=stages.question_kind(self.crew.member(self.id)))
            return JobEnd("failed" if self.crew.member(self.id)["status"] == "failed" else "asking", reason=reason)
        return JobEnd("failed" if stage == "failed" else "asking", reason=reason)

    def ask(self, text: str, *, kind: str) -> JobEnd:
        """Ask a person and end the job."""
        self.tell_question(question_updates.ask_person(self.crew.home, self.id, text, kind=kind).member)
        return JobEnd("asking", reason=text)

    def tell_question(self, state: MemberState) -> None:
        """Journal an agent's question to a person as soon as it is in the state."""
        question = state.get("question")
        if question is not None:
            number = f"w{question['number']}"
            self.crew.context.journal(
                "question", task=self.id, number=number, text=question["text"], kind=question["kind"]
            )

    def _work(self, stage: str) -> Steps[JobEnd | None]:
        """Take a turn of the agent, with an executor that has not reached a limit."""
        context = self.crew.context
        self._set_to_work()
        turn = self._choose_turn()
        if isinstance(turn, JobEnd):
            return turn
        reason = context.refuse_turn_reason()
        if reason:
            return JobEnd("waiting", reason=reason)
        question = budget.budget_question(context.config, self.crew.agent_folder(self.id), self._answers())
        if question:
            return self.ask(question, kind="approval")
        executor = turn.turn.executor
        if not (yield from context.has_free_slot(executor, self.id)):
            return JobEnd("stopped")
        finished = yield from context.counted_turn(executor.name, turn.work(stage))
        outcome = finished.outcome
        if not finished.is_open:
            return None
        if outcome.kind == "interrupted":
            return JobEnd("stopped")
        if outcome.kind in ("limited", "overloaded"):
            context.mark_limited(executor.name, retry_time(outcome), outcome.reason)
            return None  # the next turn selects another executor
        return self._failed_try(finished)

    def _answers(self) -> list[tuple[str, str]]:
        """Return what this agent asked, and when it was answered."""
        answers = self.crew.workflow().get("answers", [])
        return [(answer["text"], answer["answered_at"]) for answer in answers if answer["member"] == self.id]

    def _set_to_work(self) -> None:
        """Set the agent to work, whatever its status was: a note that came up after it was handed in sends it back."""
        state = self.crew.member(self.id)
        if state["status"] == "ready_for_verification":
            members.send_back(self.crew.home, self.id, "There are unresolved notes on your desk: settle them first.")
        elif state["status"] == "blocked":  # its notes were resolved by hand, or before a crash
            question_updates.resolve_notes(self.crew.home, self.id, {})
        elif state["status"] == "pending":
            members.begin_session(self.crew.home, self.id, needed=self.crew.needs().get(self.id, []))

    def _choose_turn(self) -> MemberTurn | JobEnd:
        """Return a turn with the executor of the existing session, else with the first free one."""
        crew, context, state = self.crew, self.crew.context, self.crew.member(self.id)
        role = crew.role(self.id)
        record = sessions.current(crew.agent_folder(self.id), state.get("session_id", ""))
        executor = context.config.executors.get(record.session["executor"]) if record is not None else None
        if (
            executor is not None
            and find_adapter(executor.type).capabilities.resumes
            and not context.limited_until(executor.name)
        ):
            return MemberTurn(crew, self.id, role, executor)
        executors: list[ExecutorConfig] = crew.executors_of(role.name)
        free = context.free_executors(executors)
        if free:
            return MemberTurn(crew, self.id, role, free[0])
        first = context.first_free(executors)
        return JobEnd("waiting", reason=f"{first} has reached its limit", executor=first)

    def _failed_try(self, finished: FinishedMemberTurn) -> JobEnd | None:
        """Count a crash, a time-out, or a turn without a result; after three in a row a person is asked."""
        reason = finished.reason or finished.outcome.reason or finished.outcome.kind
        failure = reason if finished.outcome.kind == "done" else f"{finished.outcome.kind}: {reason}"
        state = members.fail_try(self.crew.home, self.id, failure).member
        self.crew.context.progress(self.id, f"a failed try: {failure}"[:200])
        if state["status"] != "failed":
            return None
        self.tell_question(state)
        return JobEnd("failed", reason=failure, idle=finished.idle)


def answer_from_saved(crew: CrewContext, name: str) -> bool:
    """Answer what an agent asks, but no loop, failure, approval or conflict between two people's wishes."""
    question = crew.member(name).get("question")
    if question is None or question["kind"] != "user":
        return False
    if any(note.get("category") == "conflict" for note in escalation.escalated(crew.notes(name))):
        return False
    saved = StandingAnswers(crew.home, crew.context.environment).find(escalation.without_note_numbers(question["text"]))
    if saved is None:
        return False
    text = f"{saved.answer}\n\n(The user's standing answer of {saved.since[:10]} to: {saved.question})"
    question_updates.answer(crew.home, question["number"], text, actor=Actor(kind=PERSON, name=NAME))
    crew.context.journal("answered", task=name, number=f"w{question['number']}", origin=ORIGIN)
    return True
