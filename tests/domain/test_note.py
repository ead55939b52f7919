"""The lifecycle of a note: what each move records, and who may make it."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of
from support.samples import ACTORS, ADA, OWN_WORKER, note

from sow.domain import task
from sow.errors import IllegalStatusChange


@pytest.mark.parametrize(
    ("actor", "resolved_by"), [("worker", "agent_self"), ("orchestrator", "workflow_executor"), ("person", "user")]
)
def test_a_resolution_records_author_and_time(actor, resolved_by):
    """A resolved note keeps its fields and gains the answer, its author, and the time."""
    before = note(category="detail")
    assert task.resolve_note(before, "yes, unique", actor=ACTORS[actor], epoch=1727541600) == {
        **before,
        "status": "resolved",
        "resolution": "yes, unique",
        "resolved_by": resolved_by,
        "resolution_timestamp": 1727541600,
    }


def test_an_answer_keeps_the_reason_of_the_escalation():
    """The reason of the escalation stays in the note when it is answered."""
    answered = task.resolve_note(note("escalated"), "yes", actor=ADA, epoch=1727541600)
    assert answered["escalation_reason"] == "a requirement"


def test_an_escalation_records_its_reason():
    """An escalated note keeps its fields and gains the reason."""
    before = note(category="security")
    assert task.escalate_note(before, "who may log in?") == {
        **before,
        "status": "escalated",
        "escalation_reason": "who may log in?",
    }


@pytest.mark.parametrize(
    ("before", "message", "hint"),
    [
        (
            note("escalated"),
            "note_001 is escalated: its own agent may not resolve it",
            "set the task to paused and end your turn",
        ),
        (
            note(category="technology", note_id="note_012"),
            "note_012 is a matter of technology: its own agent may not resolve it",
            'sow note escalate 12 --reason "…"',
        ),
        (note("resolved"), "note_001 is resolved already", "nothing to do"),
    ],
)
def test_a_refused_resolution_has_a_hint(before, message, hint):
    """A worker that may not resolve a note gets the reason and the next step."""
    with pytest.raises(IllegalStatusChange) as refused:
        task.resolve_note(before, "yes", actor=OWN_WORKER, epoch=1727541600)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_open_and_escalated_notes_are_unresolved():
    """Every note except a resolved one counts, in the order of the file."""
    notes = [note(status, note_id=f"note_00{n}") for n, status in enumerate(("resolved", "open", "escalated"), 1)]
    assert task.unresolved_notes(notes) == ["note_002", "note_003"]
    assert task.unresolved_notes([]) == []


BECOMES = {
    "the same": (note(), note(), True),
    "gone": (note(), None, False),
    "about something else": (note(), {**note(), "description": "else"}, False),
    "resolved": (note(category="detail"), note("resolved", category="detail"), True),
    "resolved above its head": (note(category="security"), note("resolved", category="security"), False),
    "answered by itself": (note("escalated"), note("resolved"), False),
    "escalated": (note(), note("escalated"), True),
    "open again": (note("resolved"), note(), False),
    "escalated again": (note("resolved"), note("escalated"), False),
}


@all_of("case", BECOMES)
def test_only_legal_edits_of_a_note_are_accepted(case):
    """A note that was edited by hand is accepted only if the rules could have led to it."""
    before, after, possible = BECOMES[case]
    assert task.is_allowed_note_change(before, after, OWN_WORKER) is possible
