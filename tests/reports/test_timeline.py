"""The timeline of a run: spans, marks, gaps and changes of status, from any journal."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.reports import timeline
from sow.reports.run_history import RunHistory
from sow.reports.timeline import document
from sow.store.runs.run_folder import JournalEntry

START = 1_790_000_000
WORKER = {"role": "implementer", "executor": "hand", "kind": "spawn"}
JUDGE = {"role": "quality-control", "executor": "judge", "kind": "review"}


def entry(t: float, event: str, *, call: float = 0.0, **facts: Any) -> dict[str, Any]:
    """Returns an entry at a second of a call, which began at a second of the run."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + call + t))
    return {"at": at, "event": event, "t": t, **facts}


def begin(call: float = 0.0, status: str = "pending", **facts: Any) -> dict[str, Any]:
    tasks = [{"id": ident, "number": ident[1], "name": f"Part {ident}", "status": status} for ident in ("010", "020")]
    return entry(0, "run_started", call=call, tasks=tasks, **facts)


def drawn(*entries: dict[str, Any], live: bool = False) -> dict[str, Any]:
    return document(entries, run="r", live=live, now=START + 100)


def spans(shown: dict[str, Any], *kinds: str) -> list[tuple[Any, ...]]:
    """Returns task, kind, begin, end (in seconds from the start) and outcome of each span."""
    result = [span for span in shown["spans"] if not kinds or span["kind"] in kinds]
    ends = [None if item["to"] is None else round(item["to"] - START, 3) for item in result]
    return [
        (turn["task"], turn["kind"], round(turn["from"] - START, 3), end, turn["outcome"])
        for turn, end in zip(result, ends, strict=True)
    ]


def test_the_spans_of_a_task():
    """Work, checks, the review with its verdict and the merge are spans, and every change of status is listed."""
    shown = drawn(
        begin(),
        entry(1, "task_started", task="010"),
        entry(2, "turn_started", task="010", **WORKER),
        entry(5, "turn_ended", task="010", **WORKER, outcome="done", status="needs_review"),
        entry(8, "check", task="010", command="make test", passed=True, seconds=2),
        entry(9, "turn_started", task="010", **JUDGE),
        entry(12, "turn_ended", task="010", **JUDGE, outcome="done"),
        entry(12.5, "reviewed", task="010", verdict="GREEN", by="quality-control"),
        entry(13, "merged", task="010", commit="a" * 40),
        entry(14, "task_ended", task="010", status="completed", seconds=13),
        entry(15, "run_ended", status="ended"),
    )
    assert spans(shown) == [
        ("010", "work", 2, 5, "done"),
        ("010", "check", 6, 8, "passed"),
        ("010", "review", 9, 12, "GREEN"),
        ("010", "merge", 12.5, 13, "merged"),
    ]
    assert [(change[1], change[2]) for change in shown["changes"] if change[1] == "010" and not change[3]] == [
        ("010", "pending"), ("010", "in_progress"), ("010", "needs_review"), ("010", "needs_review"),
        ("010", "completed"),
    ]  # fmt: skip
    assert [(mark["kind"], mark["task"]) for mark in shown["marks"]] == [("ended", None)]
    assert (shown["from"], shown["to"], shown["now"]) == (START, START + 15, None)
    assert shown["lanes"][1] == {"id": "020", "name": "Part 020", "plan_id": "2"}


def test_a_question_is_a_wait_until_its_answer():
    """The waiting time of a question is a span of its own, across two calls of the run."""
    asked = [
        begin(),
        entry(1, "task_started", task="010"),
        entry(3, "question", task="010", number=1, text="Which colour?"),
        entry(4, "task_ended", task="010", status="paused"),
        entry(5, "run_ended", status="waiting"),
    ]
    assert spans(drawn(*asked)) == [("010", "wait", 3, None, "")]
    answered = [*asked, begin(60, "in_progress", recovered=True), entry(1, "answered", call=60, task="010", number=1)]
    shown = drawn(*answered)
    assert spans(shown) == [("010", "wait", 3, 60, "answered")]
    assert shown["spans"][0]["role"] == "person"
    assert shown["gaps"] == [{"from": START + 5, "to": START + 60}]
    assert [mark["kind"] for mark in shown["marks"]] == ["question", "ended", "recovered", "answered"]


def test_open_spans_of_a_killed_call_are_cut():
    """A turn without an end in the journal ends with the last entry of its call; in a live run it is open."""
    begun = [begin(), entry(1, "turn_started", task="010", **WORKER), entry(4, "step", task="010", text="thinks")]
    assert spans(drawn(*begun)) == [("010", "work", 1, 4, "cut off")]
    assert spans(drawn(*begun, live=True)) == [("010", "work", 1, None, "")]
    assert drawn(*begun, live=True)["now"] == START + 100
    again = [*begun, begin(30), entry(1, "turn_started", call=30, task="010", **WORKER)]
    assert spans(drawn(*again, live=True)) == [("010", "work", 1, 4, "cut off"), ("010", "work", 31, None, "")]


