"""A member of a crew: its own moves, the run's moves, and unreachable states."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain import task
from sow.domain.task import ORCHESTRATOR, WORKER, Actor
from sow.domain.workflows import member
from sow.domain.workflows import member_stages as workflows_stages
from sow.domain.workflows.crew_plan import Member
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT
from sow.errors import IllegalStatusChange

STAGES = ("start", "work", "review_notes", "blocked", "verify", "done", "ask", "failed", "wait")

NOW, LATER = "2026-01-31T09:00:00Z", "2026-01-31T09:05:00Z"
PLANNED = Member("api_agent", task_id="api_1727539200", verifier="api_verifier", dependencies=["database_agent"])
DOER = Actor(kind=WORKER, name="api_agent", task="api_agent")
EXECUTOR = Actor(kind=ORCHESTRATOR, name="workflow_executor")


def a_note(status="open", number=1):
    made = {"note_id": f"note_{number:03d}", "timestamp": 1, "description": "Is email unique?", "context": "c"}
    return {**made, "status": status}


def a_member(status="pending", **options):
    return {**member.new(PLANNED, agent="implementer"), "status": status, **options}


def a_result(result="passed", verifier="api_verifier"):
    made = {"missing_evidence": [], "findings": [], "round": 1, "at": NOW}
    return {"result": result, "verifier": verifier, **made}


def test_a_new_member_follows_the_plan():
    """It is pending, with the plan's task, verifier and dependencies, and without an update."""
    state = member.new(PLANNED, agent="implementer")
    assert (state["status"], state["task_id"], state["verifier"]) == ("pending", "api_1727539200", "api_verifier")
    assert (state["dependencies"], state["iteration"], state["last_update"]) == (["database_agent"], 1, None)


@all_of("status", [*WORKFLOW_AGENT.statuses, "missing"])
def test_a_member_starts_when_its_dependencies_are_verified(status):
    """It starts only after verified or ended agents."""
    statuses = {"database_agent": status} if status != "missing" else {}
    if status in ("verified", "session_complete"):
        started = member.start("api_agent", a_member(), needed=["database_agent"], statuses=statuses, now=NOW)
        assert (started["status"], started["last_update"]) == ("working", NOW)
    else:
        with pytest.raises(IllegalStatusChange, match="database_agent"):
            member.start("api_agent", a_member(), needed=["database_agent"], statuses=statuses, now=NOW)


@all_of("to", WORKFLOW_AGENT.statuses)
@all_of("status", WORKFLOW_AGENT.statuses)
@all_of("notes", ["", "open", "escalated", "resolved"])
def test_a_member_makes_only_its_own_moves(status, to, notes):
    """Of all moves a member makes five; it hands in without unresolved notes and blocks with an escalated one."""
    given_notes = [a_note(notes)] if notes else []
    own = {
        ("working", "completion_drive_review"), ("working", "blocked"), ("completion_drive_review", "blocked"),
        ("completion_drive_review", "ready_for_verification"), ("completion_drive_review", "working"),
    }  # fmt: skip
    gated = {"ready_for_verification": notes in ("", "resolved"), "blocked": notes == "escalated"}
    before = a_member(status)
    if (status, to) in own and gated.get(to, True):
        assert member.own_move("api_agent", before, to, notes=given_notes, now=LATER)["status"] == to
    else:
        with pytest.raises(IllegalStatusChange):
            member.own_move("api_agent", before, to, notes=given_notes, now=LATER)
    assert before == a_member(status)


@all_of("status", WORKFLOW_AGENT.statuses)
def test_only_handed_in_work_is_verified(status):
    """A result moves a member that is ready for verification, and is an error for every other."""
    if status == "ready_for_verification":
        assert member.after_verification("a", a_member(status), a_result(), notes=[], now=NOW)["status"] == "verified"
        failed = member.after_verification(
            "a", a_member(status, verifier_tries=2), a_result("failed"), notes=[], now=NOW
        )
        assert (failed["status"], failed["rounds"], failed["iteration"]) == ("working", 1, 2)
        assert "verifier_tries" not in failed
    else:
        with pytest.raises(IllegalStatusChange, match="cannot be verified"):
            member.after_verification("a", a_member(status), a_result(), notes=[], now=NOW)


