"""One turn of one agent of a crew: its session, what it is told, and what its end means for the agent's status."""

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
    """A turn that was taken and settled."""

    __slots__ = ("broken", "outcome", "reason", "record", "state")

    def __init__(
        self, record: Record, outcome: Outcome, state: MemberState, *, reason: str = "", broken: str = ""
    ) -> None:
        self.record = record
        self.outcome = outcome
        self.state = state
        self.reason = reason  # why the agent's status is what it is, or what is left to do
        self.broken = broken  # what it edited by hand, and what became of that

    @property
    def is_open(self) -> bool:
        """Whether the agent has left its desk without a word."""
        return self.state["status"] in AT_WORK

    @property
    def idle(self) -> bool:
        """Whether the agent did nothing at all, as far as its CLI tells."""
        speaks = find_adapter(self.record.session["type"]).capabilities.structured
        return speaks and self.record.session["turns"][-1].get("tools") == 0


class CrewSeat:
    """The seat of one agent with one executor."""

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
        """A turn, and a reminder where it ended well and said nothing."""
        self.seat.check()
        with self.deck.home.claim(f"task-{self.name}", purpose=f"{self.agent.name} plays agent {self.name}"):
            taken = yield from self._first(stage)
            if taken.outcome.kind == "done" and taken.is_open and self.seat.adapter.capabilities.resumes:
                parts = [crew_briefing.reminder(self.name, sow_word()), f"({taken.reason})", taken.broken]
                reminded = yield from self._take(taken.record, "reminder", "\n".join(filter(None, parts)))
                taken = self._settled(taken.record, reminded)
        return taken

    def settle_last(self) -> None:
        """Settle a turn that ended well before a crash of ours, so that it is not taken again."""
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
        """The session that is there goes on; where it cannot, a fresh one takes over with what is on disk."""
        known = self._record()
        record, why = resumable(known, self.seat.executor) if known is not None else (None, "")
        if record is not None and not self.seat.adapter.capabilities.resumes:
            record, why = None, f"{self.seat.executor.name} cannot go on with a session"
        if record is not None:
            outcome = yield from self._take(record, "resume", self._next_words(record, stage))
            if outcome.kind != "not_found":
                return self._settled(record, outcome)
            self._settled(record, outcome)
            why = f"the CLI does not know it any more: {outcome.reason}"
        kind = "recovery" if why else "spawn"
        fresh = self.seat.open_session(kind)
        named = fresh.session.get("session_id") or fresh.session["key"]
        self.remarks += workflow_acts.begin_session(self.deck.home, self.name, session_id=named).remarks
        outcome = yield from self._take(fresh, kind, self._first_words(stage, why))
        return self._settled(fresh, outcome)

    def _first_words(self, stage: str, why: str) -> str:
        deck, state = self.deck, self.deck.member(self.name)
        told = crew_briefing.first_prompt(
            self.agent,
            name=self.name,
            workflow=deck.workflow()["name"],
            folder=self.desk.folder,
            task_id=state["task_id"],
            sow=sow_word(),
        )
        parts = [told, self._news(state, stage, since=0, why=why)]
        if not self.seat.adapter.capabilities.runs_commands:
            parts.append(deck.home.read(self.desk.instructions_path))
        return "\n\n".join(filter(None, parts))

    def _next_words(self, record: Record, stage: str) -> str:
        since = epoch(record.session["turns"][-1]["started_at"]) or 0 if record.session["turns"] else 0
        told = self._news(self.deck.member(self.name), stage, since=since)
        return crew_briefing.next_prompt(told, name=self.name, sow=sow_word())

    def _news(self, state: MemberState, stage: str, *, since: int, why: str = "") -> str:
        """What the agent must know that it did not know in its last turn."""
        answered = {
            each["note_id"]: each.get("resolution") or ""
            for each in self.deck.notes(self.name)
            if each["status"] == "resolved"
            and each.get("escalation_reason")
            and (each.get("resolution_timestamp") or 0) >= since
        }
        news = crew_briefing.news(
            feedback=state.get("feedback", ""),
            resolutions=answered,
            outputs=outputs.changed(self.deck, self.name),
            why=why,
        )
        return "\n\n".join(filter(None, (news, REVIEW if stage == "review_notes" else "")))

    def _take(self, record: Record, kind: str, text: str) -> Steps[Outcome]:
        """The turn itself, told of in the journal when it begins."""
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
        """Take from what the agent left only what it may do, and what its work tells where it said nothing."""
        home, name, turn = self.deck.home, self.name, record.session["turns"][-1]
        said = self._mend()
        now = outputs.digests(self.deck, name)
        workflow_acts.record_outputs(home, name, now)
        state, reason = self.deck.member(name), outcome.reason
        if outcome.kind == "done" and state["status"] in AT_WORK:
            did = worked or bool(turn.get("tools")) or now != self.before or self._changed_something()
            missing = outputs.missing(self.deck, name)
            earned, reason = crew_stage.after_turn(state, self.deck.notes(name), missing=missing, worked=did)
            if earned:
                state = workflow_acts.infer(home, name, earned).member
                turn["inferred"] = True
        if state["status"] not in AT_WORK:
            state = workflow_acts.ended_well(home, name, read=self.versions).member
        broken = "\n".join(["After your last turn:", *(f"- {each}" for each in said)]) if said else ""
        if broken:
            workflow_acts.add_feedback(home, name, broken)
        turn["status"] = state["status"]
        record.save()
        refused = self.seat.refusals
        self.remarks += [f"{refusals.sentence(refused)}; {refusals.advice(refused)}"] if refused else []
        told = turn_facts(outcome, turn) | {"status": state["status"], "remarks": self.remarks}
        self.deck.ship.tell("turn_ended", **self._facts(turn["kind"]), **told)
        self.remarks = []
        return Taken(record, outcome, state, reason=reason, broken=broken)

    def _changed_something(self) -> bool:
        """Whether the checkout of a CLI that tells nothing of its tools looks different, and only by this turn."""
        seat = self.seat
        if seat.executor.settings.get("allow_empty"):
            return True
        return seat.watch is not None and not seat.watch.others() and seat.watch.changed()

    def _mend(self) -> list[str]:
        """Files that were edited by hand: lawful moves of this agent count, all else is put back; returns what was."""
        said = workflow_acts.mend(self.deck.home, ending=self.name)
        for each in said:
            self.deck.ship.tell("set_aside", task=self.name, text=each[:500])
        self.remarks += [*said, *put_back(self.deck, self.seat)]
        return said
