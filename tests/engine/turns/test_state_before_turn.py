"""A task stays as it was if its worker was only asked about its work."""

from __future__ import annotations

from typing import Any

import pytest
from support.simulated_workers import WorkerRepo

WORK = [{"write": {"path": "a.txt", "text": "a\n"}}]
LOOK = {"run": ["git", "status"]}


def kept(worker: WorkerRepo) -> dict[str, Any]:
    """Returns the task without the time of its last change and its log."""
    return {key: value for key, value in worker.repo.task("010").items() if key not in ("updated_at", "log", "next")}


@pytest.mark.parametrize("answer", [[{"say": "Since it is shorter."}], [LOOK], [LOOK, {"status": "needs_review"}]])
def test_a_question_about_handed_in_work_changes_nothing(worker: WorkerRepo, answer: list[dict[str, Any]]) -> None:
    """A worker that answers and reads files leaves the task in review: it can still be approved (A3)."""
    worker.scenario([*WORK, {"status": "needs_review"}], answer)
    worker.spawn()
    before = kept(worker)
    result = worker.resume("Why X?")
    assert result.code == 0, result
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "the worker changed nothing: the task is needs_review as before" in result.err
    assert kept(worker) == before
    assert len(worker.record()["turns"]) == 2
    worker.repo.ok("approve", "010")


def test_a_text_to_a_paused_worker_is_an_answer(worker: WorkerRepo) -> None:
    """An answer is stored although the worker changes nothing after it."""
    worker.scenario([*WORK, {"ask": "Which colour?"}], [{"say": "Fine."}])
    worker.spawn()
    worker.resume("Green")
    assert worker.repo.task("010")["questions"][0]["answer"] == "Green"


def test_a_failed_task_stays_failed(worker: WorkerRepo) -> None:
    """A question about a failed task leaves it failed."""
    worker.scenario([*WORK, {"status": "failed"}], [{"say": "The tests need a database."}])
    worker.spawn()
    before = kept(worker)
    worker.resume("Why?")
    assert kept(worker) == before


@pytest.mark.full
def test_changed_work_is_a_new_iteration(worker: WorkerRepo) -> None:
    """A worker that changes a file has worked on the feedback."""
    worker.scenario([*WORK, {"status": "needs_review"}], [{"write": {"path": "a.txt", "text": "b\n"}}])
    worker.spawn()
    assert worker.resume("Write b").out.splitlines()[-1] == "task 010: status is needs_review"
    task = worker.repo.task("010")
    assert (task["iteration"], task["feedback"][0]["text"]) == (2, "Write b")
