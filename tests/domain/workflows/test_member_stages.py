"""The next stage of a member of a crew, and the status after a turn."""

from __future__ import annotations

from support.quick_cases import all_of

from sow.domain.workflows import member
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.member_stages import (
    MAX_FAILED_TURNS,
    MAX_VERIFICATIONS,
    next_stage,
    question_kind,
    status_after_turn,
)

PLANNED = Member("api_agent", task_id="api_1727539200", verifier="api_verifier")
QUESTION = {"number": 7, "text": "?", "asked_at": "2026-01-31T09:00:00Z", "kind": "user"}


def a_note(status, number=1):
    made = {"note_id": f"note_{number:03d}", "timestamp": 1, "description": "Is email unique?", "context": "c"}
    return {**made, "status": status}


def a_member(status, **options):
    return {**member.new(PLANNED, agent="implementer"), "status": status, **options}


# (status, more of the state, notes, more of the question) → the stage
STAGES = {
    "nothing is in its way": (("pending", {}, [], {}), "start"),
    "it waits for others": (("pending", {}, [], {"waiting": ["database_agent (working)"]}), "wait"),
    "it is not approved": (("pending", {}, [], {"approved": False}), "wait"),
    "it works": (("working", {}, [], {}), "work"),
    "it works with an open note": (("working", {}, ["open"], {}), "work"),
    "it was killed after it escalated": (("working", {}, ["escalated"], {}), "work"),
    "it was sent back": (("working", {"rounds": 4}, [], {}), "work"),
    "it crashed twice": (("working", {"tries": 2}, [], {}), "work"),
    "it crashed too often": (("working", {"tries": 3}, [], {}), "ask"),
    "it was refused too often": (("working", {"rounds": 5}, [], {}), "ask"),
    "its verifier is mute": (("ready_for_verification", {"verifier_tries": 3}, [], {}), "ask"),
    "it reviews its notes": (("completion_drive_review", {}, ["open"], {}), "review_notes"),
    "its notes are all resolved": (("completion_drive_review", {}, ["resolved"], {}), "review_notes"),
    "it is ready": (("ready_for_verification", {}, ["resolved"], {}), "verify"),
    "it is ready with an open note": (("ready_for_verification", {}, ["open"], {}), "review_notes"),
    "it is blocked": (("blocked", {}, ["resolved", "escalated"], {}), "blocked"),
    "it is blocked and all is answered": (("blocked", {}, ["resolved", "open"], {}), "work"),
    "it is blocked and a person is asked": (("blocked", {"question": QUESTION}, ["escalated"], {}), "wait"),
    "it is blocked and a person answered": (("blocked", {"pending_answer": "yes"}, ["escalated"], {}), "blocked"),
    "it failed": (("failed", {"tries": 3}, [], {}), "ask"),
    "it failed and a person is asked": (("failed", {"question": QUESTION}, [], {}), "failed"),
    "it is verified": (("verified", {}, ["resolved"], {}), "done"),
    "it is over": (("session_complete", {}, [], {}), "done"),
    "its part of the plan changed meanwhile": (("working", {}, [], {"approved": False}), "wait"),
    "it is verified and the plan changed": (("verified", {}, [], {"approved": False}), "done"),
}


@all_of("name", STAGES)
def test_the_stage_follows_from_the_state(name):
    """Status, notes, counts and questions give the next stage, with a reason."""
    (status, more, notes, given), expected = STAGES[name]
    messages = [a_note(note, number) for number, note in enumerate(notes, 1)]
    stage, reason = next_stage(a_member(status, **more), messages, **given)
    assert (stage, bool(reason)) == (expected, True)


def test_the_kind_of_a_question_follows_from_the_counts():
    """The kind of a question is told by the counts."""
    assert question_kind(a_member("failed")) == "failed"
    assert question_kind(a_member("working", tries=MAX_FAILED_TURNS)) == "failed"
    assert question_kind(a_member("working", rounds=MAX_VERIFICATIONS)) == "rounds"
    assert question_kind(a_member("ready_for_verification", verifier_tries=MAX_FAILED_TURNS)) == "verifier"


# (status, notes, missing outputs, whether it worked) → the status that it has earned
ENDS = {
    "it said so itself": (("ready_for_verification", [], [], False), "ready_for_verification"),
    "it blocked itself": (("blocked", ["escalated"], ["x"], False), "blocked"),
    "it escalated and went": (("working", ["open", "escalated"], ["x"], False), "blocked"),
    "it left a note open": (("completion_drive_review", ["open"], [], True), ""),
    "it left an output out": (("working", ["resolved"], ["task_output/x"], True), ""),
    "it did nothing": (("working", [], [], False), ""),
    "it did all and said nothing": (("working", ["resolved"], [], True), "ready_for_verification"),
    "it did all and reviewed": (("completion_drive_review", [], [], True), "ready_for_verification"),
}


@all_of("name", ENDS)
def test_the_end_of_a_turn_sets_a_status(name):
    """A turn that ends without a status is blocked, handed in, or reminded of what is missing."""
    (status, notes, missing, worked), expected = ENDS[name]
    messages = [a_note(note, number) for number, note in enumerate(notes, 1)]
    earned, reason = status_after_turn(a_member(status), messages, missing=missing, worked=worked)
    assert (earned, bool(reason)) == (expected, True)
