"""Computes the next step for the escalated notes of one blocked member from the recorded state."""

from __future__ import annotations

from sow.domain import escalation
from sow.domain.workflow_agent import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.shapes import Escalation, MemberState, Note

# apply: an answer is recorded and not in the note yet. sort, loop, validate: a turn of the workflow architect. ask: a
# question to a person must be written. commission: the solution architect gets a task. wait: for one of the last two.
STEPS = ("apply", "wait", "loop", "sort", "ask", "validate", "commission", "done")


class Step:
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
) -> Step:
    """Return the next step. `architect` is the state of the solution architect, if it has an agent folder."""
    escalated = [note["note_id"] for note in escalation.escalated(notes)]
    if not escalated:
        return Step("done", reason="nothing is escalated")
    records = {note: escalation.entry(escalations, state["task_id"], note) for note in escalated}
    answered = [note for note, record in records.items() if record is not None and "resolution" in record]
    if answered:
        return Step("apply", answered, "the answer is known and not in the note yet")
    routes = {note: _route(record) for note, record in records.items()}
    unsorted = [note for note, route in routes.items() if not route]
    if unsorted:
        return _question(state, unsorted) or _sorting(state, unsorted, notes, escalations)
    technical = [note for note, route in routes.items() if route == escalation.ARCHITECT]
    for_person = [note for note in escalated if note not in technical]
    step = _of_architect(name, technical, architect, escalations) if technical else None
    if step is not None and step.kind == "commission":
        return step
    return (
        _question(state, escalated)
        or (_of_person(state, for_person) if for_person else step)
        or Step("wait", escalated)
    )


def _question(state: MemberState, notes: list[str]) -> Step | None:
    """Return a step that waits, if a person was asked."""
    question = state.get("question")
    return Step("wait", notes, f"question w{question['number']} waits for an answer") if question else None


def _route(record: Escalation | None) -> str:
    """Return the route of a note. If it was to be answered at once and was not, it is sorted again."""
    route = record.get("route", "") if record is not None else ""
    return "" if route == escalation.ANSWER else route


def _sorting(state: MemberState, unsorted: list[str], notes: Sequence[Note], escalations: Sequence[Escalation]) -> Step:
    looping = [note for note in escalation.looping(escalations, state["task_id"], notes) if note in unsorted]
    if looping:
        return Step("loop", looping, f"asked {escalation.LOOP_AT} times or more")
    return Step("sort", unsorted, "the architect has not sorted them yet")


def _of_person(state: MemberState, notes: list[str]) -> Step:
    if "pending_answer" in state:
        return Step("validate", notes, "a person has answered")
    return Step("ask", notes, "a person is to be asked")


def _of_architect(
    name: str, notes: list[str], architect: MemberState | None, escalations: Sequence[Escalation]
) -> Step:
    """Return the step for technical notes. The solution architect gets one task at a time."""
    if architect is None:
        return Step("commission", notes, "there is no solution architect yet")
    requesters = architect.get("requested_by", [])
    if name in requesters and architect["status"] in DONE:
        return Step("validate", notes, "the solution architect's answer is verified")
    open_members = {
        record["member"] for record in escalations if record.get("route") == escalation.ARCHITECT and _is_open(record)
    }
    first = (
        name if name in requesters else next((requester for requester in requesters if requester in open_members), "")
    )
    if first:
        return Step("wait", notes, f"the solution architect works for {first}")
    return Step("commission", notes, "the solution architect has no task for it yet")


def _is_open(record: Escalation) -> bool:
    return "resolution" not in record
