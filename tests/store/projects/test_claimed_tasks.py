"""No other process decides about a task while an agent works on it."""

from __future__ import annotations

import os

import pytest
from conftest import Repo
from support.claim_holder import hold_claim

from sow.domain.task import PERSON, Actor
from sow.store.files.checkout_home import find
from sow.store.projects import tasks

ADA = Actor(kind=PERSON, name="ada")
ENDS = [("completed", ""), ("abandoned", "enough")]


@pytest.mark.parametrize(("status", "reason"), ENDS)
def test_a_task_of_another_process_is_not_decided(task_repo: Repo, status: str, reason: str):
    """Approving and abandoning are refused while a process holds the task, with its name; nothing is changed."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    before = task_repo.snapshot()
    arguments = ("--reason", reason) if reason else ()
    with hold_claim(task_repo, "task-010") as pid:
        result = task_repo.sow("task", "set", "--id", "010", "status", status, *arguments)
        assert (result.code, task_repo.snapshot()) == (4, before)
        assert result.err.startswith(f"error: task 010 is claimed by pid {pid} on {os.uname().nodename} since ")
    task_repo.ok("task", "set", "--id", "010", "status", status, *arguments)


@pytest.mark.parametrize(("status", "reason"), ENDS)
def test_the_holder_may_end_the_task(task_repo: Repo, status: str, reason: str):
    """The process that holds the task may end it."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    with home.claim("task-010", purpose="a test"):
        tasks.set_status(home, "010", status, actor=ADA, reason=reason)
    assert task_repo.task("010")["status"] == status


def test_a_worker_moves_its_own_task_while_it_is_claimed(task_repo: Repo):
    """A claim does not stop the moves of its own turn."""
    with hold_claim(task_repo, "task-010"):
        task_repo.ok("task", "set", "status", "needs_review", SOW_TASK="010", SOW_AGENT="implementer")
