"""One member of a crew: which moves are its own, which are the Executor's, and what each changes.

Every function returns a new state; an illegal act raises and changes nothing.
"""

from __future__ import annotations

from sow.domain import note as notes_of
from sow.domain.workflow_agent import DONE, WORKFLOW_AGENT
from sow.errors import IllegalMove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.crew_plan import Member
    from sow.domain.shapes import MemberState, Note, VerificationResults, Workflow

# A doer works and says so; verifying, failing and ending belong to the Executor and the verifier.
DOER_MOVES = frozenset({"review", "block", "submit", "rework"})
GONE = "0" * 64  # the digest of an output that was there once
AT_WORK = ("working", "completion_drive_review")


def new(member: Member, *, agent: str) -> MemberState:
    """A member of the plan that has not started."""
    state = fresh(member.task_id, kind=member.kind, agent=agent, verifier=member.verifier)
    return {**state, "dependencies": list(member.dependencies)}


def fresh(task_id: str, *, kind: str, agent: str, verifier: str) -> MemberState:
    """A member that depends on nobody and has not started."""
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


def is_dropped(name: str, workflow: Workflow) -> bool:
    """Whether an agent has begun, and the approved design is without it; an architect comes when it is asked."""
    member, word = workflow["members"][name], workflow.get("approval")
    begun = member["status"] != WORKFLOW_AGENT.start and member["kind"] != "solution_architect"
    return begun and word is not None and name not in word["sections"]


def waits_for(needed: Iterable[str], statuses: Mapping[str, str]) -> list[str]:
    """Those that are not verified yet, each with its status."""
    return [f"{each} ({statuses.get(each, 'missing')})" for each in needed if statuses.get(each) not in DONE]


def start(
    name: str, state: MemberState, *, needed: Iterable[str], statuses: Mapping[str, str], now: str
) -> MemberState:
    """The member at work, once all that it needs is verified."""
    waiting = waits_for(needed, statuses)
    if waiting:
        raise IllegalMove(f"{name} waits for {', '.join(waiting)}", "it starts when all of them are verified")
    if state["status"] != "pending":
        raise IllegalMove(f"{name} has started already: it is {state['status']}", "see: sow workflow status")
    return moved(name, state, "working", now)


def doer_move(name: str, state: MemberState, to: str, *, notes: Iterable[Note], now: str) -> MemberState:
    """A move that the member itself may make, if its notes allow it."""
    event = WORKFLOW_AGENT.move(name, state["status"], to)
    if event not in DOER_MOVES or state["status"] not in AT_WORK:
        raise IllegalMove(
            f"{name} may not set itself to {to}",
            "an agent sets completion_drive_review, ready_for_verification, blocked or working; "
            "its verifier and the Executor do the rest",
        )
    _gate(name, to, list(notes))
    return moved(name, state, to, now)


def _gate(name: str, to: str, notes: list[Note]) -> None:
    unresolved = notes_of.unresolved(notes)
    if to == "ready_for_verification" and unresolved:
        raise IllegalMove(
            f"{name} has unresolved notes: {', '.join(unresolved)}",
            "resolve each ('sow note resolve N --resolution …'), or escalate it and set the status to blocked",
        )
    if to == "blocked" and not any(each["status"] == "escalated" for each in notes):
        raise IllegalMove(
            f"{name} has no escalated note, so nobody would know what it waits for",
            'escalate one first: sow note escalate N --reason "…"',
        )


def fail_try(name: str, state: MemberState, *, now: str, limit: int) -> MemberState:
    """The member after a turn that crashed, timed out or came to nothing; the last try makes it failed."""
    tried: MemberState = {**state, "tries": state["tries"] + 1, "last_update": now}
    return moved(name, tried, "failed", now) if tried["tries"] >= limit else tried


