"""Talks to roles that work on no task (architect, sub-roles, design verifier, planner), each in its own session."""

from __future__ import annotations

from dataclasses import dataclass

from sow.agents.registry import Agent, AgentRegistry
from sow.domain.checks import refusals
from sow.engine.runs.run_job import LIMITED
from sow.engine.turns.settle import is_needed, recover
from sow.engine.turns.turn import AgentTurn, TurnSettings
from sow.errors import SystemFailure, Waiting
from sow.executors.adapter import Outcome
from sow.store.runs.sessions import SessionRecord
from sow.store.workflows.folder import AgentFolder, DesignFolder
from sow.system import clock
from sow.system.process.steps import Steps


@dataclass(frozen=True)
class RoleConversations:
    """The registry of these roles and the executors that play them."""

    settings: TurnSettings
    agents: AgentRegistry
    workflow_id: str
    executor: str = ""  # executor for every role; it overrides the bindings

    def open(self, role: str) -> Conversation:
        """Returns a conversation with a role in an agent folder of its name; checks that its program exists."""
        folder = DesignFolder(self.settings.home, self.workflow_id, role.replace("-", "_"))
        return converse(self.settings, self.agents.get(role), folder, executor=self.executor)


def converse(
    settings: TurnSettings,
    agent: Agent,
    folder: AgentFolder,
    *,
    executor: str = "",
    cwd: str = "",
    read_only: bool = False,
) -> Conversation:
    """Returns a conversation with a role, whose sessions belong to a folder; checks that its program exists."""
    executors, notes = settings.config.executors_of(agent.name, settings.environment, executor)
    settings.announce(notes)
    turns = [AgentTurn(settings, folder, agent, executor, cwd=cwd, judging=read_only) for executor in executors]
    for turn in turns:
        turn.check()
    return Conversation(folder, turns)


class Conversation:
    """A conversation: the first message starts a session, each later one continues it."""

    def __init__(self, folder: AgentFolder, turns: list[AgentTurn]) -> None:
        self.folder = folder
        self.turns = turns
        self.turn = turns[0]
        self.record: SessionRecord | None = None
        self.first_prompt = ""
        self.remarks: list[str] = []

    def continue_session(self, record: SessionRecord) -> None:
        """Continues an earlier session with the next message, if its executor is still one of this role."""
        for turn in self.turns:
            if turn.executor.name == record.session["executor"] and turn.adapter.type == record.session["type"]:
                self.turn, self.record = turn, record

    def send(self, text: str) -> Steps[str]:
        """Takes a turn with this text; returns the role's final text, or raises if the turn did not end well."""
        if self.record is not None and self.turn.adapter.capabilities.resumes:
            outcome = yield from self._take(self.record, "resume", text)
            if outcome.kind != "not_found":
                return self._final_text(outcome)
        self.first_prompt = self.first_prompt or text
        prompt = text if text == self.first_prompt else f"{self.first_prompt}\n\n{text}"
        return self._final_text((yield from self._begin(prompt)))

    def _begin(self, text: str) -> Steps[Outcome]:
        """Starts a new session; if an executor is limited, the next one takes over."""
        self.folder.make_folders()
        if is_needed(self.folder):
            self.remarks += recover(self.folder, self.turn.settings.environment)
        for turn in self.turns:
            self.turn, self.record = turn, turn.open_session("review")
            outcome = yield from self._take(self.record, "review", text)
            if outcome.kind not in LIMITED:
                break
        return outcome

    def _take(self, record: SessionRecord, kind: str, text: str) -> Steps[Outcome]:
        outcome = yield from self.turn.run(record, kind, text)
        self.remarks += restore_edited_state(self.turn)
        return outcome

    def refused(self) -> str:
        """Returns what the CLI refused in the last turn, and how to allow it; empty if nothing was refused."""
        return refusals.summary(self.turn.refusals)

    def _final_text(self, outcome: Outcome) -> str:
        role, name = self.turn.agent.name, self.turn.executor.name
        if outcome.kind == "done":
            return outcome.text
        if outcome.kind == "interrupted":
            raise KeyboardInterrupt
        if outcome.kind in LIMITED:
            until = f" until {clock.local(outcome.reset_at)}" if outcome.reset_at else ""
            raise Waiting(f"{name}, which plays {role}, has reached its limit{until}", "try again then, or --executor")
        raise SystemFailure(
            f"the turn of {role} on {name} did not end well: {outcome.reason or outcome.kind}",
            "try again, or choose another executor with --executor",
        )


def restore_edited_state(turn: AgentTurn) -> list[str]:
    """Restores state files that were edited by hand during a turn, except those of agents at work; returns remarks."""
    home, remarks = turn.settings.home, []
    with home.lock():
        for edit in turn.snapshot.hand_edits() if turn.snapshot is not None else ():
            if edit.in_conflict or (edit.task and home.has_turn(edit.task)):
                continue
            edit.revert(home)
            remarks.append(f"{home.relative(edit.path)} was edited by hand; the last good state is back")
    return remarks
