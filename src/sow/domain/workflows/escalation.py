"""Parses the architect's decisions on escalated notes, orders the blocked members, and detects repeated questions."""

from __future__ import annotations

from sow.domain.reviews import final_answer
from sow.domain.reviews.finding import clean_text
from sow.domain.text.similar_text import similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sow.domain.documents.state import Escalation, MemberState, Note

USER, ARCHITECT, ANSWER, LOOP = "user", "solution_architect", "answer", "loop"
ROUTES = (USER, ARCHITECT, ANSWER)
LOOP_AT = 3  # If the same question is asked this often on one task, only a person can end the loop.
MAX_TEXT = 20_000
MAX_HISTORY = 100
UNREADABLE = "(The workflow architect gave no decision that can be read: "


class EscalationDecision:
    """The architect's decision on one note."""

    __slots__ = ("note", "question", "resolution", "route")

    def __init__(self, note: str, route: str, *, question: str = "", resolution: str = "") -> None:
        self.note = note
        self.route = route
        self.question = question
        self.resolution = resolution


class ArchitectAnswer:
    """The architect's answer: a decision for each note, or the reason why there is none."""

    __slots__ = ("analysis", "decisions", "doubt", "plan_changed")

    def __init__(
        self,
        decisions: Sequence[EscalationDecision] = (),
        *,
        plan_changed: bool = False,
        analysis: str = "",
        why: str = "",
    ) -> None:
        self.decisions = list(decisions)
        self.plan_changed = plan_changed
        self.analysis = analysis
        self.doubt = why


def parse(final_text: str, nonce: str, notes: Sequence[str]) -> ArchitectAnswer:
    """Read the decisions from the JSON block with the nonce: exactly one for each note, or none at all."""
    answer = final_answer.read(final_text, nonce)
    if answer.block is None:
        return ArchitectAnswer(why=answer.doubt or "there is no JSON block with the nonce")
    items, changed = answer.block.get("decisions"), answer.block.get("plan_changed", False)
    if not isinstance(items, list) or not isinstance(changed, bool):
        return ArchitectAnswer(why="decisions is no list, or plan_changed is neither true nor false")
    decisions = [_decision(item) for item in items]
    wrong = next((decision for decision in decisions if isinstance(decision, str)), "")
    if wrong:
        return ArchitectAnswer(why=wrong)
    valid = [decision for decision in decisions if isinstance(decision, EscalationDecision)]
    problem = _problem_with_notes([decision.note for decision in valid], notes)
    return ArchitectAnswer(why=problem) if problem else ArchitectAnswer(valid, plan_changed=changed)


def parse_analysis(final_text: str, nonce: str) -> ArchitectAnswer:
    """Read the architect's analysis of a loop, for the person who ends it."""
    answer = final_answer.read(final_text, nonce)
    if answer.block is None:
        return ArchitectAnswer(why=answer.doubt or "there is no JSON block with the nonce")
    changed, analysis = answer.block.get("plan_changed", False), _text(answer.block, "analysis")
    if not analysis or not isinstance(changed, bool):
        return ArchitectAnswer(why="the JSON block has no analysis, or plan_changed is neither true nor false")
    return ArchitectAnswer(analysis=analysis, plan_changed=changed)


def _text(block: dict[str, Any], key: str) -> str:
    value = block.get(key)
    return clean_text(value, MAX_TEXT) if isinstance(value, str) else ""


def _decision(item: object) -> EscalationDecision | str:
    """Return one decision, or the reason why it is invalid."""
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
    """Return a question without note numbers and without the reason for asking a person, because both change."""
    return "\n".join(_unnumbered(line) for line in question.split("\n") if not line.startswith(UNREADABLE))


def _unnumbered(line: str) -> str:
    head, mark, rest = line.partition(": ")
    return rest if mark and head.startswith("note_") and head[5:].isdigit() else line


def queue(members: Mapping[str, MemberState]) -> list[str]:
    """Return the blocked members, the first one first. Those of the same second keep the order of the plan."""
    blocked = [name for name, state in members.items() if state["status"] == "blocked"]
    return sorted(blocked, key=lambda name: members[name]["last_update"] or "")


def escalated(notes: Iterable[Note]) -> list[Note]:
    """Return the escalated notes."""
    return [note for note in notes if note["status"] == "escalated"]


def find_record(escalations: Iterable[Escalation], task_id: str, note_id: str) -> Escalation | None:
    """Return the history entry of a note."""
    return next(
        (record for record in escalations if record["task_id"] == task_id and record["note_id"] == note_id), None
    )


def times_asked(escalations: Iterable[Escalation], task_id: str, note: Note) -> int:
    """Return how often a question was asked on a task: now, and earlier with an answer."""
    return 1 + sum(
        record["task_id"] == task_id
        and record["note_id"] != note["note_id"]
        and "resolved_at" in record
        and similar(record["description"], note["description"])
        for record in escalations
    )


def repeated_notes(escalations: Sequence[Escalation], task_id: str, notes: Iterable[Note]) -> list[str]:
    """Return the escalated notes that ask the same for the third time or more."""
    return [note["note_id"] for note in escalated(notes) if times_asked(escalations, task_id, note) >= LOOP_AT]


def history(escalations: Iterable[Escalation], task_id: str) -> list[Escalation]:
    """Return everything that was escalated on a task, the oldest first."""
    return [record for record in escalations if record["task_id"] == task_id]


def history_text(escalations: Iterable[Escalation], task_id: str) -> str:
    """Return the history as lines for a prompt or a question."""
    records = history(escalations, task_id)[-MAX_HISTORY:]
    return "\n".join(
        f"- {record['at']} {record['note_id']}: {_one_line(record['description'])} → "
        + (_one_line(record["resolution"]) if "resolution" in record else "no answer yet")
        for record in records
    )


def _one_line(text: str) -> str:
    return clean_text(text, 500, one_line=True)
