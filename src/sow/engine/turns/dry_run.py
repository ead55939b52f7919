"""Shows what a turn would run, with all refusals, but writes and starts nothing."""

from __future__ import annotations

from sow.agents.registry import Agent
from sow.config import ExecutorConfig
from sow.engine.turns import task_turn
from sow.engine.turns.turn import AgentTurn, TurnSettings
from sow.store.runs import sessions
from sow.store.runs.sessions import SessionRecord
from sow.system.environment import worker_environment
from sow.system.process.child_process import MARK


class Preview:
    """One turn that is not taken."""

    def __init__(self, turn: AgentTurn, record: SessionRecord, kind: str) -> None:
        self.turn = turn
        self.record = record
        self.kind = kind
        self.request = turn.request(record)
        adapter = turn.adapter
        call = (adapter.resume_command if kind == "resume" else adapter.spawn_command)(self.request)
        self.arguments = [turn.binary(), *call.arguments]
        self.files = sorted(call.files)
        allowed = (*adapter.capabilities.variables, *turn.extra_variables())
        marks = {**turn.worker_variables(record), MARK: ""}
        self.names = sorted(
            {*worker_environment(turn.settings.environment, own=allowed, marks=marks), *call.environment}
        )


def spawn(settings: TurnSettings, task: str, agent: Agent, executor: ExecutorConfig, *, fresh: bool) -> Preview:
    """Returns the first turn of a new session."""
    (turn,) = task_turn.spawn_turns(settings, task, agent, [executor])
    state = turn.folder.task()
    task_turn.refuse_spawn(turn, state, fresh=fresh)
    return _anew(turn, "recovery" if "session_id" in state else "spawn")


def resume(settings: TurnSettings, task: str, agent: Agent, executor: ExecutorConfig) -> Preview:
    """Returns the next turn of the task's session, or the first of a new one if its record is not on this machine."""
    turn, record = task_turn.resume_turn(settings, task, agent, executor)
    return _anew(turn, "recovery") if record is None else Preview(turn, record, "resume")


def _anew(turn: AgentTurn, kind: str) -> Preview:
    return Preview(turn, sessions.draft(turn.folder, turn.new_session()), kind)
