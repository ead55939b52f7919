"""Runs one turn of an agent of a crew: its session, its prompt, and its status after the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sow.agents import briefing, crew_briefing
from sow.agents.registry import Agent
from sow.config import ExecutorConfig
from sow.domain.checks import refusals
from sow.domain.documents.state import MemberState
from sow.domain.workflows import member_stages
from sow.domain.workflows.member import AT_WORK
from sow.engine.runs.run_context import turn_fields
from sow.engine.turns.allowed_commands import sow_command
from sow.engine.turns.task_turn import has_worked, resumable
from sow.engine.turns.turn import AgentTurn
from sow.engine.workflows import outputs
from sow.engine.workflows.crew_context import CrewContext
from sow.executors.adapter import Outcome
from sow.store.runs import sessions
from sow.store.runs.sessions import SessionRecord
from sow.store.workflows import members
from sow.system.clock import epoch_of
from sow.system.process.steps import Steps

REVIEW = "Continue the review of your notes: each one must be resolved or escalated."


@dataclass(frozen=True)
class FinishedMemberTurn:
    """A finished turn and the agent's state after it."""

    record: SessionRecord
    outcome: Outcome
    state: MemberState
    reason: str  # why the agent has its status, or what is left to do
    hand_edits: str  # what it edited by hand, and what sow did with it

    @property
    def is_open(self) -> bool:
        """Returns whether the agent ended its turn without setting a status."""
        return self.state["status"] in AT_WORK


