"""Shows what a turn would run, with all refusals, but writes and starts nothing."""

from __future__ import annotations

from sow.engine import work
from sow.store import sessions
from sow.system.environment import worker_environment
from sow.system.process import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.engine.crew import Crew
    from sow.engine.turn import Seat
    from sow.store.sessions import Record


class Preview:
    """One turn that is not taken."""

    __slots__ = ("arguments", "files", "kind", "names", "record", "request", "seat")

    def __init__(self, seat: Seat, record: Record, kind: str) -> None:
        self.seat = seat
        self.record = record
        self.kind = kind
        self.request = seat.request(record)
        adapter = seat.adapter
        call = (adapter.resume_command if kind == "resume" else adapter.spawn_command)(self.request)
        self.arguments = [seat.binary(), *call.arguments]
        self.files = sorted(call.files)
        allowed = (*adapter.capabilities.variables, *seat.let_through())
        marks = {**seat.marks(record), MARK: ""}
        self.names = sorted({*worker_environment(seat.crew.environment, own=allowed, marks=marks), *call.environment})


def spawn(crew: Crew, task: str, agent: Agent, executor: ExecutorConfig, *, fresh: bool) -> Preview:
    """Return the first turn of a new session."""
    (seat,) = work.seats_to_spawn(crew, task, agent, [executor])
    state = seat.desk.task()
    work.may_begin(seat, state, fresh=fresh)
    return _anew(seat, "recovery" if "session_id" in state else "spawn")


def resume(crew: Crew, task: str, agent: Agent, executor: ExecutorConfig) -> Preview:
    """Return the next turn of the task's session, or the first of a new one if its record is not on this machine."""
    seat, record = work.seat_to_resume(crew, task, agent, executor)
    return _anew(seat, "recovery") if record is None else Preview(seat, record, "resume")


def _anew(seat: Seat, kind: str) -> Preview:
    return Preview(seat, sessions.draft(seat.desk, seat.new_session()), kind)