def test_an_unresolved_note_blocks_verification():
    """An unresolved note blocks a pass, and a result by the member itself is refused."""
    ready = a_member("ready_for_verification")
    with pytest.raises(IllegalStatusChange, match="note_001"):
        member.after_verification("api_agent", ready, a_result(), notes=[a_note()], now=NOW)
    with pytest.raises(IllegalStatusChange, match="itself"):
        member.after_verification("api_agent", ready, a_result(verifier="api_agent"), notes=[], now=NOW)


def test_the_third_crash_is_a_failure():
    """After the third crash the member has failed; an answer resets the count."""
    state = a_member("working")
    for tries in (1, 2):
        state = member.record_failed_turn("a", state, now=NOW, limit=workflows_stages.MAX_FAILED_TURNS)
        assert (state["status"], state["tries"]) == ("working", tries)
    state = member.record_failed_turn("a", state, now=NOW, limit=workflows_stages.MAX_FAILED_TURNS)
    assert state["status"] == "failed"
    asked = member.ask(state, "What now?", number=4, kind="failed", now=NOW)
    again = member.after_answer("a", asked, "Try it with sqlite", now=LATER)
    assert (again["status"], again["tries"], again["feedback"]) == ("working", 0, "Try it with sqlite")
    assert "question" not in again


def test_an_answer_continues_its_question():
    """After the last verification the count starts again; escalated notes go to the architect in their order."""
    spent = member.ask(a_member("working", rounds=5), "?", number=1, kind="rounds", now=NOW)
    assert member.after_answer("a", spent, "go on", now=LATER)["rounds"] == 0
    mute = member.ask(a_member("ready_for_verification", verifier_tries=3), "?", number=1, kind="verifier", now=NOW)
    assert "verifier_tries" not in member.after_answer("a", mute, "go on", now=LATER)
    blocked = member.ask(a_member("blocked", last_update=NOW), "?", number=1, kind="user", now=NOW)
    messages = member.after_answer("a", blocked, "yes", now=LATER)
    assert (messages["status"], messages["pending_answer"], messages["last_update"]) == ("blocked", "yes", NOW)
    with pytest.raises(IllegalStatusChange, match="asks nothing"):
        member.after_answer("a", messages, "yes", now=LATER)


def test_a_second_question_joins_the_first():
    """One number has both texts, and the same text only once."""
    one = member.ask(a_member("blocked"), "Is it unique?", number=1, kind="user", now=NOW)
    two = member.ask(one, "Which hash?", number=2, kind="user", now=LATER)
    assert member.ask(two, "Which hash?", number=3, kind="user", now=LATER) == two
    assert (two["question"]["number"], two["question"]["text"]) == (1, "Is it unique?\nWhich hash?")


def test_blocked_ends_with_the_last_answer():
    """A blocked member continues when no note waits, and the person's answer is used up."""
    blocked = a_member("blocked", pending_answer="yes")
    with pytest.raises(IllegalStatusChange, match="note_001"):
        member.unblock("a", blocked, notes=[a_note("escalated")], now=LATER)
    free = member.unblock("a", blocked, notes=[a_note("resolved"), a_note("open", 2)], now=LATER)
    assert (free["status"], free["iteration"], "pending_answer" in free) == ("working", 2, False)
    with pytest.raises(IllegalStatusChange, match="not blocked"):
        member.unblock("a", free, notes=[], now=LATER)


