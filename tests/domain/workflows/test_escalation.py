"""Escalations: strict parsing of the architect's answer, first come first served, and repeated questions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain.workflows import escalation, member
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.escalation import STEPS, next_step

NONCE = "n0nce-1"
TASK = "api_1727539200"
NOTES = ["note_001", "note_002"]
AT = "2026-01-31T09:00:00Z"
ANSWER = {"note": "note_001", "route": "answer", "resolution": "It is unique"}
TO_USER = {"note": "note_002", "route": "user", "question": "Is email unique?"}


def said(*decisions, nonce=NONCE, **options):
    return json.dumps({"nonce": nonce, "decisions": list(decisions), "plan_changed": False, **options})


def test_one_decision_for_each_note_is_a_ruling():
    """Routes, questions and resolutions are read from the block, whatever text is around it."""
    for text in (said(ANSWER, TO_USER), f"I looked.\n\n```json\n{said(ANSWER, TO_USER)}\n```\nDone."):
        ruling = escalation.parse(text, NONCE, NOTES)
        assert ruling.doubt == ""
        assert [(note.note, note.route, note.question, note.resolution) for note in ruling.decisions] == [
            ("note_001", "answer", "", "It is unique"), ("note_002", "user", "Is email unique?", ""),
        ]  # fmt: skip
    assert escalation.parse(said(ANSWER, TO_USER, plan_changed=True), NONCE, NOTES).decisions


DOUBTFUL = {
    "nothing": "",
    "prose": "I would ask the user about note_001 and note_002.",
    "another nonce": said(ANSWER, TO_USER, nonce="other"),
    "no nonce": json.dumps({"decisions": [ANSWER, TO_USER]}),
    "the nonce twice": f"{said(ANSWER, TO_USER)}\n\n{said(ANSWER, TO_USER)}",
    "the nonce in a list": json.dumps([NONCE, {"decisions": [ANSWER, TO_USER]}]),
    "a key twice": said(ANSWER, TO_USER).replace('"plan_changed": false', '"decisions": []'),
    "in another fence": f"```text\n{said(ANSWER, TO_USER)}\n```",
    "no list": json.dumps({"nonce": NONCE, "decisions": {"note_001": "user"}}),
    "no decision on one": said(ANSWER),
    "a note twice": said(ANSWER, ANSWER, TO_USER),
    "a note of nobody": said(ANSWER, TO_USER, {**TO_USER, "note": "note_009"}),
    "a route that is none": said(ANSWER, {**TO_USER, "route": "verified"}),
    "a route that is a list": said(ANSWER, {**TO_USER, "route": ["user"]}),
    "no route": said(ANSWER, {"note": "note_002", "question": "?"}),
    "an answer without words": said({**ANSWER, "resolution": " "}, TO_USER),
    "an answer that is a number": said({**ANSWER, "resolution": 7}, TO_USER),
    "a question without words": said(ANSWER, {"note": "note_002", "route": "user"}),
    "a task without words": said(ANSWER, {"note": "note_002", "route": "solution_architect", "resolution": "x"}),
    "a note that is a number": said(ANSWER, {**TO_USER, "note": 2}),
    "a decision that is a text": said("note_001", TO_USER),
    "plan_changed as a text": said(ANSWER, TO_USER, plan_changed="no"),
    "too long before it": "x" * (64 << 10) + said(ANSWER, TO_USER),
}


@all_of("name", DOUBTFUL)
def test_a_doubtful_answer_decides_nothing(name):
    """An answer that is not exactly right has no decision, and the reason is given."""
    ruling = escalation.parse(DOUBTFUL[name], NONCE, NOTES)
    assert (ruling.decisions, bool(ruling.doubt)) == ([], True)


KEYS = st.sampled_from(["note", "route", "question", "resolution", "decisions"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([*NOTES, "user", "answer"]),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@given(VALUES)
def test_any_json_is_a_ruling_or_a_doubt(value):
    """No answer is a crash, and none decides on a note that was not asked about."""
    ruling = escalation.parse(json.dumps({"nonce": NONCE, "decisions": value}), NONCE, NOTES)
    assert {decision.note for decision in ruling.decisions} in (set(), set(NOTES))
    assert bool(ruling.doubt) != bool(ruling.decisions)


def test_without_notes_there_is_no_decision():
    """An empty list of decisions fits only an empty list of notes."""
    assert escalation.parse(said(), NONCE, []).doubt == ""
    assert "note_001" in escalation.parse(said(), NONCE, NOTES).doubt


def test_an_analysis_of_a_loop_is_a_text():
    """The architect's answer about a loop is read as strictly."""
    good = json.dumps({"nonce": NONCE, "analysis": "The two agents wait for each other."})
    assert escalation.parse_analysis(good, NONCE).analysis == "The two agents wait for each other."
    for bad in ("", "They wait.", json.dumps({"nonce": NONCE}), json.dumps({"nonce": NONCE, "analysis": [1]})):
        ruling = escalation.parse_analysis(bad, NONCE)
        assert (ruling.analysis, bool(ruling.doubt)) == ("", True)


