"""The end of a call: a workflow whose agents are all verified is complete, and every session is archived."""

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
    """Archive what is done, write down how far it came; returns what there is to say. The exit code is in the run."""
    said: list[str] = []
    if code == DONE:
        try:
            said = _complete(deck)
        except SowError as problem:  # such as a note that somebody wrote at the last moment
            code, said = WAITS, [f"{problem.message} ({problem.hint})"]
    if code != DONE:
        workflow_acts.set_progress(deck.home, PROGRESS.get(code, "failed"))
        said += _held(deck)
    run = deck.ship.folder.run
    run.update({"exit": code, "status": RUN.get(code, "stopped"), "ended_at": clock.now()})
    deck.ship.folder.save()
    return said


def _complete(deck: Deck) -> list[str]:
    """Every agent's session ends and is archived, then the workflow; each step can be repeated after a crash."""
    doers, said = deck.doers(), []
    _refuse_changed(deck)
    for name, member in list(deck.workflow()["members"].items()):
        if member["kind"] == ARCHITECT and member["status"] == "pending":
            continue  # nobody ever asked it
        if name not in doers and member["status"] not in VERIFIED:
            said += _dismiss(deck, name)
            continue
        remarks = workflow_acts.complete_member(deck.home, name).remarks
        said += [each for each in remarks if "not archived" in each]
        for each in remarks:
            deck.ship.tell("archived", task=name, file=each[:500])
    workflow_acts.set_progress(deck.home, "completed")
    return said


def _refuse_changed(deck: Deck) -> None:
    """The last gate: no workflow is complete with an output that is not what was verified."""
    for name, member in deck.workflow()["members"].items():
        paths = outputs.unlike_verified(deck, name) if member["status"] == "verified" else []
        if paths:
            raise SowError(
                f"output {paths[0]} of agent {name} changed after it was verified", "go on: sow workflow run"
            )


def _dismiss(deck: Deck, name: str) -> list[str]:
    """Let an agent go; the journal says so, unless it did when the agent's question was withdrawn."""
    answers = deck.workflow().get("answers", [])
    told = any(each["member"] == name and each["answered_by"] == workflow_questions.EXECUTOR for each in answers)
    said = workflow_questions.dismiss(deck.home, name)
    if not told:
        deck.ship.tell("task_ended", task=name, **LEFT, reason=workflow_questions.WITHDRAWN)
    return said


def _held(deck: Deck) -> list[str]:
    """Whose part of the plan waits for a person's word."""
    names = [name for name in deck.doers() if not deck.approved(name)]
    if not names:
        return []
    return [f"the design has changed for {', '.join(names)}: sow workflow verify, then sow workflow approve"]