class History:
    """One member with its notes, and all legal moves in any order."""

    def __init__(self):
        self.state = a_member()
        self.notes = []
        self.passed = False  # whether a verifier passed the work since it was last sent back
        self.upstream = {"database_agent": "working"}

    def verify_upstream(self):
        self.upstream["database_agent"] = "verified"

    def start(self):
        self.state = member.start("a", self.state, needed=["database_agent"], statuses=self.upstream, now=NOW)

    def claim(self, to):
        self.state = member.own_move("a", self.state, to, notes=self.notes, now=NOW)

    def judge(self, result, verifier):
        self.state = member.after_verification("a", self.state, a_result(result, verifier), notes=self.notes, now=NOW)
        self.passed = result == "passed"

    def crash(self):
        self.state = member.record_failed_turn("a", self.state, now=NOW, limit=workflows_stages.MAX_FAILED_TURNS)
        self.passed = self.passed and self.state["status"] in ("verified", "session_complete")

    def retry(self):
        self.state = member.retry("a", self.state, now=NOW)
        self.passed = False

    def unblock(self):
        self.state = member.unblock("a", self.state, notes=self.notes, now=NOW)

    def complete(self):
        self.state = member.complete("a", self.state, notes=self.notes, now=NOW)

    def add_note(self):
        if self.state["status"] in ("working", "completion_drive_review"):
            self.notes.append(a_note("open", len(self.notes) + 1))

    def escalate(self, number):
        if number < len(self.notes):
            self.notes[number] = task.escalate_note(self.notes[number], "why")

    def resolve(self, number, actor):
        if number < len(self.notes):
            self.notes[number] = task.resolve_note(self.notes[number], "so", actor=actor, epoch=2)


ACTS = st.one_of(
    st.sampled_from(["verify_upstream", "start", "crash", "retry", "unblock", "complete", "add_note"]).map(
        lambda x: (x,)
    ),
    st.tuples(st.just("claim"), st.sampled_from(WORKFLOW_AGENT.statuses)),
    st.tuples(st.just("judge"), st.sampled_from(["passed", "failed"]), st.sampled_from(["api_verifier", "a"])),
    st.tuples(st.just("escalate"), st.integers(0, 2)),
    st.tuples(st.just("resolve"), st.integers(0, 2), st.sampled_from([DOER, EXECUTOR])),
    st.just(("claim", "completion_drive_review")),
    st.just(("claim", "ready_for_verification")),
    st.just(("judge", "passed", "api_verifier")),
)


@settings(max_examples=300)
@given(st.lists(ACTS, max_size=40))
def test_no_history_skips_a_condition(acts):
    """Verified needs a verifier's pass, work needs verified dependencies, the end needs resolved notes."""
    history = History()
    if acts[:1] != [("start",)]:
        history.verify_upstream()
    for act, *rest in acts:
        before = history.state["status"]
        try:
            getattr(history, act)(*rest)
        except IllegalStatusChange:
            assert history.state["status"] == before
        status = history.state["status"]
        assert status == before or (before, status) in WORKFLOW_AGENT.moves
        assert status not in ("verified", "session_complete") or (
            history.passed and not task.unresolved_notes(history.notes)
        )
        assert status == "pending" or history.upstream["database_agent"] == "verified"
        assert before != "session_complete" or status == before
        assert status != "ready_for_verification" or not task.unresolved_notes(history.notes)
        assert history.state["tries"] < workflows_stages.MAX_FAILED_TURNS or status == "failed"
        stage, reason = workflows_stages.next_stage(history.state, history.notes)
        assert stage in STAGES and reason
        assert (stage == "done") == (status in ("verified", "session_complete"))


def test_a_normal_history_ends_well():
    """Started, noted, escalated, answered, refused once and then passed, a member is completed."""
    history = History()
    stages = []
    for act, *rest in [
        ("verify_upstream",), ("start",), ("add_note",), ("escalate", 0), ("claim", "blocked"),
        ("resolve", 0, EXECUTOR), ("unblock",),
        ("claim", "completion_drive_review"), ("claim", "ready_for_verification"),
        ("judge", "failed", "api_verifier"), ("claim", "completion_drive_review"), ("claim", "ready_for_verification"),
        ("judge", "passed", "api_verifier"), ("complete",),
    ]:  # fmt: skip
        getattr(history, act)(*rest)
        stages.append(workflows_stages.next_stage(history.state, history.notes)[0])
    assert stages == [
        "start", "work", "work", "work", "blocked", "work", "work", "review_notes", "verify", "work", "review_notes",
        "verify", "done", "done",
    ]  # fmt: skip
    assert (history.state["iteration"], history.state["rounds"]) == (3, 1)
