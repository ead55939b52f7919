"""Computes the next stage of a member of a crew from the recorded state, so that a run can continue after a crash.

start: its first turn. work, review_notes: a turn of the member. blocked: its escalated notes go to the architect.
verify: a verifier's turn. ask: a person must be asked. wait: for a person, or for others. done, failed: nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

from sow.domain import task
from sow.domain.documents.state import MemberState, Note
from sow.domain.workflows.lifecycle import DONE_STATUSES

MAX_FAILED_TURNS = 3  # turns in a row that failed, of a member or of its verifier
MAX_VERIFICATIONS = 5  # failed verifications
Stage = tuple[str, str]


def next_stage(
    state: MemberState,
    notes: Sequence[Note],
    *,
    waiting: Sequence[str] = (),
    approved: bool = True,
) -> Stage:
    """Returns the stage of a member, and the reason. `waiting` are those before it that are not verified."""
    status = state["status"]
    if status in DONE_STATUSES:
        return "done", f"it is {status}"
    if status == "failed":
        return _failed(state)
    if "question" in state:
        return "wait", f"question w{state['question']['number']} waits for an answer"
    if not approved:
        return "wait", "its part of the plan is not verified and approved"
    if status == "pending":
        return ("wait", f"it waits for {', '.join(waiting)}") if waiting else ("start", "all that it needs is verified")
    if status == "blocked":
        return _blocked(notes)
    return _running(state, notes)


def question_kind(state: MemberState) -> str:
    """Returns the subject of the question in the stage `ask`: failed, rounds or verifier."""
    if state["status"] == "failed" or state["tries"] >= MAX_FAILED_TURNS:
        return "failed"
    return "rounds" if state["rounds"] >= MAX_VERIFICATIONS else "verifier"


def status_after_turn(state: MemberState, notes: Sequence[Note], *, missing: Sequence[str], worked: bool) -> Stage:
    """Returns the status after a turn that exited with 0, and the reason. It is empty if the member must be reminded.

    `missing` are outputs that do not exist. `worked` is whether the member used a tool or changed an output.
    """
    if state["status"] not in ("working", "completion_drive_review"):
        return state["status"], "it says so itself"
    escalated = [note["note_id"] for note in notes if note["status"] == "escalated"]
    if escalated:
        return "blocked", f"it escalated {', '.join(escalated)}"
    unresolved = task.unresolved_notes(notes)
    if unresolved:
        return "", f"open notes: {', '.join(unresolved)}"
    if missing:
        return "", f"missing outputs: {', '.join(missing)}"
    return ("ready_for_verification", "its outputs are there") if worked else ("", "it did nothing")


def _failed(state: MemberState) -> Stage:
    question = state.get("question")
    if question is None:
        return "ask", f"it failed after {state['tries']} turns" if state["tries"] else "it failed"
    return "failed", f"it failed, and question w{question['number']} waits for an answer"


def _blocked(notes: Sequence[Note]) -> Stage:
    """Returns the stage of a blocked member. An open note does not block it: the member resolves that one itself."""
    escalated = [note["note_id"] for note in notes if note["status"] == "escalated"]
    if escalated:
        return "blocked", f"escalated: {', '.join(escalated)}"
    return "work", "all that it escalated is answered"


def _running(state: MemberState, notes: Sequence[Note]) -> Stage:
    if state["tries"] >= MAX_FAILED_TURNS:
        return "ask", f"its turn ended badly {state['tries']} times in a row"
    if state["rounds"] >= MAX_VERIFICATIONS:
        return "ask", f"it was refused {state['rounds']} times"
    if state.get("verifier_tries", 0) >= MAX_FAILED_TURNS:
        return "ask", f"its verifier gave no result in {state.get('verifier_tries')} turns"
    unresolved = task.unresolved_notes(notes)
    if state["status"] == "ready_for_verification" and not unresolved:
        return "verify", "it says that it is ready"
    if state["status"] == "working":
        return "work", "it was sent back" if state["rounds"] else "its turn is not done"
    return "review_notes", f"unresolved: {', '.join(unresolved)}" if unresolved else "its review of notes is not done"
