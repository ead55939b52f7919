"""Parses the architect's decisions on escalated notes, detects repeated questions, and computes the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sow.domain.documents.state import Escalation, MemberState, Note
from sow.domain.reviews import verdict
from sow.domain.reviews.finding import clean_text
from sow.domain.reviews.similar_notes import topic_words
from sow.domain.text.similar_text import similar
from sow.domain.workflows.lifecycle import DONE_STATUSES

USER, ARCHITECT, ANSWER, LOOP = "user", "solution_architect", "answer", "loop"
ROUTES = (USER, ARCHITECT, ANSWER)
LOOP_AT = 3  # If the same question is asked this often on one task, only a person can end the loop.
SAME_TOPIC = 2 / 3  # share of the topic words of the longer question
MAX_TEXT = 20_000
MAX_HISTORY = 100
# apply: an answer is recorded and not in the note yet. sort, loop, validate: a turn of the workflow architect. ask: a
# question to a person must be written. commission: the solution architect gets a task. wait: for one of the last two.
STEPS = ("apply", "wait", "loop", "sort", "ask", "validate", "commission", "done")
UNREADABLE = "(The workflow architect gave no decision that can be read: "


@dataclass(frozen=True)
class EscalationDecision:
    """The architect's decision on one note."""

    note: str
    route: str
    question: str = ""
    resolution: str = ""


@dataclass
class ArchitectAnswer:
    """The architect's answer: a decision for each note, or the reason why there is none."""

    decisions: list[EscalationDecision] = field(default_factory=list)
    analysis: str = ""
    doubt: str = ""


def parse(final_text: str, nonce: str, notes: Sequence[str]) -> ArchitectAnswer:
    """Reads the decisions from the JSON block with the nonce: exactly one for each note, or none at all."""
    block, why = verdict.read_block(final_text, nonce)
    items = block.get("decisions")
    if why or not isinstance(items, list) or not isinstance(block.get("plan_changed", False), bool):
        return ArchitectAnswer(doubt=why or "decisions is no list, or plan_changed is neither true nor false")
    decisions = [_decision(item) for item in items]
    wrong = next((decision for decision in decisions if isinstance(decision, str)), "")
    valid = [decision for decision in decisions if isinstance(decision, EscalationDecision)]
    problem = wrong or _problem_with_notes([decision.note for decision in valid], notes)
    return ArchitectAnswer(doubt=problem) if problem else ArchitectAnswer(valid)


def parse_analysis(final_text: str, nonce: str) -> ArchitectAnswer:
    """Reads the architect's analysis of a loop, for the person who ends it."""
    block, why = verdict.read_block(final_text, nonce)
    analysis = _text(block, "analysis")
    if why or not analysis or not isinstance(block.get("plan_changed", False), bool):
        why = why or "the JSON block has no analysis, or plan_changed is neither true nor false"
        return ArchitectAnswer(doubt=why)
    return ArchitectAnswer(analysis=analysis)


def _text(block: dict[str, Any], key: str) -> str:
    value = block.get(key)
    return clean_text(value, MAX_TEXT) if isinstance(value, str) else ""


def _decision(item: object) -> EscalationDecision | str:
    """Returns one decision, or the reason why it is invalid."""
    if not isinstance(item, dict):
        return "a decision is no JSON object"
    note, route = item.get("note"), item.get("route")
    if not isinstance(note, str) or route not in ROUTES:
        return f"a decision has no note, or a route other than {', '.join(ROUTES)}"
    decision = EscalationDecision(note, route, question=_text(item, "question"), resolution=_text(item, "resolution"))
    if route == ANSWER and not decision.resolution:
        return f"the decision on {note:.60} is an answer without a resolution"
    if route != ANSWER and not decision.question:
        return f"the decision on {note:.60} goes to the {route} without a question"
    return decision


def _problem_with_notes(decided_notes: list[str], notes: Sequence[str]) -> str:
    if len(set(decided_notes)) < len(decided_notes):
        return "a note is decided on twice"
    if set(decided_notes) - set(notes):
        return f"a note was decided on that nobody asked about: {min(set(decided_notes) - set(notes)):.60}"
    missing = [note for note in notes if note not in decided_notes]
    return f"there is no decision on {', '.join(missing)}" if missing else ""


def without_note_numbers(question: str) -> str:
    """Returns a question without note numbers and without the reason for asking a person, because both change."""
    return "\n".join(_unnumbered(line) for line in question.split("\n") if not line.startswith(UNREADABLE))


def _unnumbered(line: str) -> str:
    head, mark, rest = line.partition(": ")
    return rest if mark and head.startswith("note_") and head[5:].isdigit() else line


def queue(members: Mapping[str, MemberState]) -> list[str]:
    """Returns the blocked members, the first one first. Those of the same second keep the order of the plan."""
    blocked = [name for name, state in members.items() if state["status"] == "blocked"]
    return sorted(blocked, key=lambda name: members[name]["last_update"] or "")


def escalated(notes: Iterable[Note]) -> list[Note]:
    """Returns the escalated notes."""
    return [note for note in notes if note["status"] == "escalated"]


def find_record(escalations: Iterable[Escalation], task_id: str, note_id: str) -> Escalation | None:
    """Returns the history entry of a note."""
    return next(
        (record for record in escalations if record["task_id"] == task_id and record["note_id"] == note_id), None
    )


