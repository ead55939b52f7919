"""A worker that is only asked about its work: the task stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
from support.simulated_workers import Yard

WORK = [{"write": {"path": "a.txt", "text": "a\n"}}]
LOOK = {"run": ["git", "status"]}


def kept(yard: Yard) -> dict[str, Any]:
    """The task without the time of its last change and its log."""
    return {key: value for key, value in yard.repo.task("010").items() if key not in ("updated_at", "log", "next")}


@pytest.mark.parametrize("answer", [[{"say": "Since it is shorter."}], [LOOK], [LOOK, {"status": "needs_review"}]])
def test_a_question_about_handed_in_work_changes_nothing(yard: Yard, answer: list[dict[str, Any]]) -> None:
    """A worker that answers, and may look at files, leaves the task in review: it can still be approved (A3)."""
    yard.scenario([*WORK, {"status": "needs_review"}], answer)
    yard.spawn()
    before = kept(yard)
    result = yard.resume("Why X?")
    assert result.code == 0, result
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "the worker changed nothing: the task is needs_review as before" in result.err
    assert kept(yard) == before
    assert len(yard.record()["turns"]) == 2
    yard.repo.ok("approve", "010")


def test_a_text_to_a_paused_worker_is_an_answer(yard: Yard) -> None:
    """An answer is kept although the worker changes nothing after it."""
    yard.scenario([*WORK, {"ask": "Which colour?"}], [{"say": "Fine."}])
    yard.spawn()
    yard.resume("Green")
    assert yard.repo.task("010")["questions"][0]["answer"] == "Green"


def test_a_failed_task_stays_failed(yard: Yard) -> None:
    """A failed task can be asked about as well."""
    yard.scenario([*WORK, {"status": "failed"}], [{"say": "The tests need a database."}])
    yard.spawn()
    before = kept(yard)
    yard.resume("Why?")
    assert kept(yard) == before


@pytest.mark.full
def test_changed_work_is_a_new_iteration(yard: Yard) -> None:
    """A worker that changes a file has worked on the feedback, as before."""
    yard.scenario([*WORK, {"status": "needs_review"}], [{"write": {"path": "a.txt", "text": "b\n"}}])
    yard.spawn()
    assert yard.resume("Write b").out.splitlines()[-1] == "task 010: status is needs_review"
    task = yard.repo.task("010")
    assert (task["iteration"], task["feedback"][0]["text"]) == (2, "Write b")
