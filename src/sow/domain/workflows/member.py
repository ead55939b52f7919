"""The moves of one member of a crew, and the fields that each move changes.

Every function returns a new state. An illegal move raises and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sow.domain import task
from sow.domain.documents.state import MemberState, Note, VerificationResults, Workflow
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.lifecycle import DONE_STATUSES, WORKFLOW_AGENT
from sow.errors import IllegalStatusChange

# Only the Executor and the verifier may verify, fail or complete a member.
DOER_MOVES = frozenset({"review", "block", "submit", "rework"})
MISSING_DIGEST = "0" * 64  # the digest of an output that existed before
AT_WORK = ("working", "completion_drive_review")


def new(member: Member, *, agent: str) -> MemberState:
    """Returns a member of the plan that has not started."""
    state = new_without_plan(member.task_id, kind=member.kind, agent=agent, verifier=member.verifier)
    return {**state, "dependencies": list(member.dependencies)}


def new_without_plan(task_id: str, *, kind: str, agent: str, verifier: str) -> MemberState:
    """Returns a member without dependencies that has not started."""
    return {
        "status": WORKFLOW_AGENT.start,
        "task_id": task_id,
        "kind": kind,
        "agent": agent,
        "verifier": verifier,
        "dependencies": [],
        "iteration": 1,
        "tries": 0,
        "rounds": 0,
        "last_update": None,
        "outputs": [],
        "read": {},
    }


def is_removed_from_design(name: str, workflow: Workflow) -> bool:
    """Returns whether an agent has begun and is not in the approved design. An architect need not be in the design."""
    member, approval = workflow["members"][name], workflow.get("approval")
    begun = member["status"] != WORKFLOW_AGENT.start and member["kind"] != "solution_architect"
    return begun and approval is not None and name not in approval["sections"]


def shown_status(state: MemberState) -> str:
    """Returns the status that others see: a member that asks a person is blocked, unless it failed."""
    is_open = state["status"] not in ("failed", *DONE_STATUSES)
    return "blocked" if "question" in state and is_open else state["status"]


def waits_for(needed: Iterable[str], statuses: Mapping[str, str]) -> list[str]:
    """Returns the members that are not verified yet, each with its status."""
    return [f"{name} ({statuses.get(name, 'missing')})" for name in needed if statuses.get(name) not in DONE_STATUSES]


def start(
    name: str, state: MemberState, *, needed: Iterable[str], statuses: Mapping[str, str], now: str
) -> MemberState:
    """Returns the member at work. Raise IllegalStatusChange if a member that it needs is not verified."""
    unverified = waits_for(needed, statuses)
    if unverified:
        raise IllegalStatusChange(
            f"{name} waits for {', '.join(unverified)}", "it starts when all of them are verified"
        )
    if state["status"] != "pending":
        raise IllegalStatusChange(f"{name} has started already: it is {state['status']}", "see: sow workflow status")
    return move(name, state, "working", now)


def own_move(name: str, state: MemberState, to: str, *, notes: Iterable[Note], now: str) -> MemberState:
    """Returns the state after a move that the member itself may make, if its notes allow it."""
    if WORKFLOW_AGENT.move(name, state["status"], to) not in DOER_MOVES or state["status"] not in AT_WORK:
        raise IllegalStatusChange(
            f"{name} may not set itself to {to}",
            "an agent sets completion_drive_review, ready_for_verification, blocked or working; "
            "its verifier and the Executor do the rest",
        )
    _gate(name, to, list(notes))
    return move(name, state, to, now)


def _gate(name: str, to: str, notes: list[Note]) -> None:
    unresolved = task.unresolved_notes(notes)
    if to == "ready_for_verification" and unresolved:
        raise IllegalStatusChange(
            f"{name} has open notes: {', '.join(unresolved)}",
            "resolve each ('sow note resolve N --resolution …'), or escalate it and set the status to blocked",
        )
    if to == "blocked" and not any(note["status"] == "escalated" for note in notes):
        raise IllegalStatusChange(
            f"{name} has no escalated note, so nobody would know what it waits for",
            'escalate one first: sow note escalate N --reason "…"',
        )


def record_failed_turn(name: str, state: MemberState, *, now: str, limit: int) -> MemberState:
    """Returns the member after a turn that crashed, timed out or had no result. After the last one it is failed."""
    tried: MemberState = {**state, "tries": state["tries"] + 1, "last_update": now}
    return move(name, tried, "failed", now) if tried["tries"] >= limit else tried


def after_verification(
    name: str, state: MemberState, result: VerificationResults, *, notes: Iterable[Note], now: str
) -> MemberState:
    """Returns the member after a verification: verified, or back at work with the findings."""
    if state["status"] != "ready_for_verification":
        raise IllegalStatusChange(
            f"{name} is {state['status']}, so it cannot be verified", "it must be ready_for_verification"
        )
    if result["verifier"] == name:
        raise IllegalStatusChange(f"{name} cannot verify itself", "name another verifier in the plan")
    judged_state: MemberState = {**state, "result": result}
    judged_state.pop("verifier_tries", None)
    if result["result"] == "passed":
        _refuse_unresolved(name, notes)
        judged_state.pop("feedback", None)
        return move(name, judged_state, "verified", now)
    return {**move(name, judged_state, "working", now), "rounds": state["rounds"] + 1, "tries": 0}


def unblock(name: str, state: MemberState, *, notes: Iterable[Note], now: str) -> MemberState:
    """Returns the member back at work. Raise IllegalStatusChange if a note still waits for an answer."""
    escalated = [note["note_id"] for note in notes if note["status"] == "escalated"]
    if escalated:
        raise IllegalStatusChange(
            f"{name} still waits for an answer to {', '.join(escalated)}", "answer them first: sow inbox"
        )
    if state["status"] != "blocked":
        raise IllegalStatusChange(f"{name} is {state['status']} and not blocked", "nothing to do")
    unblocked = move(name, state, "working", now)
    unblocked.pop("question", None)
    unblocked.pop("pending_answer", None)  # The answer was about notes that are resolved now.
    return unblocked


def retry(name: str, state: MemberState, *, now: str) -> MemberState:
    """Returns a failed member back at work, with all its turns left. Its question about the failure is answered."""
    if state["status"] != "failed":
        raise IllegalStatusChange(f"{name} is {state['status']} and not failed", "nothing to do")
    retried: MemberState = {**move(name, state, "working", now), "tries": 0}
    retried.pop("question", None)
    return retried


def complete(name: str, state: MemberState, *, notes: Iterable[Note], now: str) -> MemberState:
    """Returns the completed member; raises IllegalStatusChange if it is not verified or has open notes."""
    _refuse_unresolved(name, notes)
    ended = move(name, state, "session_complete", now)
    ended.pop("session_id", None)
    return ended


def _refuse_unresolved(name: str, notes: Iterable[Note]) -> None:
    unresolved = task.unresolved_notes(notes)
    if unresolved:
        raise IllegalStatusChange(
            f"{name} has open notes: {', '.join(unresolved)}", "resolve them first: sow note list"
        )


def ask(state: MemberState, text: str, *, number: int, kind: str, now: str) -> MemberState:
    """Returns the member with a question. A second question is appended, so that one answer covers both."""
    previous = state.get("question")
    if previous is None:
        return {**state, "question": {"number": number, "text": text, "asked_at": now, "kind": kind}}
    joined = previous["text"] if text in previous["text"].split("\n") else f"{previous['text']}\n{text}"
    return {**state, "question": {**previous, "text": joined}}


def after_answer(name: str, state: MemberState, answer: str, *, now: str) -> MemberState:
    """Returns the member after a person's answer. The kind of its question decides what the answer changes."""
    question = state.get("question")
    if question is None:
        raise IllegalStatusChange(f"{name} asks nothing", "see: sow inbox")
    updated: MemberState = {**state}
    del updated["question"]
    kind = question["kind"]
    if kind == "failed":
        return {**retry(name, updated, now=now), "feedback": answer}
    if kind == "rounds":
        return {**updated, "rounds": 0, "feedback": answer, "last_update": now}
    if kind == "verifier":
        updated.pop("verifier_tries", None)
        return {**updated, "feedback": answer, "last_update": now}
    if kind == "approval":
        return updated
    return {**updated, "pending_answer": answer}  # still blocked, and keeps its position in the queue


def move(name: str, state: MemberState, to: str, now: str) -> MemberState:
    """Returns the state after one move of the table, made by anyone. Going back to work starts a new iteration."""
    event = WORKFLOW_AGENT.move(name, state["status"], to)
    changed: MemberState = {**state, "status": to, "last_update": now}
    changed.pop("inferred", None)
    if event in ("send_back", "unblock", "retry"):
        changed["iteration"] = state["iteration"] + 1
    return changed
