"""Ends a call of a workflow: archives every session and completes the workflow if all agents are verified."""

from __future__ import annotations

from sow.domain.crew_plan import ARCHITECT
from sow.domain.workflow_agent import DONE as VERIFIED
from sow.engine.loop import DONE, STOPPED, WAITS
from sow.errors import SowError
from sow.store import workflow_acts, workflow_questions
from sow.system import clock
from sow.workflows import outputs
from sow.workflows.run import LEFT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.workflows.deck import Deck

PROGRESS = {WAITS: "blocked", STOPPED: "in_progress"}
RUN = {0: "ended", 1: "ended", 4: "waiting"}


def close(deck: Deck, code: int) -> list[str]:
    """Archive what is done and record the progress; returns remarks. The exit code is in the run."""
    remarks: list[str] = []
    if code == DONE:
        try:
            remarks = _complete(deck)
        except SowError as problem:  # such as a note that somebody wrote at the last moment
            code, remarks = WAITS, [f"{problem.message} ({problem.hint})"]
    if code != DONE:
        workflow_acts.set_progress(deck.home, PROGRESS.get(code, "failed"))
        remarks += _held(deck)
    run = deck.ship.folder.run
    run.update({"exit": code, "status": RUN.get(code, "stopped"), "ended_at": clock.now()})
    deck.ship.folder.save()
    return remarks


def _complete(deck: Deck) -> list[str]:
    """Archive every agent's session, then complete the workflow; each step can be repeated after a crash."""
    doers, messages = deck.doers(), []
    _refuse_changed(deck)
    for name, member in list(deck.workflow()["members"].items()):
        if member["kind"] == ARCHITECT and member["status"] == "pending":
            continue  # it was never asked
        if name not in doers and member["status"] not in VERIFIED:
            messages += _dismiss(deck, name)
            continue
        remarks = workflow_acts.complete_member(deck.home, name).remarks
        messages += [remark for remark in remarks if "not archived" in remark]
        for remark in remarks:
            deck.ship.tell("archived", task=name, file=remark[:500])
    workflow_acts.set_progress(deck.home, "completed")
    return messages


def _refuse_changed(deck: Deck) -> None:
    """Refuse to complete a workflow with an output that differs from what was verified."""
    for name, member in deck.workflow()["members"].items():
        paths = outputs.unlike_verified(deck, name) if member["status"] == "verified" else []
        if paths:
            raise SowError(
                f"output {paths[0]} of agent {name} changed after it was verified", "go on: sow workflow run"
            )


def _dismiss(deck: Deck, name: str) -> list[str]:
    """End a dropped agent; the journal records it, unless it did when the agent's question was withdrawn."""
    answers = deck.workflow().get("answers", [])
    is_reported = any(
        answer["member"] == name and answer["answered_by"] == workflow_questions.EXECUTOR for answer in answers
    )
    remarks = workflow_questions.dismiss(deck.home, name)
    if not is_reported:
        deck.ship.tell("task_ended", task=name, **LEFT, reason=workflow_questions.WITHDRAWN)
    return remarks


def _held(deck: Deck) -> list[str]:
    """Return a remark that names the agents whose part of the plan waits for approval."""
    names = [name for name in deck.doers() if not deck.approved(name)]
    if not names:
        return []
    return [f"the design has changed for {', '.join(names)}: sow workflow verify, then sow workflow approve"]
