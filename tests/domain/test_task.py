"""The lifecycle of a task: the effects and conditions of each move."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of
from support.samples import ADA, LATER, LEAD, NOW, OTHER_WORKER, OWN_WORKER, task

from sow.domain import task as rules
from sow.errors import IllegalStatusChange, SowError

QUESTION = {"number": 4, "text": "unique?", "asked_at": NOW}
VOID = {"by": "ada", "at": NOW, "iteration": 3}
GONE = object()

# (from, to): what the move changes besides the status and updated_at, for a task in its third iteration.
CHANGES = {
    ("pending", "in_progress"): {"started_at": LATER},
    ("in_progress", "needs_review"): {},
    ("in_progress", "paused"): {},
    ("in_progress", "failed"): {"failed_reason": "a dead end"},
    ("needs_review", "in_progress"): {"iteration": 4, "approval": GONE},
    ("paused", "in_progress"): {"iteration": 4, "approval": GONE},
    ("failed", "in_progress"): {"iteration": 4, "approval": GONE},
    **{
        (source, "completed"): {
            "completed_at": LATER,
            "approval": {"by": "ada", "at": LATER, "iteration": 3, "reason": "a dead end"},
            "session_id": GONE,
            "question": GONE,
            "questions": [{**QUESTION, "answer": "accept: a dead end", "answered_at": LATER, "answered_by": "ada"}],
        }
        for source in ("needs_review", "paused", "failed")
    },
    **{
        (source, "abandoned"): {"abandoned_reason": "a dead end", "session_id": GONE, "question": GONE}
        for source in ("pending", "in_progress", "needs_review", "paused", "failed")
    },
}


@all_of(("source", "to"), CHANGES)
def test_a_move_changes_exactly_these_fields(source, to):
    """Session, iteration, times, approval and question change as documented, and nothing else does."""
    before = task(
        status=source, iteration=3, session_id="s-1", question=QUESTION, approval=VOID, started_at=NOW, priority="high"
    )
    changed, _ = rules.move(before, to, actor=ADA, now=LATER, reason="a dead end")
    expected = {**before, "status": to, "updated_at": LATER, **CHANGES[source, to]}
    assert changed == {key: value for key, value in expected.items() if value is not GONE}


def test_a_session_is_kept_through_reviews():
    """One session serves every iteration until the work is accepted; the approval has the iteration."""
    current = task(session_id="s-1")
    for to, actor in [
        ("in_progress", OWN_WORKER),
        ("needs_review", OWN_WORKER),
        ("in_progress", LEAD),
        ("paused", OWN_WORKER),
        ("in_progress", ADA),
        ("needs_review", OWN_WORKER),
    ]:
        current, _ = rules.move(current, to, actor=actor, now=LATER)
        assert current["session_id"] == "s-1"
    assert current["iteration"] == 3
    current, event = rules.move(current, "completed", actor=LEAD, now=LATER)
    assert event == "approve"
    assert current["approval"] == {"by": "orchestrator", "at": LATER, "iteration": 3}
    assert "session_id" not in current


def test_abandoning_needs_a_reason():
    """Without a reason the task stays as it is."""
    before = task(status="in_progress")
    kept = deepcopy(before)
    with pytest.raises(SowError, match="task 010 is abandoned only with a reason"):
        rules.move(before, "abandoned", actor=ADA, now=LATER)
    assert before == kept


@pytest.mark.parametrize(
    ("source", "to", "actor", "message"),
    [
        ("needs_review", "completed", OWN_WORKER, "a worker may not approve task 010"),
        ("needs_review", "in_progress", OWN_WORKER, "a worker may not send back task 010"),
        ("paused", "in_progress", OWN_WORKER, "a worker may not answer task 010"),
        ("failed", "in_progress", OWN_WORKER, "a worker may not retry task 010"),
        ("in_progress", "abandoned", OWN_WORKER, "a worker may not abandon task 010"),
        ("in_progress", "needs_review", OTHER_WORKER, "a worker on task 020 may not move task 010"),
    ],
)
def test_a_worker_may_not_make_other_moves(source, to, actor, message):
    """A worker approves no work, and changes no task but its own."""
    with pytest.raises(IllegalStatusChange) as refused:
        rules.move(task(status=source), to, actor=actor, now=LATER, reason="because")
    assert refused.value.message == message


def test_a_task_starts_when_its_dependencies_are_completed():
    """Completed dependencies are enough; a task without any starts at once."""
    rules.require_dependencies_done(task(), {})
    rules.require_dependencies_done(task(depends_on=["020", "030"]), {"020": "completed", "030": "completed"})


@pytest.mark.parametrize(
    "status", ["pending", "in_progress", "needs_review", "paused", "failed", "abandoned", "missing"]
)
def test_an_open_dependency_blocks_a_task(status):
    """Any other status of a dependency blocks the task, and the error names both."""
    existing = {"020": "completed"} | ({} if status == "missing" else {"030": status})
    with pytest.raises(IllegalStatusChange, match=rf"task 010 waits for 030 \({status}\)$"):
        rules.require_dependencies_done(task(depends_on=["020", "030"]), existing)


@pytest.mark.parametrize(("status", "to"), [("in_progress", "needs_review"), ("needs_review", "completed")])
def test_an_unresolved_note_blocks_hand_in_and_approval(status, to):
    """A task with open notes cannot be handed in or approved, and the message names them."""
    moved, _ = rules.move(task(status=status), to, actor=LEAD, now=NOW, open_notes=list)
    assert moved["status"] == to
    with pytest.raises(IllegalStatusChange, match="task 010 has open notes: note_001, note_003"):
        rules.move(task(status=status), to, actor=LEAD, now=NOW, open_notes=lambda: ["note_001", "note_003"])


GRAPH = {"010": [], "020": ["010"], "030": ["020"], "040": []}


@pytest.mark.parametrize(
    ("ident", "wanted", "message"),
    [
        ("010", ["010"], "task 010 cannot depend on itself"),
        ("010", ["040", "050"], "task 010 depends on 050, which does not exist"),
        ("010", ["020"], "task 010 would wait for itself: 010 → 020 → 010"),
        ("010", ["030"], "task 010 would wait for itself: 010 → 030 → 020 → 010"),
    ],
)
def test_a_bad_dependency_is_refused(ident, wanted, message):
    """A dependency on itself, on an unknown task, or around a circle is refused, and the circle is shown."""
    with pytest.raises(SowError) as refused:
        rules.check_dependencies(ident, wanted, GRAPH)
    assert refused.value.message == message


@pytest.mark.parametrize(("ident", "wanted"), [("010", []), ("030", ["010", "020"]), ("040", ["030"])])
def test_a_good_dependency_is_accepted(ident, wanted):
    """Dependencies that close no circle are accepted."""
    rules.check_dependencies(ident, wanted, GRAPH)


IDS = [f"{number:03d}" for number in range(10, 80, 10)]


@given(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=30))
def test_accepted_dependencies_never_close_a_circle(edges):
    """For any requests in any order, the tasks can be sorted by their dependencies."""
    graph: dict[str, list[str]] = {ident: [] for ident in IDS}
    for source, target in edges:
        try:
            rules.check_dependencies(source, [*graph[source], target], graph)
        except SowError:
            assert target == source or source in _reachable(target, graph)
        else:
            graph[source].append(target)
    assert all(ident not in _reachable(ident, graph) for ident in IDS)


def _reachable(start, graph):
    result: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        here = waiting.pop()
        if here not in result:
            result.add(here)
            waiting += graph[here]
    return result


def test_every_status_is_open_or_ended():
    """Every status is open or ended; only a completed task can be reopened."""
    assert sorted((*rules.OPEN_STATUSES, *rules.ENDED_STATUSES)) == sorted(rules.TASK.statuses)
    left = {status: rules.TASK.targets(status) for status in rules.ENDED_STATUSES}
    assert left == {"completed": ("in_progress",), "abandoned": ()}