def a_member(status="blocked", last_update=AT, **options):
    made = member.new(Member("api_agent", task_id=TASK, verifier="v"), agent="implementer")
    return {**made, "status": status, "last_update": last_update, **options}


def a_note(text="Is email unique?", number=1, status="escalated"):
    return {"note_id": f"note_{number:03d}", "timestamp": 1, "description": text, "context": "c", "status": status}


def an_entry(text="Is email unique?", number=1, name="api_agent", **options):
    made = {"member": name, "task_id": options.pop("task_id", TASK), "note_id": f"note_{number:03d}"}
    return {**made, "description": text, "at": AT, **options}


def answered(text="Is email unique?", number=1, **options):
    return an_entry(text, number, resolution="Yes", resolved_at=AT, **options)


def test_blocked_members_are_served_in_order():
    """Blocked members are sorted by their last update, then by the order of the plan."""
    crew = {
        "d": a_member(last_update="2026-01-31T09:00:02Z"), "b": a_member(last_update="2026-01-31T09:00:01Z"),
        "c": a_member("working", "2026-01-31T08:00:00Z"), "a": a_member(last_update="2026-01-31T09:00:01Z"),
    }  # fmt: skip
    assert escalation.queue(crew) == ["b", "a", "d"]


def test_a_question_is_the_same_under_another_number():
    """A saved answer matches the question's text, without the numbers of notes and the reason."""
    asked = f"note_001: Is it unique?\nnote_012: note: which?\n{escalation.UNREADABLE}no JSON)"
    assert escalation.without_note_numbers(asked) == "Is it unique?\nnote: which?"


def test_a_third_question_is_a_loop():
    """A question that was answered twice on this task and is asked again is a loop; wording and case do not count."""
    again = a_note("is  EMAIL unique", 3)
    history = [answered(number=1)]
    assert escalation.repeated_notes(history, TASK, [again]) == []
    history.append(answered("Is email unique??", 2))
    assert escalation.repeated_notes(history, TASK, [again]) == ["note_003"]
    assert escalation.repeated_notes(history, TASK, [a_note("Which password hash?", 3)]) == []
    assert escalation.repeated_notes(history, "other_1727539200", [again]) == []
    assert escalation.repeated_notes(history, TASK, [{**again, "status": "resolved"}]) == []


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("Must an email really be unique for users?", True),
        ("Whether emails are to be unique, I cannot tell", True),
        ("Is email required?", False),
        ("Is email unique, and which password hash protects it?", False),
    ],
)
def test_the_same_question_in_other_words_is_a_loop(text: str, loops: bool):
    """A question with the same topic words counts as the same one; one about another topic does not (C17)."""
    history = [answered(number=1), answered("Should emails be unique?", 2)]
    assert escalation.repeated_notes(history, TASK, [a_note(text, 3)]) == (["note_003"] if loops else [])


def test_parallel_questions_are_no_loop():
    """Three similar questions that are escalated together were never answered, so they are not a loop."""
    notes = [a_note(number=number) for number in (1, 2, 3)]
    assert escalation.repeated_notes([an_entry(number=number) for number in (1, 2, 3)], TASK, notes) == []


def test_the_history_is_in_order():
    """Every question on a task is listed with its answer, each on one line."""
    messages = escalation.history_text([answered("A\nb?"), an_entry("C?", 2), answered(task_id="x_172753")], TASK)
    assert messages == f"- {AT} note_001: A b? → Yes\n- {AT} note_002: C? → no answer yet"


