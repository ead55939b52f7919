"""R10: statuses follow the tables, which this file repeats from the design and not from the code."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from pathlib import Path

import pytest
from support.quick_cases import all_of
from support.samples import ACTORS, ADA, LATER, note, task

from sow.domain import task as tasks
from sow.domain.task import NOTE, PHASE, TASK
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT
from sow.errors import IllegalStatusChange
from sow.store.files.checkout_home import find
from sow.store.formats import yaml_text
from sow.store.projects import tasks as projects_tasks

TASK_STATUSES = ("pending", "in_progress", "needs_review", "completed", "paused", "failed", "abandoned")
TASK_MOVES = {
    ("pending", "in_progress"),
    ("pending", "abandoned"),
    ("in_progress", "needs_review"),
    ("in_progress", "paused"),
    ("in_progress", "failed"),
    ("in_progress", "abandoned"),
    ("needs_review", "completed"),
    ("needs_review", "in_progress"),
    ("needs_review", "abandoned"),
    ("paused", "in_progress"),
    ("paused", "completed"),
    ("paused", "abandoned"),
    ("failed", "in_progress"),
    ("failed", "completed"),
    ("failed", "abandoned"),
    ("completed", "in_progress"),
}
ONLY_A_RUN = {("completed", "in_progress")}  # after a final check of the merged tree, or a revert
WORKER_MOVES = {
    ("pending", "in_progress"),
    ("in_progress", "needs_review"),
    ("in_progress", "paused"),
    ("in_progress", "failed"),
}

PHASE_STATUSES = ("proposed", "pending", "active", "completed")
PHASE_MOVES = {
    ("proposed", "pending"),
    ("pending", "active"),
    ("pending", "completed"),
    ("active", "completed"),
    ("active", "pending"),
    ("completed", "active"),
    ("completed", "pending"),
}

NOTE_STATUSES = ("open", "escalated", "resolved")
NOTE_MOVES = {("open", "resolved"), ("open", "escalated"), ("escalated", "resolved")}
BEYOND_A_WORKER = ("technology", "architecture", "security", "requirements", "conflict")
WITHIN_A_WORKER = ("consistency", "bug", "detail", "documentation")

AGENT_STATUSES = (
    "pending",
    "working",
    "completion_drive_review",
    "ready_for_verification",
    "verified",
    "blocked",
    "session_complete",
    "failed",
)
AGENT_MOVES = {
    ("pending", "working"),
    ("working", "completion_drive_review"),
    ("working", "blocked"),
    ("working", "failed"),
    ("completion_drive_review", "ready_for_verification"),
    ("completion_drive_review", "blocked"),
    ("completion_drive_review", "working"),
    ("completion_drive_review", "failed"),
    ("ready_for_verification", "verified"),
    ("ready_for_verification", "working"),
    ("ready_for_verification", "failed"),
    ("verified", "session_complete"),
    ("verified", "working"),
    ("verified", "failed"),
    ("blocked", "working"),
    ("blocked", "failed"),
    ("failed", "working"),
}

LIFECYCLES = {
    "task": (TASK, TASK_STATUSES, TASK_MOVES),
    "phase": (PHASE, PHASE_STATUSES, PHASE_MOVES),
    "note": (NOTE, NOTE_STATUSES, NOTE_MOVES),
    "workflow agent": (WORKFLOW_AGENT, AGENT_STATUSES, AGENT_MOVES),
}
EVERY_PAIR = [
    pytest.param(noun, source, to, id=f"{noun}: {source} to {to}")
    for noun, (_, statuses, _) in LIFECYCLES.items()
    for source, to in product(statuses, statuses)
]


@all_of(("noun", "source", "to"), EVERY_PAIR)
def test_a_pair_is_legal_exactly_when_the_design_has_it(noun, source, to):
    """Every pair of statuses of every lifecycle is legal or raises, as the design says."""
    lifecycle, _, legal = LIFECYCLES[noun]
    if (source, to) in legal:
        assert lifecycle.move(noun, source, to)
        return
    with pytest.raises(IllegalStatusChange) as refused:
        lifecycle.move(noun, source, to)
    assert noun in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("noun", LIFECYCLES)
def test_a_lifecycle_has_no_other_statuses(noun):
    """No lifecycle has a status that the design lacks, and an unknown target is refused by name."""
    lifecycle, statuses, _ = LIFECYCLES[noun]
    assert sorted(lifecycle.statuses) == sorted(statuses)
    for source in statuses:
        with pytest.raises(IllegalStatusChange, match="unknown status 'done'"):
            lifecycle.move(noun, source, "done")


@all_of("actor", ACTORS)
@all_of(("source", "to"), list(product(TASK_STATUSES, [*TASK_STATUSES, "done"])))
def test_a_task_moves_only_as_its_table_and_its_actor_allow(source, to, actor):
    """A person and the orchestrator may make every move, a worker four on its own task, and others none."""
    before = task(status=source, session_id="s-1", iteration=3)
    kept = deepcopy(before)
    allowed = {"worker": WORKER_MOVES, "other worker": set()}.get(actor, TASK_MOVES - ONLY_A_RUN)
    if (source, to) in allowed:
        changed, _ = tasks.move(before, to, actor=ACTORS[actor], now=LATER, reason="because")
        assert changed["status"] == to
    else:
        with pytest.raises(IllegalStatusChange):
            tasks.move(before, to, actor=ACTORS[actor], now=LATER, reason="because")
    assert before == kept


@pytest.mark.parametrize("actor", ACTORS)
def test_only_a_run_reopens_a_completed_task(actor):
    """No person, orchestrator or worker may do with a command what a run does after a final check."""
    done = task(status="completed", iteration=3, completed_at=LATER, result="GREEN")
    if "worker" in actor:
        with pytest.raises(IllegalStatusChange):
            tasks.move(done, "in_progress", actor=ACTORS[actor], now=LATER, may_reopen=True)
        return
    changed, event = tasks.move(done, "in_progress", actor=ACTORS[actor], now=LATER, may_reopen=True)
    assert (event, changed["status"], changed["iteration"]) == ("reopen", "in_progress", 4)
    assert not {"completed_at", "result", "approval"} & changed.keys()
    with pytest.raises(IllegalStatusChange, match="is completed"):
        tasks.move(done, "in_progress", actor=ACTORS[actor], now=LATER)


@all_of("actor", ACTORS)
@all_of("category", ["", *BEYOND_A_WORKER, *WITHIN_A_WORKER])
@all_of("source", NOTE_STATUSES)
def test_who_may_resolve_a_note(source, category, actor):
    """A worker resolves neither an escalated note nor one about a matter of others."""
    before = note(source, **({"category": category} if category else {}))
    kept = deepcopy(before)
    worker = "worker" in actor
    allowed = source == "open" and category not in BEYOND_A_WORKER if worker else source != "resolved"
    if allowed:
        changed = tasks.resolve_note(before, "yes", actor=ACTORS[actor], epoch=1727541600)
        assert changed["status"] == "resolved"
    else:
        with pytest.raises(IllegalStatusChange):
            tasks.resolve_note(before, "yes", actor=ACTORS[actor], epoch=1727541600)
    assert before == kept


@pytest.mark.parametrize("source", NOTE_STATUSES)
def test_only_an_open_note_can_be_escalated(source):
    """A note is escalated once, and a resolved one never again."""
    before = note(source)
    kept = deepcopy(before)
    if source == "open":
        assert tasks.escalate_note(before, "a requirement")["status"] == "escalated"
    else:
        with pytest.raises(IllegalStatusChange):
            tasks.escalate_note(before, "a requirement")
    assert before == kept


def test_a_note_of_an_ended_task_cannot_be_escalated(task_repo):
    """An open note of an abandoned task cannot become a question."""
    task_repo.ok("note", "add", "--task", "010", "--description", "d", "--context", "c")
    task_repo.ok("task", "abandon", "010", "--reason", "enough")
    before = task_repo.snapshot()
    assert task_repo.sow("note", "escalate", "1", "--task", "010", "--reason", "r").code == 2
    assert task_repo.snapshot() == before


@pytest.mark.parametrize("to", [*TASK_STATUSES, "done"])
def test_an_illegal_move_changes_no_file(task_repo, to):
    """From every status the store makes the legal moves of a task, and an illegal one changes no byte."""
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    path = Path(task_repo.task_folder("010") / "state.yaml")
    for source in TASK_STATUSES:
        path.write_text(yaml_text.dump({"schema_version": "1.2.0", "revision": 7, "task": task(status=source)}))
        before = task_repo.snapshot()
        if (source, to) in TASK_MOVES - ONLY_A_RUN:
            assert projects_tasks.set_status(home, "010", to, actor=ADA, reason="because").task["status"] == to
            continue
        with pytest.raises(IllegalStatusChange):
            projects_tasks.set_status(home, "010", to, actor=ADA, reason="because")
        assert task_repo.snapshot() == before
