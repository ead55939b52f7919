"""Runs one turn of an agent of a crew: its session, its prompt, and its status after the turn."""

from __future__ import annotations

from sow.agents import crew_briefing
from sow.domain import crew_stage, refusals
from sow.engine.call import epoch
from sow.engine.own_command import sow_word
from sow.engine.reviewing import turn_facts
from sow.engine.work import resumable
from sow.errors import SowError
from sow.executors.registry import adapter as find_adapter
from sow.store import sessions, workflow_acts
from sow.workflows import outputs
from sow.workflows.judge_turn import put_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.shapes import MemberState
    from sow.engine.steps import Steps
    from sow.engine.turn import Seat
    from sow.executors.adapter import Outcome
    from sow.store.sessions import Record
    from sow.workflows.deck import Deck

AT_WORK = ("working", "completion_drive_review")
REVIEW = "Go on with the review of your notes: every one must be resolved or escalated."


class Taken:
    """A finished turn and the agent's state after it."""

    __slots__ = ("broken", "outcome", "reason", "record", "state")

    def __init__(
        self, record: Record, outcome: Outcome, state: MemberState, *, reason: str = "", broken: str = ""
    ) -> None:
        self.record = record
        self.outcome = outcome
        self.state = state
        self.reason = reason  # why the agent has its status, or what is left to do
        self.broken = broken  # what it edited by hand, and what sow did with it

    @property
    def is_open(self) -> bool:
        """Whether the agent ended its turn without setting a status."""
        return self.state["status"] in AT_WORK

    @property
    def idle(self) -> bool:
        """Whether the agent did nothing, if its CLI reports tools."""
        reports_tools = find_adapter(self.record.session["type"]).capabilities.structured
        return reports_tools and self.record.session["turns"][-1].get("tools") == 0