ONE = [a_note()]
TWO = [a_note(), a_note("Which hash?", 2)]
ROUTED = [an_entry(route="user"), an_entry(number=2, route="solution_architect")]
LOOP = [answered(), answered(number=2), an_entry(number=3)]
TECHNICAL = [an_entry(route="solution_architect")]
OTHERS = an_entry(name="other", task_id="o_172753", route="solution_architect")
DONE = a_member("verified", requested_by=["api_agent"])
BUSY = a_member("working", requested_by=["api_agent"])
USED = a_member("verified", requested_by=[])
FOREIGN = a_member("working", requested_by=["other"])
LEFT = a_member("verified", requested_by=["other"])
# (more of the state, notes, history, solution architect) → the step and its notes
STEP = {
    "nothing escalated": (({}, [a_note(status="resolved")], [], None), ("done", [])),
    "not sorted": (({}, ONE, [an_entry()], None), ("sort", ["note_001"])),
    "not even remembered": (({}, ONE, [], None), ("sort", ["note_001"])),
    "to be answered at once": (({}, ONE, [an_entry(route="answer")], None), ("sort", ["note_001"])),
    "a loop": (({}, [a_note(number=3)], LOOP, None), ("loop", ["note_003"])),
    "an answer not in the note": (({}, ONE, [answered()], None), ("apply", ["note_001"])),
    "for the person": (({}, ONE, [an_entry(route="user")], None), ("ask", ["note_001"])),
    "a loop for the person": (({}, ONE, [an_entry(route="loop")], None), ("ask", ["note_001"])),
    "asked": (({"question": {"number": 1}}, ONE, [an_entry(route="user")], None), ("wait", ["note_001"])),
    "asked since nobody could sort": (({"question": {"number": 1}}, ONE, [an_entry()], None), ("wait", ["note_001"])),
    "answered": (({"pending_answer": "yes"}, ONE, [an_entry(route="user")], None), ("validate", ["note_001"])),
    "technical": (({}, ONE, TECHNICAL, None), ("commission", ["note_001"])),
    "technical, in work": (({}, ONE, TECHNICAL, BUSY), ("wait", ["note_001"])),
    "technical, decided": (({}, ONE, TECHNICAL, DONE), ("validate", ["note_001"])),
    "technical, after another": (({}, ONE, TECHNICAL, USED), ("commission", ["note_001"])),
    "technical, behind another": (({}, ONE, [*TECHNICAL, OTHERS], FOREIGN), ("wait", ["note_001"])),
    "technical, another's answer untaken": (({}, ONE, [*TECHNICAL, OTHERS], LEFT), ("wait", ["note_001"])),
    "both, nothing done": (({}, TWO, ROUTED, None), ("commission", ["note_002"])),
    "both, architect at work": (({}, TWO, ROUTED, BUSY), ("ask", ["note_001"])),
    "both, asked, architect at work": (({"question": {"number": 1}}, TWO, ROUTED, BUSY), ("wait", NOTES)),
    "both, person answered": (({"pending_answer": "yes"}, TWO, ROUTED, BUSY), ("validate", ["note_001"])),
}  # fmt: skip


@all_of("name", STEP)
def test_the_next_step_follows_from_the_state(name):
    """State, notes, history and the solution architect's state give the next step of escalated notes."""
    (more, notes, history, architect), expected = STEP[name]
    step = next_step("api_agent", a_member(**more), notes, history, architect)
    assert (step.kind, step.notes) == expected
    assert step.kind in STEPS and step.reason


def any_entry(number, way, done):
    made = answered(number=number) if done else an_entry(number=number)
    return {**made, **way}


WAYS = st.fixed_dictionaries({}, optional={"route": st.sampled_from([*escalation.ROUTES, "loop"])})
ENTRIES = st.builds(any_entry, st.integers(1, 3), WAYS, st.booleans())


@given(
    st.lists(st.sampled_from(["open", "escalated", "resolved"]), max_size=3),
    st.lists(ENTRIES, max_size=3, unique_by=lambda each: each["note_id"]),
    st.sampled_from([None, DONE, BUSY, USED, FOREIGN]),
    st.fixed_dictionaries({}, optional={"pending_answer": st.just("yes"), "question": st.just({"number": 1})}),
)
def test_every_escalated_note_has_a_next_step(statuses, history, architect, more):
    """For any state, escalated notes have a step and other notes none, and a waiting step names its holder."""
    notes = [a_note(number=number, status=status) for number, status in enumerate(statuses, 1)]
    step = next_step("api_agent", a_member(**more), notes, history, architect)
    waiting = {note["note_id"] for note in notes if note["status"] == "escalated"}
    assert (step.kind == "done") == (not waiting)
    assert set(step.notes) <= waiting and (step.notes or not waiting)
    assert step.kind != "wait" or "question" in more or architect in (BUSY, FOREIGN)