def judged(
    name: str, state: MemberState, result: VerificationResults, *, notes: Iterable[Note], now: str
) -> MemberState:
    """The member after a verification: verified, or back to work with what was found."""
    if state["status"] != "ready_for_verification":
        raise IllegalMove(f"{name} is {state['status']}, so it cannot be verified", "it must be ready_for_verification")
    if result["verifier"] == name:
        raise IllegalMove(f"{name} cannot verify itself", "name another verifier in the plan")
    known: MemberState = {**state, "result": result}
    known.pop("verifier_tries", None)
    if result["result"] == "passed":
        _refuse_unresolved(name, notes)
        known.pop("feedback", None)
        return moved(name, known, "verified", now)
    return {**moved(name, known, "working", now), "rounds": state["rounds"] + 1, "tries": 0}


def unblock(name: str, state: MemberState, *, notes: Iterable[Note], now: str) -> MemberState:
    """The member back at work, once none of its notes waits for an answer."""
    waiting = [each["note_id"] for each in notes if each["status"] == "escalated"]
    if waiting:
        raise IllegalMove(f"{name} still waits for an answer to {', '.join(waiting)}", "answer them first: sow inbox")
    if state["status"] != "blocked":
        raise IllegalMove(f"{name} is {state['status']} and not blocked", "nothing to do")
    free = moved(name, state, "working", now)
    free.pop("question", None)
    free.pop("pending_answer", None)  # it was about the notes that are resolved now
    return free


def retry(name: str, state: MemberState, *, now: str) -> MemberState:
    """A failed member back at work, with all its tries; what it asked about its failure is answered by that."""
    if state["status"] != "failed":
        raise IllegalMove(f"{name} is {state['status']} and not failed", "nothing to do")
    back: MemberState = {**moved(name, state, "working", now), "tries": 0}
    back.pop("question", None)
    return back


def complete(name: str, state: MemberState, *, notes: Iterable[Note], now: str) -> MemberState:
    """The end: verified, and nothing unresolved."""
    _refuse_unresolved(name, notes)
    ended = moved(name, state, "session_complete", now)
    ended.pop("session_id", None)
    return ended


def _refuse_unresolved(name: str, notes: Iterable[Note]) -> None:
    unresolved = notes_of.unresolved(notes)
    if unresolved:
        raise IllegalMove(f"{name} has unresolved notes: {', '.join(unresolved)}", "resolve them first: sow note list")


def ask(state: MemberState, text: str, *, number: int, kind: str, now: str) -> MemberState:
    """The member with something to ask; a second question is added to the first, so that one answer sees both."""
    before = state.get("question")
    if before is None:
        return {**state, "question": {"number": number, "text": text, "asked_at": now, "kind": kind}}
    words = before["text"] if text in before["text"].split("\n") else f"{before['text']}\n{text}"
    return {**state, "question": {**before, "text": words}}


def answered(name: str, state: MemberState, answer: str, *, now: str) -> MemberState:
    """The member after a person's answer: what its question was about decides what the answer does."""
    question = state.get("question")
    if question is None:
        raise IllegalMove(f"{name} asks nothing", "see: sow inbox")
    rest: MemberState = {**state}
    del rest["question"]
    kind = question["kind"]
    if kind == "failed":
        return {**retry(name, rest, now=now), "feedback": answer}
    if kind == "rounds":
        return {**rest, "rounds": 0, "feedback": answer, "last_update": now}
    if kind == "verifier":
        rest.pop("verifier_tries", None)
        return {**rest, "feedback": answer, "last_update": now}
    if kind == "approval":
        return rest
    return {**rest, "pending_answer": answer}  # blocked since then: its place in the queue stays


def moved(name: str, state: MemberState, to: str, now: str) -> MemberState:
    """The state after one move of the table, whoever makes it; going back to work is a new iteration."""
    event = WORKFLOW_AGENT.move(name, state["status"], to)
    changed: MemberState = {**state, "status": to, "last_update": now}
    changed.pop("inferred", None)
    if event in ("send_back", "unblock", "retry"):
        changed["iteration"] = state["iteration"] + 1
    return changed
