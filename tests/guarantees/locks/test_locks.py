"""R4: a lock ends with its process, a claim names its holder, and changing a task waits for no claim."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from conftest import FULL, Repo

from guarantees.fake_disks import Counting
from guarantees.fresh_process import ended, fork, in_fresh_process, kill, shard
from guarantees.store_acts import ADA, create, folder, home_at, set_field
from sow.errors import Waiting
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Lock
from sow.store.projects import tasks

ROUNDS = 500 // shard()[1] if FULL else 20
HELD: dict[str, Callable[[Home], AbstractContextManager[Any]]] = {
    "lock": lambda home: Lock(home.lock().path, patience=0),
    "claim": lambda home: home.claim("project", purpose="running a plan"),
}


def hold(what: AbstractContextManager[Any]) -> int:
    """Starts a process that holds the lock until it is killed."""
    reader, writer = os.pipe()

    def stay() -> None:
        with what:
            os.write(writer, b".")
            signal.pause()

    holder = fork(stay)
    assert os.read(reader, 1) == b"."
    os.close(reader)
    os.close(writer)
    return holder


def enter(what: AbstractContextManager[Any]) -> str:
    """Tries to enter at once; returns None or the error."""
    try:
        with what:
            return ""
    except Waiting as error:
        return error.message


def kill_holders(root: str, kind: str, rounds: str) -> list[list[str]]:
    """Kills a holder repeatedly; returns what the next process sees before and after the kill."""
    messages = []
    for _ in range(int(rounds)):
        holder = hold(HELD[kind](home_at(root)))
        alive = enter(HELD[kind](home_at(root)))
        kill(holder)
        messages.append([alive, enter(HELD[kind](home_at(root)))])
    return messages


@pytest.mark.parametrize("kind", HELD)
def test_a_killed_holder_frees_its_lock(repo: Repo, kind: str) -> None:
    """No process gets in while the holder lives, and the next one does at once after the kill."""
    messages = in_fresh_process(kill_holders, repo.root, kind, str(ROUNDS))
    assert len(messages) == ROUNDS
    assert all(alive and not dead for alive, dead in messages), messages


def kill_before_a_waiter(root: str) -> int:
    """Kills the holder while another process waits for the lock; returns the waiter's exit code."""
    create(home_at(root))
    holder = hold(home_at(root).lock())
    waiter = fork(lambda: set_field(home_at(root), "high"))
    time.sleep(0.2)
    assert os.waitpid(waiter, os.WNOHANG) == (0, 0)
    kill(holder)
    return ended(waiter)


def test_a_waiter_gets_the_lock_of_a_killed_holder(repo: Repo) -> None:
    """A writer that waits for the lock gets it when its holder is killed."""
    assert in_fresh_process(kill_before_a_waiter, repo.root) == 0
    assert folder(home_at(str(repo.root))).task()["priority"] == "high"


def test_a_second_claim_is_refused(repo: Repo) -> None:
    """During a claim a second one is refused with exit 4, and the error has pid, host and purpose."""
    home = home_at(str(repo.root))
    with home.claim("project", purpose="running a plan"):
        with pytest.raises(Waiting) as error, home.claim("project", purpose="running another"):
            pass
        with home.claim("task-010", purpose="another thing"):
            pass
    message = error.value.message
    assert f"pid {os.getpid()} on {os.uname().nodename} since " in message
    assert "(running a plan)" in message
    assert error.value.exit_code == 4


def test_a_worker_does_not_wait_for_a_claim(task_repo: Repo) -> None:
    """While the project is claimed, tasks and logs can be changed."""
    with home_at(str(task_repo.root)).claim("project", purpose="running a plan"):
        task_repo.ok("task", "set", "--id", "010", "priority", "high")
        task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
        task_repo.ok("log", "--task", "010", "went on")
        assert task_repo.sow("project", "delete", "--yes").code == 4
    assert task_repo.task("010")["status"] == "needs_review"


def test_waiting_for_a_lock_is_limited(tmp_path) -> None:
    """A lock that is held for too long is an error with its path and exit 4."""
    with Lock(str(tmp_path)), pytest.raises(Waiting, match=str(tmp_path)) as error, Lock(str(tmp_path), patience=0.2):
        pass
    assert error.value.exit_code == 4
    with Lock(str(tmp_path), patience=0):
        pass


def delete_local(root: str) -> None:
    shutil.rmtree(f"{root}/.sow/local", ignore_errors=True)


def delete_under_a_writer(root: str) -> list[int]:
    """Deletes .sow/local when a writer has read and not yet written, and lets another one write meanwhile."""
    create(home_at(root))
    before = folder(home_at(root)).load()["revision"]
    ready, go = os.pipe(), os.pipe()

    class Slow(Counting):
        def replace(self, source: str, target: str) -> None:
            os.write(ready[1], b".")
            os.read(go[0], 1)
            super().replace(source, target)

    slow = home_at(root, Slow())
    first = fork(lambda: tasks.set_field(slow, "010", "name", "Log in", actor=ADA))
    os.read(ready[0], 1)
    delete_local(root)
    second = fork(lambda: set_field(home_at(root), "high"))
    time.sleep(0.2)
    os.write(go[1], b"..")
    return [ended(first), ended(second), folder(home_at(root)).load()["revision"] - before]


@pytest.mark.full
def test_deletion_during_a_write(repo: Repo) -> None:
    """After .sow/local is deleted, as by git clean, during a write, no other writer gets in: both changes are there."""
    assert in_fresh_process(delete_under_a_writer, repo.root) == [0, 0, 2]
    task = folder(home_at(str(repo.root))).task()
    assert (task["name"], task["priority"]) == ("Log in", "high")


def delete_all_the_time(root: str) -> list[int]:
    """Deletes .sow/local repeatedly while four processes write; returns exit codes and writes."""
    create(home_at(root))
    before = folder(home_at(root)).load()["revision"]
    writers = [fork(lambda: [set_field(home_at(root), name) for name in ("low", "high") * 25]) for _ in range(4)]
    codes = []
    while writers:
        delete_local(root)
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            writers.remove(child)
            codes.append(status)
    return [*codes, folder(home_at(root)).load()["revision"] - before]


@pytest.mark.full
def test_repeated_deletion_during_writes(repo: Repo) -> None:
    """Writers neither fail nor lose a change while .sow/local is deleted repeatedly."""
    assert in_fresh_process(delete_all_the_time, repo.root) == [0, 0, 0, 0, 200]


def test_deletion_during_a_claim(task_repo: Repo) -> None:
    """A claim is still refused to others when .sow/local was deleted under its holder."""
    with home_at(str(task_repo.root)).claim("project", purpose="running a plan"):
        delete_local(str(task_repo.root))
        refused = task_repo.sow("cleanup", "--yes")
    assert refused.code == 4
    assert f"pid {os.getpid()}" in refused.err