def test_limits_and_queues_are_waits():
    """An executor's limit and a wait of the whole run are spans of the run; a queue is one of its task."""
    shown = drawn(
        begin(),
        entry(1, "limit", executor="hand", until=START + 30, reason="usage limit"),
        entry(2, "waiting", reason="a limit", until=START + 30),
        entry(30, "task_started", task="010"),
        entry(31, "step", task="010", text="waits for the merge queue"),
        entry(35, "conflict", task="010", paths=["a.txt"]),
        entry(36, "sent_back", task="010", reason="it could not be merged"),
    )
    assert spans(shown, "limit", "wait") == [
        (None, "limit", 1, 30, ""),
        (None, "wait", 2, 30, ""),
        ("010", "wait", 31, 35, ""),
    ]
    assert [mark["kind"] for mark in shown["marks"]] == ["limit", "conflict", "sent_back"]


def test_times_have_milliseconds():
    """A call's own clock places its entries; a system clock that is set back moves nothing."""
    late = {"at": "2020-01-01T00:00:00Z", "event": "turn_ended", "t": 3.25, "task": "010", **WORKER}
    shown = drawn(begin(), entry(1.5, "turn_started", task="010", **WORKER), late)
    ((_, _, first, last, _),) = spans(shown)
    assert last - first == pytest.approx(1.75, abs=0.01)


def test_a_large_run_has_only_changes_of_status(monkeypatch: pytest.MonkeyPatch):
    """With very many tasks, steps without a change of status are left out."""
    messages = [begin(), entry(1, "task_started", task="010"), entry(2, "step", task="010", text="thinks")]
    assert len(drawn(*messages)["changes"]) == 4
    monkeypatch.setattr(timeline, "MOST_STEPS", 1)
    assert len(drawn(*messages)["changes"]) == 3


EVENTS = (
    "run_started", "task_started", "task_ended", "turn_started", "turn_ended", "step", "check", "reviewed", "merged",
    "conflict", "sent_back", "question", "answered", "limit", "breaker", "budget", "waiting", "run_ended",
    "verification", "unknown",
)  # fmt: skip
odd = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=5), st.lists(st.none())
)
fields = {
    "task": st.one_of(st.sampled_from(["010", "020", "api_agent", "project", "", "../x"]), odd),
    "role": st.one_of(st.sampled_from(["implementer", "quality-control", "integrator"]), odd),
    "executor": st.one_of(st.sampled_from(["hand", "judge"]), odd),
    "kind": st.one_of(st.sampled_from(["spawn", "review", "resume"]), odd),
    "status": st.one_of(st.sampled_from(["completed", "paused", "asking", "waiting", "verified"]), odd),
    "text": st.one_of(st.sampled_from(["waits for the merge queue", "reads"]), odd),
    "seconds": odd,
    "until": odd,
    "tasks": st.one_of(st.just([{"id": "010"}, {"id": "020", "status": "paused"}]), odd),
    "passed": odd,
}
entries = st.lists(
    st.fixed_dictionaries(
        {
            "event": st.sampled_from(EVENTS),
            "t": st.one_of(st.floats(0, 100), odd),
            "at": st.just("2026-09-21T14:33:20Z"),
        },
        optional=fields,
    ),
    max_size=30,
)


@given(entries, st.data())
def test_parts_add_up_to_the_whole(told: list[dict[str, Any]], data: st.DataObject):
    """However a journal is read in pieces, the pieces add up to the timeline of the whole."""
    cut = data.draw(st.integers(0, len(told)))
    line, result, marks, gaps = RunHistory(), {}, [], []
    for part in (told[:cut], told[cut:]):
        for session in part:
            gain = line.add(JournalEntry(session))
            result |= {span["id"]: span for span in gain.spans}
            marks += gain.marks
            gaps += gain.gaps
    whole = document(told, run="r", live=True, now=0.0)
    assert whole["spans"] == list(result.values())
    assert (whole["marks"], whole["gaps"]) == (marks, gaps)
    assert all(span["to"] is None or span["from"] <= span["to"] for span in whole["spans"])
    times = [change[0] for change in whole["changes"]]
    assert times == sorted(times)
    open_turns = [(span["task"], span["role"], span["executor"]) for span in whole["spans"] if _is_open_turn(span)]
    assert len(open_turns) == len(set(open_turns))
    before = document(told[:cut], run="r", live=True)["spans"]
    ids = {span["id"] for span in whole["spans"]}
    assert {span["id"] for span in before} <= ids


def _is_open_turn(span: dict[str, Any]) -> bool:
    return span["to"] is None and span["kind"] != "wait"
