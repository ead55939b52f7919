"""Escalated notes on their way to an answer: first come first served, sorted by the architect, with loops seen."""

from __future__ import annotations

from sow.domain import final_answer
from sow.domain.finding import tidy
from sow.domain.wording import similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sow.domain.shapes import Escalation, MemberState, Note

USER, ARCHITECT, ANSWER, LOOP = "user", "solution_architect", "answer", "loop"
ROUTES = (USER, ARCHITECT, ANSWER)
LOOP_AT = 3  # the same question so often on one task is a loop: only a person ends it
MAX_TEXT = 20_000
MAX_HISTORY = 100
UNREADABLE = "(The workflow architect gave no decision that can be read: "


class Decision:
    """What the architect says about one note."""

    __slots__ = ("note", "question", "resolution", "route")

    def __init__(self, note: str, route: str, *, question: str = "", resolution: str = "") -> None:
        self.note = note
        self.route = route
        self.question = question
        self.resolution = resolution


class Ruling:
    """The architect's answer: a decision for each note that it was asked about, or why there is none."""

    __slots__ = ("analysis", "decisions", "plan_changed", "why")

    def __init__(
        self, decisions: Sequence[Decision] = (), *, plan_changed: bool = False, analysis: str = "", why: str = ""
    ) -> None:
        self.decisions = list(decisions)
        self.plan_changed = plan_changed
        self.analysis = analysis
        self.why = why


def parse(final_text: str, nonce: str, notes: Sequence[str]) -> Ruling:
    """The decisions in the JSON block with the nonce: exactly one for each note, or none at all."""
    answer = final_answer.read(final_text, nonce)
    if answer.said is None:
        return Ruling(why=answer.why or "there is no JSON block with the nonce")
    listed, changed = answer.said.get("decisions"), answer.said.get("plan_changed", False)
    if not isinstance(listed, list) or not isinstance(changed, bool):
        return Ruling(why="decisions is no list, or plan_changed is neither true nor false")
    decisions = [_decision(each) for each in listed]
    wrong = next((each for each in decisions if isinstance(each, str)), "")
    if wrong:
        return Ruling(why=wrong)
    given = [each for each in decisions if isinstance(each, Decision)]
    doubt = _fits([each.note for each in given], notes)
    return Ruling(why=doubt) if doubt else Ruling(given, plan_changed=changed)


def parse_analysis(final_text: str, nonce: str) -> Ruling:
    """What the architect says about a loop: a text for the person who ends it."""
    answer = final_answer.read(final_text, nonce)
    if answer.said is None:
        return Ruling(why=answer.why or "there is no JSON block with the nonce")
    changed, analysis = answer.said.get("plan_changed", False), _text(answer.said, "analysis")
    if not analysis or not isinstance(changed, bool):
        return Ruling(why="the JSON block has no analysis, or plan_changed is neither true nor false")
    return Ruling(analysis=analysis, plan_changed=changed)


def _text(said: dict[str, Any], key: str) -> str:
    found = said.get(key)
    return tidy(found, MAX_TEXT) if isinstance(found, str) else ""


def _decision(said: object) -> Decision | str:
    """One decision, or what is wrong with it."""
    if not isinstance(said, dict):
        return "a decision is no JSON object"
    note, route = said.get("note"), said.get("route")
    if not isinstance(note, str) or route not in ROUTES:
        return f"a decision has no note, or a route other than {', '.join(ROUTES)}"
    made = Decision(note, route, question=_text(said, "question"), resolution=_text(said, "resolution"))
    if route == ANSWER and not made.resolution:
        return f"the decision on {note:.60} is an answer without a resolution"
    if route != ANSWER and not made.question:
        return f"the decision on {note:.60} goes to the {route} without a question"
    return made


def _fits(decided: list[str], notes: Sequence[str]) -> str:
    """What is wrong with the set of notes that were decided on; nothing if it is the one that was asked about."""
    if len(set(decided)) < len(decided):
        return "a note is decided on twice"
    if set(decided) - set(notes):
        return f"a note was decided on that nobody asked about: {min(set(decided) - set(notes)):.60}"
    left = [note for note in notes if note not in decided]
    return f"there is no decision on {', '.join(left)}" if left else ""


def bare(question: str) -> str:
    """A question without the numbers of its notes, and why a person is asked: both are others the next time."""
    return "\n".join(_unnumbered(line) for line in question.split("\n") if not line.startswith(UNREADABLE))


def _unnumbered(line: str) -> str:
    head, mark, rest = line.partition(": ")
    return rest if mark and head.startswith("note_") and head[5:].isdigit() else line


def queue(members: Mapping[str, MemberState]) -> list[str]:
    """The blocked members, first come first served; those that came in one second in the order of the plan."""
    blocked = [name for name, state in members.items() if state["status"] == "blocked"]
    return sorted(blocked, key=lambda name: members[name]["last_update"] or "")


def escalated(notes: Iterable[Note]) -> list[Note]:
    """The notes that wait for somebody else."""
    return [each for each in notes if each["status"] == "escalated"]


def entry(escalations: Iterable[Escalation], task_id: str, note_id: str) -> Escalation | None:
    """What the history has of a note."""
    return next((each for each in escalations if each["task_id"] == task_id and each["note_id"] == note_id), None)


def times_asked(escalations: Iterable[Escalation], task_id: str, note: Note) -> int:
    """How often this was asked on a task: now, and before with an answer that did not end it."""
    return 1 + sum(
        each["task_id"] == task_id
        and each["note_id"] != note["note_id"]
        and "resolved_at" in each
        and similar(each["description"], note["description"])
        for each in escalations
    )


def looping(escalations: Sequence[Escalation], task_id: str, notes: Iterable[Note]) -> list[str]:
    """The escalated notes that ask the same for the third time or more."""
    return [note["note_id"] for note in escalated(notes) if times_asked(escalations, task_id, note) >= LOOP_AT]


def history(escalations: Iterable[Escalation], task_id: str) -> list[Escalation]:
    """All that was ever escalated on a task, the oldest first."""
    return [each for each in escalations if each["task_id"] == task_id]


def history_text(escalations: Iterable[Escalation], task_id: str) -> str:
    """The history as lines for a prompt or a question."""
    found = history(escalations, task_id)[-MAX_HISTORY:]
    return "\n".join(
        f"- {each['at']} {each['note_id']}: {_one_line(each['description'])} → "
        + (_one_line(each["resolution"]) if "resolution" in each else "no answer yet")
        for each in found
    )


def _one_line(text: str) -> str:
    return tidy(text, 500, one_line=True)
