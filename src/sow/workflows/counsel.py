"""Talks to roles outside the plan (the architect, its sub-roles, the design verifier), each in its own session."""

from __future__ import annotations

from sow.domain import refusals
from sow.engine.recovery import is_needed, recover
from sow.engine.turn import Seat
from sow.errors import Failed, Waiting
from sow.store.design_desk import DesignDesk
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.registry import AgentRegistry
    from sow.engine.crew import Crew
    from sow.engine.steps import Steps
    from sow.executors.adapter import Outcome
    from sow.store.sessions import Record

LIMITED = ("limited", "overloaded")


class Counsel:
    """The registry of these roles and the executors that play them."""

    __slots__ = ("agents", "crew", "executor", "workflow_id")

    def __init__(self, crew: Crew, agents: AgentRegistry, workflow_id: str, *, executor: str = "") -> None:
        self.crew = crew
        self.agents = agents
        self.workflow_id = workflow_id
        self.executor = executor  # executor for every role; it overrides the bindings

    def talk_with(self, role: str) -> Talk:
        """Return a conversation with a role in an agent folder of its name; checks that its program exists."""
        agent = self.agents.get(role)
        config = self.crew.config
        names = [self.executor] if self.executor else [config.binding(role)[0], *config.fallbacks.get(role, [])]
        desk = DesignDesk(self.crew.home, self.workflow_id, role.replace("-", "_"))
        seats = [Seat(self.crew, desk, agent, config.executor(name)) for name in dict.fromkeys(names)]
        for seat in seats:
            seat.check()
        return Talk(desk, seats)


class Talk:
    """A conversation: the first message starts a session, each later one continues it."""

    __slots__ = ("desk", "first", "record", "remarks", "seat", "seats")

    def __init__(self, desk: DesignDesk, seats: list[Seat]) -> None:
        self.desk = desk
        self.seats = seats
        self.seat = seats[0]
        self.record: Record | None = None
        self.first = ""
        self.remarks: list[str] = []

    def say(self, text: str) -> Steps[str]:
        """Take a turn with this text; returns the role's final text, or raises if the turn did not end well."""
        if self.record is not None and self.seat.adapter.capabilities.resumes:
            outcome = yield from self._take(self.record, "resume", text)
            if outcome.kind != "not_found":
                return self._word(outcome)
        self.first = self.first or text
        prompt = text if text == self.first else f"{self.first}\n\n{text}"
        return self._word((yield from self._begin(prompt)))

    def _begin(self, text: str) -> Steps[Outcome]:
        """Start a new session; if an executor is limited, the next one takes over."""
        self.desk.make()
        if is_needed(self.desk):
            self.remarks += recover(self.desk, self.seat.crew.environment)
        for seat in self.seats:
            self.seat, self.record = seat, seat.open_session("review")
            outcome = yield from self._take(self.record, "review", text)
            if outcome.kind not in LIMITED:
                break
        return outcome

    def _take(self, record: Record, kind: str, text: str) -> Steps[Outcome]:
        outcome = yield from self.seat.take(record, kind, text)
        self._put_back()
        return outcome

    def refused(self) -> str:
        """Return what the CLI refused in the last turn, and how to allow it; empty if nothing was refused."""
        refused_commands = self.seat.refusals
        return f"{refusals.sentence(refused_commands)}; {refusals.advice(refused_commands)}" if refused_commands else ""

    def _put_back(self) -> None:
        """Restore state that the role edited by hand; it may write only the plan and instructions."""
        home = self.seat.crew.home
        with home.lock():
            for edit in self.seat.snapshot.edits() if self.seat.snapshot else ():
                if not edit.in_conflict:
                    edit.take_back(home)
                    self.remarks.append(f"{home.relative(edit.path)} was edited by hand; the last good state is back")

    def _word(self, outcome: Outcome) -> str:
        role, name = self.seat.agent.name, self.seat.executor.name
        if outcome.kind == "done":
            return outcome.text
        if outcome.kind == "interrupted":
            raise KeyboardInterrupt
        if outcome.kind in LIMITED:
            until = f" until {clock.local(outcome.reset_at)}" if outcome.reset_at else ""
            raise Waiting(f"{name}, which plays {role}, has reached its limit{until}", "try again then, or --executor")
        raise Failed(
            f"the turn of {role} on {name} did not end well: {outcome.reason or outcome.kind}",
            "try again, or choose another executor with --executor",
        )
