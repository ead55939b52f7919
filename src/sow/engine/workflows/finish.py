"""Ends a call of a workflow: archives every session and completes the workflow if all agents are verified."""

from __future__ import annotations

from sow.domain.workflows.lifecycle import ARCHITECT
from sow.domain.workflows.lifecycle import DONE_STATUSES as VERIFIED
from sow.engine.runs.finish import record_end
from sow.engine.runs.loop import DONE, STOPPED, WAITS
from sow.engine.workflows import outputs
from sow.engine.workflows.crew_context import CrewContext
from sow.errors import SowError
from sow.store.workflows import members, question_updates

DROPPED_FIELDS = {
    "status": "abandoned",
    "result": None,
    "retry_count": 0,
}  # end of an agent that is no longer in the crew
PROGRESS = {WAITS: "blocked", STOPPED: "in_progress"}


def close(crew: CrewContext, code: int) -> list[str]:
    """Archive what is done and record the progress; returns remarks. The exit code is in the run."""
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
    """Archive every agent's session, then complete the workflow; each step can be repeated after a crash."""
    doers, messages = crew.active_agents(), []
    _refuse_changed(crew)
    for name, member in list(crew.workflow()["members"].items()):
        if member["kind"] == ARCHITECT and member["status"] == "pending":
            continue  # it was never asked
        if name not in doers and member["status"] not in VERIFIED:
            messages += _end_dropped(crew, name)
            continue
        remarks = members.complete_member(crew.home, name).remarks
        messages += [remark for remark in remarks if "not archived" in remark]
        for remark in remarks:
            crew.journal("archived", task=name, file=remark[:500])
    members.set_workflow_status(crew.home, "completed")
    return messages


def _refuse_changed(crew: CrewContext) -> None:
    """Refuse to complete a workflow with an output that differs from what was verified."""
    for name, member in crew.workflow()["members"].items():
        paths = outputs.changed_since_verified(crew, name) if member["status"] == "verified" else []
        if paths:
            raise SowError(
                f"output {paths[0]} of agent {name} changed after it was verified", "go on: sow workflow run"
            )


def _end_dropped(crew: CrewContext, name: str) -> list[str]:
    """End a dropped agent; the journal records it, unless it did when the agent's question was withdrawn."""
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