class CrewSeat:
    """The turns of one agent with one executor."""

    __slots__ = ("agent", "before", "deck", "desk", "name", "remarks", "seat", "versions")

    def __init__(self, deck: Deck, name: str, agent: Agent, executor: ExecutorConfig) -> None:
        self.deck = deck
        self.name = name
        self.agent = agent
        self.desk = deck.desk(name)
        self.seat: Seat = deck.seat(deck.crew(deck.hear(name), timeout=deck.timeout(name)), self.desk, agent, executor)
        self.seat.on_session = self._name_session
        self.remarks: list[str] = []
        self.before: Mapping[str, str] = {}
        self.versions: Mapping[str, int] = {}

    def _name_session(self, key: str, name: str) -> None:
        """Record the CLI's own session id in the workflow's state."""
        workflow_acts.name_session(self.desk.home, self.name, name, instead_of=key)

    def work(self, stage: str) -> Steps[Taken]:
        """Take a turn, and a reminder if it ended well but set no status."""
        self.seat.check()
        with self.deck.home.claim(f"task-{self.name}", purpose=f"{self.agent.name} plays agent {self.name}"):
            finished = yield from self._first(stage)
            if finished.outcome.kind == "done" and finished.is_open and self.seat.adapter.capabilities.resumes:
                parts = [crew_briefing.reminder(self.name, sow_word()), f"({finished.reason})", finished.broken]
                reminded = yield from self._take(finished.record, "reminder", "\n".join(filter(None, parts)))
                finished = self._settled(finished.record, reminded)
        return finished

    def settle_last(self) -> None:
        """Settle a turn that ended well before a crash of sow, so that it is not repeated."""
        record = self._record()
        turns = record.session["turns"] if record is not None else []
        if record is None or not turns or turns[-1].get("outcome") != "done" or "status" in turns[-1]:
            return
        if turns[-1].get("iteration") != self.desk.iteration:  # it was handed in, and the agent was sent back since
            return
        from sow.executors.adapter import Outcome

        self.versions = outputs.versions(self.deck, self.name, at=turns[-1]["started_at"])
        self._settled(record, Outcome("done"), worked=bool(turns[-1].get("tools")))

    def _record(self) -> Record | None:
        return sessions.current(self.desk, self.deck.member(self.name).get("session_id", ""))

    def _first(self, stage: str) -> Steps[Taken]:
        """Resume the existing session; if that is impossible, a new one takes over with what is on disk."""
        current = self._record()
        record, reason = resumable(current, self.seat.executor) if current is not None else (None, "")
        if record is not None and not self.seat.adapter.capabilities.resumes:
            record, reason = None, f"{self.seat.executor.name} cannot go on with a session"
        if record is not None:
            outcome = yield from self._take(record, "resume", self._next_words(record, stage))
            if outcome.kind != "not_found":
                return self._settled(record, outcome)
            self._settled(record, outcome)
            reason = f"the CLI does not know it any more: {outcome.reason}"
        kind = "recovery" if reason else "spawn"
        fresh = self.seat.open_session(kind)
        session_id = fresh.session.get("session_id") or fresh.session["key"]
        self.remarks += workflow_acts.begin_session(self.deck.home, self.name, session_id=session_id).remarks
        outcome = yield from self._take(fresh, kind, self._first_words(stage, reason))
        return self._settled(fresh, outcome)

    def _first_words(self, stage: str, reason: str) -> str:
        deck, state = self.deck, self.deck.member(self.name)
        prompt = crew_briefing.first_prompt(
            self.agent,
            name=self.name,
            workflow=deck.workflow()["name"],
            folder=self.desk.folder,
            task_id=state["task_id"],
            sow=sow_word(),
        )
        parts = [prompt, self._news(state, stage, since=0, reason=reason)]
        if not self.seat.adapter.capabilities.runs_commands:
            parts.append(deck.home.read(self.desk.instructions_path))
        return "\n\n".join(filter(None, parts))

    def _next_words(self, record: Record, stage: str) -> str:
        since = epoch(record.session["turns"][-1]["started_at"]) or 0 if record.session["turns"] else 0
        news = self._news(self.deck.member(self.name), stage, since=since)
        return crew_briefing.next_prompt(news, name=self.name, sow=sow_word())

    def _news(self, state: MemberState, stage: str, *, since: int, reason: str = "") -> str:
        """Return what the agent must know that it did not know in its last turn."""
        resolutions = {
            note["note_id"]: note.get("resolution") or ""
            for note in self.deck.notes(self.name)
            if note["status"] == "resolved"
            and note.get("escalation_reason")
            and (note.get("resolution_timestamp") or 0) >= since
        }
        news = crew_briefing.news(
            feedback=state.get("feedback", ""),
            resolutions=resolutions,
            outputs=outputs.changed(self.deck, self.name),
            why=reason,
        )
        return "\n\n".join(filter(None, (news, REVIEW if stage == "review_notes" else "")))

    def _take(self, record: Record, kind: str, text: str) -> Steps[Outcome]:
        """Take the turn and journal its start."""
        self.before = outputs.digests(self.deck, self.name)
        self.versions = outputs.versions(self.deck, self.name)
        self.deck.ship.tell("turn_started", **self._facts(kind))
        try:
            return (yield from self.seat.take(record, kind, text))
        except SowError as problem:
            state = self.deck.member(self.name)["status"]
            self.deck.ship.tell(
                "turn_ended", **self._facts(kind), outcome="failed", status=state, reason=problem.message
            )
            raise

    def _facts(self, kind: str) -> dict[str, object]:
        iteration = self.deck.member(self.name)["iteration"]
        role, executor = self.agent.name, self.seat.executor.name
        return {"task": self.name, "iteration": iteration, "role": role, "executor": executor, "kind": kind}

    def _settled(self, record: Record, outcome: Outcome, *, worked: bool = False) -> Taken:
        """Keep what the agent may write, restore the rest, and infer its status if it set none."""
        home, name, turn = self.deck.home, self.name, record.session["turns"][-1]
        remarks = self._mend()
        digests = outputs.digests(self.deck, name)
        workflow_acts.record_outputs(home, name, digests)
        state, reason = self.deck.member(name), outcome.reason
        if outcome.kind == "done" and state["status"] in AT_WORK:
            did_work = worked or bool(turn.get("tools")) or digests != self.before or self._changed_something()
            missing = outputs.missing(self.deck, name)
            inferred, reason = crew_stage.after_turn(state, self.deck.notes(name), missing=missing, worked=did_work)
            if inferred:
                state = workflow_acts.infer(home, name, inferred).member
                turn["inferred"] = True
        if state["status"] not in AT_WORK:
            state = workflow_acts.ended_well(home, name, read=self.versions).member
        broken = "\n".join(["After your last turn:", *(f"- {remark}" for remark in remarks)]) if remarks else ""
        if broken:
            workflow_acts.add_feedback(home, name, broken)
        turn["status"] = state["status"]
        record.save()
        refused = self.seat.refusals
        self.remarks += [f"{refusals.sentence(refused)}; {refusals.advice(refused)}"] if refused else []
        end_facts = turn_facts(outcome, turn) | {"status": state["status"], "remarks": self.remarks}
        self.deck.ship.tell("turn_ended", **self._facts(turn["kind"]), **end_facts)
        self.remarks = []
        return Taken(record, outcome, state, reason=reason, broken=broken)

    def _changed_something(self) -> bool:
        """Tell whether this turn changed the checkout, for a CLI that does not report its tools."""
        seat = self.seat
        if seat.executor.settings.get("allow_empty"):
            return True
        return seat.watch is not None and not seat.watch.others() and seat.watch.changed()

    def _mend(self) -> list[str]:
        """Restore files that were edited by hand, except legal moves of this agent; returns remarks."""
        remarks = workflow_acts.mend(self.deck.home, ending=self.name)
        for remark in remarks:
            self.deck.ship.tell("set_aside", task=self.name, text=remark[:500])
        self.remarks += [*remarks, *put_back(self.deck, self.seat)]
        return remarks