class MemberTurn:
    """The turns of one agent with one executor."""

    def __init__(self, crew: CrewContext, name: str, agent: Agent, executor: ExecutorConfig) -> None:
        self.crew = crew
        self.name = name
        self.agent = agent
        self.folder = crew.agent_folder(name)
        self.turn: AgentTurn = crew.turn_class(
            crew.turn_settings(crew.listener(name), timeout=crew.timeout(name)), self.folder, agent, executor
        )
        self.turn.on_session = self._name_session
        self.remarks: list[str] = []
        self.digests_before: Mapping[str, str] = {}
        self.input_versions: Mapping[str, int] = {}

    def _name_session(self, key: str, name: str) -> None:
        """Records the CLI's own session id in the workflow's state."""
        members.set_session_id(self.folder.home, self.name, name, instead_of=key)

    def work(self, stage: str) -> Steps[FinishedMemberTurn]:
        """Takes a turn, and a reminder if it ended well but set no status."""
        self.turn.check()
        with self.crew.home.claim(f"task-{self.name}", purpose=f"{self.agent.name} plays agent {self.name}"):
            finished = yield from self._first(stage)
            if finished.outcome.kind == "done" and finished.is_open and self.turn.adapter.capabilities.resumes:
                parts = [crew_briefing.reminder(self.name, sow_command()), f"({finished.reason})", finished.hand_edits]
                reminded = yield from self._take(finished.record, "reminder", "\n".join(filter(None, parts)))
                finished = self._settled(finished.record, reminded)
        return finished

    def settle_last(self) -> None:
        """Settles a turn that ended well before a crash of sow, so that it is not repeated."""
        record = self._record()
        turns = record.session["turns"] if record is not None else []
        if record is None or not turns or turns[-1].get("outcome") != "done" or "status" in turns[-1]:
            return
        if turns[-1].get("iteration") != self.folder.iteration:  # it was handed in, and the agent was sent back since
            return
        from sow.executors.adapter import Outcome

        self.input_versions = outputs.input_versions(self.crew, self.name, at=turns[-1]["started_at"])
        self._settled(record, Outcome("done"), worked=bool(turns[-1].get("tools")))

    def _record(self) -> SessionRecord | None:
        return sessions.current(self.folder, self.crew.member(self.name).get("session_id", ""))

    def _first(self, stage: str) -> Steps[FinishedMemberTurn]:
        """Resumes the existing session; if that is impossible, a new one takes over with what is on disk."""
        current = self._record()
        record, reason = resumable(current, self.turn.executor) if current is not None else (None, "")
        if record is not None and not self.turn.adapter.capabilities.resumes:
            record, reason = None, f"{self.turn.executor.name} cannot continue a session"
        if record is not None:
            outcome = yield from self._take(record, "resume", self._next_prompt(record, stage))
            if outcome.kind != "not_found":
                return self._settled(record, outcome)
            self._settled(record, outcome)
            reason = f"the CLI does not know it any more: {outcome.reason}"
        kind = "recovery" if reason else "spawn"
        fresh = self.turn.open_session(kind)
        session_id = fresh.session.get("session_id") or fresh.session["key"]
        self.remarks += members.begin_session(self.crew.home, self.name, session_id=session_id).remarks
        outcome = yield from self._take(fresh, kind, self._first_prompt(stage, reason))
        return self._settled(fresh, outcome)

    def _first_prompt(self, stage: str, reason: str) -> str:
        crew, state = self.crew, self.crew.member(self.name)
        prompt = crew_briefing.first_prompt(
            self.agent,
            name=self.name,
            workflow=crew.workflow()["name"],
            folder=self.folder.folder,
            task_id=state["task_id"],
            sow=sow_command(),
        )
        parts = [prompt, briefing.project_part(crew.home), self._news(state, stage, since=0, reason=reason)]
        if not self.turn.adapter.capabilities.runs_commands:
            parts.append(crew.home.read(self.folder.instructions_path))
        return "\n\n".join(filter(None, parts))

    def _next_prompt(self, record: SessionRecord, stage: str) -> str:
        since = epoch_of(record.session["turns"][-1]["started_at"]) or 0 if record.session["turns"] else 0
        news = self._news(self.crew.member(self.name), stage, since=since)
        return crew_briefing.next_prompt(news, name=self.name, sow=sow_command())

    def _news(self, state: MemberState, stage: str, *, since: int, reason: str = "") -> str:
        """Returns what the agent must know that it did not know in its last turn."""
        resolutions = {
            note["note_id"]: note.get("resolution") or ""
            for note in self.crew.notes(self.name)
            if note["status"] == "resolved"
            and note.get("escalation_reason")
            and (note.get("resolution_timestamp") or 0) >= since
        }
        news = crew_briefing.changes_since_last_turn(
            feedback=state.get("feedback", ""),
            resolutions=resolutions,
            outputs=outputs.newer_inputs(self.crew, self.name),
            why=reason,
        )
        return "\n\n".join(filter(None, (news, REVIEW if stage == "review_notes" else "")))

    def _take(self, record: SessionRecord, kind: str, text: str) -> Steps[Outcome]:
        self.digests_before = outputs.digests(self.crew, self.name)
        self.input_versions = outputs.input_versions(self.crew, self.name)
        status = self.crew.member(self.name)["status"]
        return (yield from self.crew.turn(self._facts(kind), self.turn.run(record, kind, text), status=status))

    def _facts(self, kind: str) -> dict[str, Any]:
        iteration = self.crew.member(self.name)["iteration"]
        role, executor = self.agent.name, self.turn.executor.name
        return {"task": self.name, "iteration": iteration, "role": role, "executor": executor, "kind": kind}

    def _settled(self, record: SessionRecord, outcome: Outcome, *, worked: bool = False) -> FinishedMemberTurn:
        """Keeps what the agent may write, restores the rest, and infers its status if it set none."""
        home, name, turn = self.crew.home, self.name, record.session["turns"][-1]
        remarks = self._restore_files()
        digests = outputs.digests(self.crew, name)
        members.record_outputs(home, name, digests)
        state, reason = self.crew.member(name), outcome.reason
        if outcome.kind == "done" and state["status"] in AT_WORK:
            did_work = worked or digests != self.digests_before or has_worked(self.turn, turn)
            missing = outputs.missing(self.crew, name)
            inferred, reason = member_stages.status_after_turn(
                state, self.crew.notes(name), missing=missing, worked=did_work
            )
            if inferred:
                state = members.infer_status(home, name, inferred).member
                turn["inferred"] = True
        if state["status"] not in AT_WORK:
            state = members.record_turn_end(home, name, read=self.input_versions).member
        broken = "\n".join(["After your last turn:", *(f"- {remark}" for remark in remarks)]) if remarks else ""
        if broken:
            members.add_feedback(home, name, broken)
        turn["status"] = state["status"]
        record.save()
        self.remarks += filter(None, [refusals.summary(self.turn.refusals)])
        end_facts = turn_fields(outcome, turn) | {"status": state["status"], "remarks": self.remarks}
        self.crew.journal("turn_ended", **self._facts(turn["kind"]), **end_facts)
        self.remarks = []
        return FinishedMemberTurn(record, outcome, state, reason=reason, hand_edits=broken)

    def _restore_files(self) -> list[str]:
        """Restores files that were edited by hand, except legal moves of this agent; returns remarks."""
        remarks = members.recover(self.crew.home, ending=self.name)
        for remark in remarks:
            self.crew.journal("set_aside", task=self.name, text=remark[:500])
        self.remarks += self.crew.undo_edits(self.turn)
        return remarks