def times_asked(escalations: Iterable[Escalation], task_id: str, note: Note) -> int:
    """Returns how often a question was asked on a task: now, and earlier with an answer."""
    return 1 + sum(
        record["task_id"] == task_id
        and record["note_id"] != note["note_id"]
        and "resolved_at" in record
        and _is_same_question(record["description"], note["description"])
        for record in escalations
    )


def _is_same_question(first: str, second: str) -> bool:
    """Returns whether two questions have nearly the same words, or the same topic in other words."""
    topics = topic_words(first), topic_words(second)
    shared, longer = len(topics[0] & topics[1]), max(map(len, topics))
    return similar(first, second) or (shared > 1 and shared >= SAME_TOPIC * longer)


def repeated_notes(escalations: Sequence[Escalation], task_id: str, notes: Iterable[Note]) -> list[str]:
    """Returns the escalated notes that ask the same for the third time or more."""
    return [note["note_id"] for note in escalated(notes) if times_asked(escalations, task_id, note) >= LOOP_AT]


def history(escalations: Iterable[Escalation], task_id: str) -> list[Escalation]:
    """Returns everything that was escalated on a task, the oldest first."""
    return [record for record in escalations if record["task_id"] == task_id]


def history_text(escalations: Iterable[Escalation], task_id: str) -> str:
    """Returns the history as lines for a prompt or a question."""
    records = history(escalations, task_id)[-MAX_HISTORY:]
    return "\n".join(
        f"- {record['at']} {record['note_id']}: {_one_line(record['description'])} → "
        + (_one_line(record["resolution"]) if "resolution" in record else "no answer yet")
        for record in records
    )


def _one_line(text: str) -> str:
    return clean_text(text, 500, one_line=True)


@dataclass(frozen=True)
class EscalationStep:
    """The kind of step, its notes, and the reason."""

    kind: str
    notes: list[str] = field(default_factory=list)
    reason: str = ""


def next_step(
    name: str,
    state: MemberState,
    notes: Sequence[Note],
    escalations: Sequence[Escalation],
    architect: MemberState | None = None,
) -> EscalationStep:
    """Returns the next step. `architect` is the state of the solution architect, if it has an agent folder."""
    note_ids = [note["note_id"] for note in escalated(notes)]
    if not note_ids:
        return EscalationStep("done", reason="nothing is escalated")
    records = {note: find_record(escalations, state["task_id"], note) for note in note_ids}
    answered = [note for note, record in records.items() if record is not None and "resolution" in record]
    if answered:
        return EscalationStep("apply", answered, "the answer is known and not in the note yet")
    routes = {note: _route(record) for note, record in records.items()}
    unsorted = [note for note, route in routes.items() if not route]
    if unsorted:
        return _wait_for_question(state, unsorted) or _sort_step(state, unsorted, notes, escalations)
    technical = [note for note, route in routes.items() if route == ARCHITECT]
    for_person = [note for note in note_ids if note not in technical]
    step = _architect_step(name, technical, architect, escalations) if technical else None
    if step is not None and step.kind == "commission":
        return step
    return (
        _wait_for_question(state, note_ids)
        or (_person_step(state, for_person) if for_person else step)
        or EscalationStep("wait", note_ids)
    )


def _wait_for_question(state: MemberState, notes: list[str]) -> EscalationStep | None:
    question = state.get("question")
    return EscalationStep("wait", notes, f"question w{question['number']} waits for an answer") if question else None


def _route(record: Escalation | None) -> str:
    """Returns the route of a note. If it was to be answered at once and was not, it is sorted again."""
    route = record.get("route", "") if record is not None else ""
    return "" if route == ANSWER else route


def _sort_step(
    state: MemberState, unsorted: list[str], notes: Sequence[Note], escalations: Sequence[Escalation]
) -> EscalationStep:
    looping = [note for note in repeated_notes(escalations, state["task_id"], notes) if note in unsorted]
    if looping:
        return EscalationStep("loop", looping, f"asked {LOOP_AT} times or more")
    return EscalationStep("sort", unsorted, "the architect has not sorted them yet")


def _person_step(state: MemberState, notes: list[str]) -> EscalationStep:
    if "pending_answer" in state:
        return EscalationStep("validate", notes, "a person has answered")
    return EscalationStep("ask", notes, "a person is to be asked")


def _architect_step(
    name: str, notes: list[str], architect: MemberState | None, escalations: Sequence[Escalation]
) -> EscalationStep:
    """Returns the step for technical notes. The solution architect gets one task at a time."""
    if architect is None:
        return EscalationStep("commission", notes, "there is no solution architect yet")
    requesters = architect.get("requested_by", [])
    if name in requesters and architect["status"] in DONE_STATUSES:
        return EscalationStep("validate", notes, "the solution architect's answer is verified")
    open_members = {
        record["member"] for record in escalations if record.get("route") == ARCHITECT and "resolution" not in record
    }
    first = (
        name if name in requesters else next((requester for requester in requesters if requester in open_members), "")
    )
    if first:
        return EscalationStep("wait", notes, f"the solution architect works for {first}")
    return EscalationStep("commission", notes, "the solution architect has no task for it yet")
