"""R3: no update is lost, however many processes write and whichever are killed."""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Repo

from guarantees.fresh_process import ended, fork, in_fresh_process, kill
from guarantees.store_acts import create, folder, home_at, make_older, set_field, write_log
from sow.errors import Waiting
from sow.store import migration
from sow.store.projects import log

PROCESSES, CHANGES = (32, 1_000) if FULL else (16, 50)
KILLED = 200 if FULL else 20


def change(root: str, name: str, count: int, said: int) -> None:
    """Changes the task and writes to its log a number of times, and reports each."""
    home = home_at(root)
    for number in range(count):
        set_field(home, ("low", "high")[number % 2])
        os.write(said, b"change\n")
        write_log(home, folder(home).log_path, f"{name}/{number}")
        os.write(said, f"{name}/{number}\n".encode())


def race(root: str, processes: str, changes: str, killed: str) -> dict[str, Any]:
    """Lets all write at once, kills some, and returns what was acknowledged and what is there."""
    home, chance = home_at(root), random.Random(killed)
    create(home)
    before = folder(home).load()["revision"]
    output = os.open(f"{root}.said", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    writers = [
        fork(lambda name=f"writer-{number}": change(root, name, int(changes), output))
        for number in range(int(processes))
    ]
    for number in range(int(killed)):
        victim = fork(lambda name=f"victim-{number}": change(root, name, 1_000_000, output))
        time.sleep(chance.uniform(0, 0.05))
        kill(victim)
    codes = [ended(writer) for writer in writers]
    acknowledged = Path(f"{root}.said").read_text().split()
    return {
        "failed": [code for code in codes if code],
        "acknowledged changes": acknowledged.count("change"),
        "changes": folder(home).load()["revision"] - before,
        "acknowledged entries": [item for item in acknowledged if item != "change"],
        "entries": [entry["text"] for entry in log.read(home, folder(home).log_path)],
    }


@pytest.mark.full
def test_parallel_writers_lose_nothing(repo: Repo) -> None:
    """Many processes that change one task and its log make exactly as many changes and entries."""
    seen = in_fresh_process(race, repo.root, str(PROCESSES), str(CHANGES), "0")
    numbers = {f"writer-{process}/{number}" for process in range(PROCESSES) for number in range(CHANGES)}
    assert seen["failed"] == []
    assert seen["changes"] == PROCESSES * CHANGES
    assert sorted(seen["entries"]) == sorted(numbers)


def test_killed_writers_lose_nothing(repo: Repo) -> None:
    """While writers are killed, no acknowledged change is lost, and each killed one adds at most one more."""
    seen = in_fresh_process(race, repo.root, str(PROCESSES // 2), str(CHANGES), str(KILLED))
    acknowledged, there = seen["acknowledged entries"], seen["entries"]
    assert seen["failed"] == []
    assert 0 <= seen["changes"] - seen["acknowledged changes"] <= KILLED
    assert len(there) == len(set(there))
    assert set(acknowledged) <= set(there)
    assert len(there) - len(acknowledged) <= KILLED
    assert all(text.startswith(("writer-", "victim-")) for text in there)


@pytest.mark.full
def test_parallel_commands_lose_nothing(task_repo: Repo) -> None:
    """Real commands that run in parallel lose no change, no entry and no task."""
    count, home = 5, home_at(str(task_repo.root))
    before = folder(home).load()["revision"]

    def work(number: int) -> None:
        for turn in range(3):
            task_repo.ok("task", "set", "--id", "010", "priority", ("low", "high")[turn % 2])
            task_repo.ok("log", "--task", "010", f"{number}/{turn}")
        task_repo.ok("task", "create", "--name", f"task of {number}")

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))
    entries = [entry["text"] for entry in task_repo.ok("log", "--task", "010", "--list", "--json").json["entries"]]
    names = [task["name"] for task in task_repo.ok("task", "list", "--json").json["tasks"]]
    assert folder(home).load()["revision"] == before + 3 * count
    assert sorted(entries) == sorted(f"{number}/{turn}" for number in range(count) for turn in range(3))
    assert sorted(names) == sorted(["Add login", *(f"task of {number}" for number in range(count))])


def test_a_second_migration_is_refused(repo: Repo) -> None:
    """A migration that was prepared before another process migrated is refused, and undoes nothing."""
    home = home_at(str(repo.root))
    create(home)
    make_older(home)
    prepared = migration.plan(home)
    migration.apply(home, migration.plan(home))
    set_field(home, "high")
    with pytest.raises(Waiting):
        migration.apply(home, prepared)
    assert folder(home).task()["priority"] == "high"
