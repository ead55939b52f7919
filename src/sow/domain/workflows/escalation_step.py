"""Computes the next step for the escalated notes of one blocked member from the recorded state."""

from __future__ import annotations

from sow.domain.workflows import escalation
from sow.domain.workflows.lifecycle import DONE_STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.documents.state import Escalation, MemberState, Note

# apply: an answer is recorded and not in the note yet. sort, loop, validate: a turn of the workflow architect. ask: a
# question to a person must be written. commission: the solution architect gets a task. wait: for one of the last two.
STEPS = ("apply", "wait", "loop", "sort", "ask", "validate", "commission", "done")


class EscalationStep:
    """The kind of step, its notes, and the reason."""

    __slots__ = ("kind", "notes", "reason")

    def __init__(self, kind: str, notes: Sequence[str] = (), reason: str = "") -> None:
        self.kind = kind
        self.notes = list(notes)
        self.reason = reason

    def __repr__(self) -> str:
        return f"Step({self.kind!r}, {self.notes!r}, {self.reason!r})"


def next_step(
    name: str,
    state: MemberState,
    notes: Sequence[Note],
    escalations: Sequence[Escalation],
    architect: MemberState | None = None,
) -> EscalationStep:
    """Return the next step. `architect` is the state of the solution architect, if it has an agent folder."""
    escalated = [note["note_id"] for note in escalation.escalated(notes)]
    if not escalated:
        return EscalationStep("done", reason="nothing is escalated")
    records = {note: escalation.find_record(escalations, state["task_id"], note) for note in escalated}
    answered = [note for note, record in records.items() if record is not None and "resolution" in record]
    if answered:
        return EscalationStep("apply", answered, "the answer is known and not in the note yet")
    routes = {note: _route(record) for note, record in records.items()}
    unsorted = [note for note, route in routes.items() if not route]
    if unsorted:
        return _wait_for_question(state, unsorted) or _sort_step(state, unsorted, notes, escalations)
    technical = [note for note, route in routes.items() if route == escalation.ARCHITECT]
    for_person = [note for note in escalated if note not in technical]
    step = _architect_step(name, technical, architect, escalations) if technical else None
    if step is not None and step.kind == "commission":
        return step
    return (
        _wait_for_question(state, escalated)
        or (_person_step(state, for_person) if for_person else step)
        or EscalationStep("wait", escalated)
    )


def _wait_for_question(state: MemberState, notes: list[str]) -> EscalationStep | None:
    question = state.get("question")
    return EscalationStep("wait", notes, f"question w{question['number']} waits for an answer") if question else None


def _route(record: Escalation | None) -> str:
    """Return the route of a note. If it was to be answered at once and was not, it is sorted again."""
    route = record.get("route", "") if record is not None else ""
    return "" if route == escalation.ANSWER else route


def _sort_step(
    state: MemberState, unsorted: list[str], notes: Sequence[Note], escalations: Sequence[Escalation]
) -> EscalationStep:
    looping = [note for note in escalation.repeated_notes(escalations, state["task_id"], notes) if note in unsorted]
    if looping:
        return EscalationStep("loop", looping, f"asked {escalation.LOOP_AT} times or more")
    return EscalationStep("sort", unsorted, "the architect has not sorted them yet")


def _person_step(state: MemberState, notes: list[str]) -> EscalationStep:
    if "pending_answer" in state:
        return EscalationStep("validate", notes, "a person has answered")
    return EscalationStep("ask", notes, "a person is to be asked")


def _architect_step(
    name: str, notes: list[str], architect: MemberState | None, escalations: Sequence[Escalation]
) -> EscalationStep:
    """Return the step for technical notes. The solution architect gets one task at a time."""
    if architect is None:
        return EscalationStep("commission", notes, "there is no solution architect yet")
    requesters = architect.get("requested_by", [])
    if name in requesters and architect["status"] in DONE_STATUSES:
        return EscalationStep("validate", notes, "the solution architect's answer is verified")
    open_members = {
        record["member"]
        for record in escalations
        if record.get("route") == escalation.ARCHITECT and "resolution" not in record
    }
    first = (
        name if name in requesters else next((requester for requester in requesters if requester in open_members), "")
    )
    if first:
        return EscalationStep("wait", notes, f"the solution architect works for {first}")
    return EscalationStep("commission", notes, "the solution architect has no task for it yet")
