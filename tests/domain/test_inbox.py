"""The inbox: all open items for a person, the most blocking first."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.samples import BEFORE, LATER, NOW, phase, task

from sow.cli.command import find, parse
from sow.domain.inbox import blocked_task_counts, items

QUESTION = {"number": 4, "text": "unique?", "asked_at": LATER}
PHASES = [phase("design", "completed"), phase("implementation", "active")]


def only(tasks=(), phases=(), broken=None):
    (item,) = items(list(tasks), [*PHASES, *phases], broken or {})
    return item


ITEMS = {
    "a paused task with its question": (
        {"tasks": [task(status="paused", question=QUESTION)]},
        {"kind": "question", "task": "010", "number": 4, "text": "unique?", "since": LATER, "do": 'sow answer 4 "…"'},
    ),
    "a paused task that says nothing": (
        {"tasks": [task(status="paused")]},
        {
            "kind": "question",
            "task": "010",
            "number": None,
            "text": "paused: Task 010",
            "since": NOW,
            "do": 'sow answer 010 "…"',
        },
    ),
    "an escalated note of a task that goes on": (
        {"tasks": [task(status="in_progress", question=QUESTION)]},
        {"kind": "question", "task": "010", "number": 4, "text": "unique?", "since": LATER, "do": 'sow answer 4 "…"'},
    ),
    "work to review": (
        {"tasks": [task(status="needs_review", iteration=3)]},
        {
            "kind": "review",
            "task": "010",
            "number": None,
            "text": "Task 010 (iteration 3) waits for your approval",
            "since": NOW,
            "do": "sow approve 010",
        },
    ),
    "a failed task": (
        {"tasks": [task(status="failed")]},
        {
            "kind": "failed",
            "task": "010",
            "number": None,
            "text": "Task 010",
            "since": NOW,
            "do": "sow task set 010 status in_progress",
        },
    ),
    "a proposed phase": (
        {"phases": [phase("discovery", "proposed", question=2)]},
        {
            "kind": "phase",
            "task": None,
            "phase": "discovery",
            "number": 2,
            "text": "add phase discovery? a race",
            "since": BEFORE,
            "do": "sow phase approve discovery",
        },
    ),
    "a broken task": (
        {"broken": {"030": "state.yaml:3: not UTF-8"}},
        {
            "kind": "broken",
            "task": "030",
            "number": None,
            "text": "state.yaml:3: not UTF-8",
            "since": "",
            "do": "sow doctor",
        },
    ),
}


@pytest.mark.parametrize("kind", ITEMS)
def test_each_open_matter_is_one_item(kind):
    """Every kind of item has a text, a time, and a command."""
    given_state, expected = ITEMS[kind]
    assert only(**given_state) == {
        "phase": None,
        "agent": None,
        **expected,
        "blocks": 0,
        "remark": "",
        "accept": "",
        "waive": [],
    }


@pytest.mark.parametrize("kind", ITEMS)
def test_the_command_of_every_item_parses(kind):
    """The command of every item parses with the real parser."""
    parts = shlex.split(only(**ITEMS[kind][0])["do"])
    assert parts[0] == "sow"
    command, rest = find(parts[1:])
    parse(command, rest)


CHECK = {"kind": "test", "command": "pytest -q"}
RED = {"kind": "test", "command": "pytest -q", "iteration": 2, "passed": False}


@pytest.mark.parametrize(
    ("fields", "accept"),
    [
        ({"status": "paused", "result": "RED", "iteration": 3}, 'sow approve 010 --reason "…"'),
        (
            {"status": "paused", "result": "RED", "iteration": 3, "checks": [CHECK], "evidence": [RED]},
            "sow approve 010 --waive 'pytest -q' --reason \"…\"",
        ),
        (
            {"status": "failed", "iteration": 2, "checks": [CHECK], "evidence": [RED]},
            "sow approve 010 --waive 'pytest -q' --reason \"…\"",
        ),
        ({"status": "failed", "iteration": 2}, ""),
        ({"status": "failed", "iteration": 2, "session_id": "s1"}, 'sow approve 010 --reason "…"'),
        ({"status": "failed", "session_id": "s1", "source": {"plan": "plan.yaml", "id": "1"}}, ""),
        ({"status": "paused", "question": QUESTION}, ""),
    ],
)
def test_refused_work_can_be_accepted(fields, accept):
    """RED or failed work is offered for acceptance, with the checks that this waives; a plain question is not (C12)."""
    item = only([task(**fields)])
    assert item["accept"] == accept
    assert item["waive"] == (["pytest -q"] if "--waive" in accept else [])
    if accept:
        command, rest = find(shlex.split(accept)[1:])
        parse(command, rest)


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", "abandoned"])
def test_other_statuses_have_no_item(status):
    """Tasks in progress, pending or ended have no item."""
    assert items([task(status=status)], PHASES, {}) == []


def test_the_most_blocking_item_comes_first():
    """Items are sorted by how many open tasks wait for them, directly or not, and then by age."""
    tasks = [
        task("010", "needs_review", updated_at=LATER),
        task("020", "failed", updated_at=BEFORE),
        task("030", "paused", updated_at=NOW),
        task("040", depends_on=["030"]),
        task("050", depends_on=["040", "020"]),
        task("060", "needs_review", updated_at=NOW),
    ]
    result = items(tasks, [*PHASES, phase("discovery", "proposed", created_at=LATER)], {"070": "broken"})
    assert [(item["task"], item["blocks"]) for item in result] == [
        ("030", 2),
        ("020", 1),
        ("070", 0),
        ("060", 0),
        (None, 0),
        ("010", 0),
    ]


def test_a_broken_task_is_ranked_by_its_dependents():
    """A task whose file cannot be read ranks by what waits for it, like any other."""
    result = items([task("010", "failed"), task("020", depends_on=["030"])], PHASES, {"030": "broken"})
    assert [(item["task"], item["blocks"]) for item in result] == [("030", 1), ("010", 0)]


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_ended_dependents_do_not_count(status):
    """Only open dependents count."""
    assert blocked_task_counts([task("010", "paused"), task("020", status, depends_on=["010"])])["010"] == 0


def test_a_dependent_is_counted_once():
    """Two ways to one dependent count once; a circle from an edit by hand ends the count."""
    diamond = [
        task("010"),
        task("020", depends_on=["010"]),
        task("030", depends_on=["010"]),
        task("040", depends_on=["020", "030"]),
    ]
    assert blocked_task_counts(diamond) == {"010": 3, "020": 1, "030": 1, "040": 0}
    circle = [task("010", depends_on=["020"]), task("020", depends_on=["010"])]
    assert blocked_task_counts(circle) == {"010": 1, "020": 1}


def test_an_unknown_dependency_is_no_item():
    """An unknown id among the dependencies does not count."""
    assert blocked_task_counts([task("010", depends_on=["999"])]) == {"010": 0}


STATUSES = st.sampled_from(["pending", "in_progress", "needs_review", "completed", "paused", "failed", "abandoned"])


@given(st.lists(st.tuples(STATUSES, st.sets(st.integers(1, 8))), max_size=8))
def test_the_count_is_the_transitive_closure(rows):
    """For any graph, a task blocks exactly the open tasks that depend on it through open tasks."""
    ids = [f"{number:03d}" for number in range(1, len(rows) + 1)]
    tasks = [
        task(ident, status, depends_on=sorted(f"{item:03d}" for item in wanted))
        for ident, (status, wanted) in zip(ids, rows, strict=True)
    ]
    waits = {task["id"]: set(task["depends_on"]) for task in tasks if task["status"] not in ("completed", "abandoned")}
    reached = {ident: {ident} for ident in ids}
    for _ in ids:
        for ident, result in reached.items():
            reached[ident] = result | {name for name, wanted in waits.items() if wanted & result}
    assert blocked_task_counts(tasks) == {ident: len(found - {ident}) for ident, found in reached.items()}
