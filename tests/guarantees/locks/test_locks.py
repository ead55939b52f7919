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
from sow.store.files.locks import Lock
from sow.store.projects import tasks

ROUNDS = 500 // shard()[1] if FULL else 20
HELD: dict[str, Callable[[Home], AbstractContextManager[Any]]] = {
    "lock": lambda home: Lock(home.lock().path, patience=0),
    "claim": lambda home: home.claim("project", purpose="running a plan"),
}


def hold(what: AbstractContextManager[Any]) -> int:
    """A process that has the lock, from now on until it is killed."""
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
    """Whether one gets in at once: nothing, or what one is told."""
    try:
        with what:
            return ""
    except Waiting as error:
        return error.message


def kill_holders(root: str, kind: str, rounds: str) -> list[list[str]]:
    """Kill a holder again and again: what the next one is told while the holder lives, and when it is dead."""
    messages = []
    for _ in range(int(rounds)):
        holder = hold(HELD[kind](home_at(root)))
        alive = enter(HELD[kind](home_at(root)))
        kill(holder)
        messages.append([alive, enter(HELD[kind](home_at(root)))])
    return messages


@pytest.mark.parametrize("kind", HELD)
def test_killed_holder(repo: Repo, kind: str) -> None:
    """Nobody else gets in while the holder lives, and the next one does at once when it was killed."""
    messages = in_fresh_process(kill_holders, repo.root, kind, str(ROUNDS))
    assert len(messages) == ROUNDS
    assert all(alive and not dead for alive, dead in messages), messages


def kill_before_a_waiter(root: str) -> int:
    """Kill the holder while another process waits for the lock; how that one ends."""
    create(home_at(root))
    holder = hold(home_at(root).lock())
    waiter = fork(lambda: set_field(home_at(root), "high"))
    time.sleep(0.2)
    assert os.waitpid(waiter, os.WNOHANG) == (0, 0)
    kill(holder)
    return ended(waiter)


def test_waiter_of_a_killed_holder(repo: Repo) -> None:
    """A writer that waits for the lock gets it when its holder is killed."""
    assert in_fresh_process(kill_before_a_waiter, repo.root) == 0
    assert folder(home_at(str(repo.root))).task()["priority"] == "high"


def test_second_claim(repo: Repo) -> None:
    """A second claim is refused with exit 4 while the first lives, and is told its pid, host and purpose."""
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


def test_worker_does_not_wait_for_a_claim(task_repo: Repo) -> None:
    """While the project is claimed, tasks are changed and logs are written as ever."""
    with home_at(str(task_repo.root)).claim("project", purpose="running a plan"):
        task_repo.ok("task", "set", "--id", "010", "priority", "high")
        task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
        task_repo.ok("log", "--task", "010", "went on")
        assert task_repo.sow("project", "delete", "--yes").code == 4
    assert task_repo.task("010")["status"] == "needs_review"


def test_patience(tmp_path) -> None:
    """A lock that is held for longer than one's patience is an error that says where, and exits with 4."""
    with Lock(str(tmp_path)), pytest.raises(Waiting, match=str(tmp_path)) as error, Lock(str(tmp_path), patience=0.2):
        pass
    assert error.value.exit_code == 4
    with Lock(str(tmp_path), patience=0):
        pass


def delete_local(root: str) -> None:
    shutil.rmtree(f"{root}/.sow/local", ignore_errors=True)


def delete_under_a_writer(root: str) -> list[int]:
    """Delete .sow/local when a writer has read and not yet written, and let another one write meanwhile."""
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
def test_deletion_under_a_writer(repo: Repo) -> None:
    """Deleting .sow/local, as git clean does, under a writer lets no other one in: both changes are there."""
    assert in_fresh_process(delete_under_a_writer, repo.root) == [0, 0, 2]
    task = folder(home_at(str(repo.root))).task()
    assert (task["name"], task["priority"]) == ("Log in", "high")


def delete_all_the_time(root: str) -> list[int]:
    """Delete .sow/local again and again while four processes write; their exit codes and how often they wrote."""
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
def test_deletion_all_the_time(repo: Repo) -> None:
    """Writers neither fail nor lose a change while .sow/local is deleted again and again."""
    assert in_fresh_process(delete_all_the_time, repo.root) == [0, 0, 0, 0, 200]


def test_deletion_under_a_claim(task_repo: Repo) -> None:
    """A claim is still refused to others when .sow/local was deleted under its holder."""
    with home_at(str(task_repo.root)).claim("project", purpose="running a plan"):
        delete_local(str(task_repo.root))
        refused = task_repo.sow("cleanup", "--yes")
    assert refused.code == 4
    assert f"pid {os.getpid()}" in refused.err
