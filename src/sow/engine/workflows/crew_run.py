"""Runs a workflow: schedules its agents in the order of the plan, and archives their sessions at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sow.config import ExecutorConfig
from sow.domain.plans import graph
from sow.domain.runs.scheduler import Job
from sow.domain.workflows.lifecycle import ARCHITECT, DONE_STATUSES
from sow.domain.workflows.member import is_removed_from_design
from sow.engine.runs.finish import record_end
from sow.engine.runs.loop import Loop, changed_states
from sow.engine.runs.run_job import JobEnd
from sow.engine.workflows import design_check, escalate, outputs, start
from sow.engine.workflows.crew_context import CrewContext
from sow.engine.workflows.member_job import MemberJob
from sow.errors import DONE, INTERRUPTED, WAITS, SowError
from sow.store.files.file_cache import FileCache
from sow.store.projects import restore
from sow.store.workflows import design_state, members, question_updates
from sow.system.process.steps import Steps

# The status of each stage for the scheduler; at every other stage the job waits to be started.
BOARD = {"done": "completed", "failed": "failed", "ask": "waiting"}
SETTLED = {"verified": "completed", "session_complete": "completed", "failed": "failed", "blocked": "paused"}


class CrewLoop(Loop):
    """One call of `sow workflow run`."""

    is_workflow = True
    context: CrewContext

    def __init__(self, crew: CrewContext, *, tick: Callable[[float], None]) -> None:
        self.context = crew
        self.seen: FileCache[None] = FileCache()
        members.set_workflow_status(crew.home, "in_progress")
        if crew.approves_changes and crew.workflow().get("approval", {}).get("digest") != crew.plan.digest:
            crew.approve(crew.plan)
        super().__init__(crew, start.session_folders(crew.home), tick=tick)

    def close(self, code: int) -> list[str]:
        return close(self.context, code)

    def jobs(self) -> list[Job]:
        """Returns the agents, blocked ones first, the longest blocked of them before the others."""
        crew, needs = self.context, self.context.needs()
        names = crew.active_agents()
        inner = {name: [needed for needed in needs.get(name, []) if needed in names] for name in names}
        rest = graph.chain_lengths(inner, dict.fromkeys(names, 1.0))
        for position, name in enumerate(reversed(crew.blocked_agents()), len(names) + 1):
            rest[name] = float(position)
        leaving = [Job(name, status="running") for name in self.running if name not in names]
        pools = {name: self.executors_for(name)[0].name for name in names}
        jobs = [
            Job(name, needs=needs.get(name, []), rest=rest[name], pool=pools[name], status=self.job_status(name))
            for name in names
        ]
        return [*jobs, *leaving]

    def job_status(self, name: str) -> str:
        if name in self.running:
            return "running"
        stage, _ = self.context.stage(name)
        if stage == "blocked" and not escalate.can_continue(MemberJob(self.context, name)):
            return "failed" if self._architect_failed() else "asking"
        if stage == "wait":
            return "asking" if self._waits_for_person(name) else "waiting"
        return BOARD.get(stage, "waiting")

    def _architect_failed(self) -> bool:
        member = self.context.workflow()["members"].get(self.context.solution_architect())
        return member is not None and member["status"] == "failed"

    def _waits_for_person(self, name: str) -> bool:
        return "question" in self.context.member(name) or not self.context.approved(name)

    def job(self, ident: str) -> Steps[JobEnd]:
        return MemberJob(self.context, ident).run()

    def iteration(self, ident: str) -> int:
        return self.context.member(ident)["iteration"]

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        return self.context.executors_of(self.context.role(ident).name)

    def restore_state(self) -> list[str]:
        """Restores state that is gone or was edited by hand before anything is decided from it."""
        folder = self.context.workflow_folder
        restore.check_branch(self.context.home, self.context.folder.run["branch"])
        if not changed_states(self.seen, folder.state_path) and not changed_states(self.seen, folder.view_path):
            return []
        is_restored = design_state.restore(self.context.home)
        for remark in members.recover(self.context.home):
            self.context.journal("set_aside", task="", text=remark[:500])
        for path in (folder.state_path, folder.view_path):
            changed_states(self.seen, path)
        return ["workflow"] if is_restored else []

    def watch_plan(self) -> None:
        """Holds up the agents concerned if somebody edits the plan or the instructions."""
        crew = self.context
        paths = [crew.agent_folder(name).instructions_path for name in design_check.names_with_instructions(crew.plan)]
        if any(changed_states(self.seen, path) for path in (crew.workflow_folder.plan_path, *paths)):
            self.context.load_changed_plan()

    def _is_over(self) -> bool:
        if not self.running:
            outputs.reopen_changed(self.context, self.context.active_agents())
        self._renew_scheduler()
        if not self.running:  # the work of others may let an agent continue
            for ident, status in self.scheduler.statuses().items():
                if status == "asking":
                    self.refresh_job(ident)
        return super()._is_over()

    def _renew_scheduler(self) -> None:
        """Adds new agents to the scheduler after a change of the plan, and restarts those that were sent back."""
        statuses, members = self.scheduler.statuses(), self.context.workflow()["members"]
        done = [name for name, status in statuses.items() if status == "completed" and name in members]
        if set(self.context.active_agents()) == set(statuses) and all(
            members[name]["status"] in DONE_STATUSES for name in done
        ):
            return
        self.rebuild_scheduler()
        self.journal_answers()

    def answered_by(self, ident: str, number: int | str) -> str | None:
        answers = self.context.workflow().get("answers", [])
        names = (
            answer["answered_by"]
            for answer in answers
            if f"w{answer['number']}" == number and answer["member"] == ident
        )
        return next(names, None)

    def journal_answers(self) -> None:
        """Journals withdrawn questions, too, with the end of an agent that the design dropped."""
        for ident, number in list(self.open_questions):
            if self.answered_by(ident, number) == question_updates.EXECUTOR:
                self.context.journal(
                    "answered", task=ident, number=number, origin=question_updates.EXECUTOR, withdrawn=True
                )
                workflow = self.context.workflow()
                if ident not in workflow["members"] or is_removed_from_design(ident, workflow):
                    self.context.journal("task_ended", task=ident, **DROPPED_FIELDS, reason=question_updates.DROPPED)
        super().journal_answers()

    def end_facts(self, ident: str) -> dict[str, Any]:
        state = self.context.workflow()["members"].get(ident)
        if state is None or ident not in self.context.active_agents():
            return dict(DROPPED_FIELDS)
        status = "paused" if "question" in state and state["status"] != "failed" else state["status"]
        result = state.get("result", {}).get("result")
        return {"status": SETTLED.get(status, status), "result": result, "retry_count": state["rounds"]}

    def ask(self, ident: str, problem: SowError) -> str:
        text = f"{problem.message} ({problem.hint})"
        state = question_updates.ask_person(self.context.home, ident, text, kind="approval").member
        return f"w{state['question']['number']}"


DROPPED_FIELDS = {
    "status": "abandoned",
    "result": None,
    "retry_count": 0,
}  # end of an agent that is no longer in the crew
PROGRESS = {WAITS: "blocked", INTERRUPTED: "in_progress"}


def close(crew: CrewContext, code: int) -> list[str]:
    """Archives what is done and records the progress; returns remarks. The exit code is in the run."""
    remarks: list[str] = []
    if code == DONE:
        try:
            remarks = _complete(crew)
        except SowError as problem:  # such as a note that somebody wrote at the last moment
            code, remarks = WAITS, [f"{problem.message} ({problem.hint})"]
    if code != DONE:
        members.set_workflow_status(crew.home, PROGRESS.get(code, "failed"))
        remarks += _waiting_for_approval(crew)
    record_end(crew, code)
    return remarks


def _complete(crew: CrewContext) -> list[str]:
    """Archives every agent's session, then completes the workflow; each step can be repeated after a crash."""
    doers, messages = crew.active_agents(), []
    _refuse_changed(crew)
    for name, member in list(crew.workflow()["members"].items()):
        if member["kind"] == ARCHITECT and member["status"] == "pending":
            continue  # it was never asked
        if name not in doers and member["status"] not in DONE_STATUSES:
            messages += _end_dropped(crew, name)
            continue
        remarks = members.complete_member(crew.home, name).remarks
        messages += [remark for remark in remarks if "not archived" in remark]
        for remark in remarks:
            crew.journal("archived", task=name, file=remark[:500])
    members.set_workflow_status(crew.home, "completed")
    return messages


def _refuse_changed(crew: CrewContext) -> None:
    """Refuses to complete a workflow with an output that differs from what was verified."""
    for name, member in crew.workflow()["members"].items():
        paths = outputs.changed_since_verified(crew, name) if member["status"] == "verified" else []
        if paths:
            raise SowError(
                f"output {paths[0]} of agent {name} changed after it was verified",
                "to verify it again: sow workflow run",
            )


def _end_dropped(crew: CrewContext, name: str) -> list[str]:
    """Ends a dropped agent; the journal records it, unless it did when the agent's question was withdrawn."""
    answers = crew.workflow().get("answers", [])
    is_reported = any(
        answer["member"] == name and answer["answered_by"] == question_updates.EXECUTOR for answer in answers
    )
    remarks = question_updates.dismiss(crew.home, name)
    if not is_reported:
        crew.journal("task_ended", task=name, **DROPPED_FIELDS, reason=question_updates.WITHDRAWN)
    return remarks


def _waiting_for_approval(crew: CrewContext) -> list[str]:
    names = [name for name in crew.active_agents() if not crew.approved(name)]
    if not names:
        return []
    return [f"the design has changed for {', '.join(names)}: sow workflow verify, then sow workflow approve"]
