"""Commands that a worker gave on another host: applied here once, under its name and with its times."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from conftest import Repo
from support.worktree_repo import home_at

from sow.cli.main import run_forwarded
from sow.cluster.worker_commands import WorkerCommand, apply_commands, read_commands
from sow.domain.task import WORKER, Actor
from sow.store.projects import log, notes, task_folder
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder

AT, LATER = "2026-01-31T09:00:00Z", "2026-01-31T09:00:05Z"


def folder_of(task_repo: Repo, task: str = "010") -> TaskFolder:
    home = home_at(task_repo.root)
    return task_folder.find(home, projects.load_anywhere(home), task)


def applied(task_repo: Repo, *commands: list[str], start: int = 0, at: str = AT) -> tuple[list[str], list[int]]:
    """Applies commands as the worker of task 010; returns the remarks and the numbers that were recorded."""
    folder, numbers = folder_of(task_repo), []
    environment = {
        **task_repo.environment,
        "SOW_ROOT": str(task_repo.root),
        "SOW_TASK": "010",
        "SOW_AGENT": "implementer",
    }
    steps = apply_commands(
        folder,
        [WorkerCommand(at, words) for words in commands],
        run_forwarded,
        environment,
        Actor(kind=WORKER, name="implementer", task="010"),
        start=start,
        applied=numbers.append,
    )
    while True:
        try:
            next(steps)
            time.sleep(0.005)
        except StopIteration as end:
            return end.value, numbers


def test_commands_count_as_those_of_the_worker(task_repo: Repo) -> None:
    """Log entries, notes and the status arrive with the worker's times, and nothing is printed."""
    remarks, numbers = applied(
        task_repo,
        ["agent", "log", "--", "Tried it"],
        ["note", "add", "--description=It is fast", "--context=src/a.py:1"],
        ["note", "resolve", "--resolution=measured", "--", "1"],
        ["task", "set", "--", "status", "needs_review"],
    )
    folder = folder_of(task_repo)
    assert remarks == []
    assert numbers == [1, 2, 3, 4]
    entries = log.read(folder.home, folder.log_path)
    assert [entry["timestamp"] for entry in entries if entry["text"] == "Tried it"] == [AT]
    assert [note["status"] for note in notes.load_notes(folder)] == ["resolved"]
    assert folder.task()["status"] == "needs_review"


def test_commands_that_a_worker_may_not_give_are_refused(task_repo: Repo) -> None:
    """A worker of another host may do no more than one of this host: each refusal is a remark, and the rest counts."""
    remarks, _ = applied(
        task_repo,
        ["task", "set", "--", "status", "completed"],
        ["config", "set", "run.retries", "9"],
        ["nonsense"],
        ["--root", "/", "log", "text"],
        ["agent", "log", "--", "Still here"],
    )
    assert len(remarks) == 4
    assert all("not taken over" in remark for remark in remarks)
    assert folder_of(task_repo).task()["status"] == "in_progress"
    folder = folder_of(task_repo)
    assert "Still here" in [entry["text"] for entry in log.read(folder.home, folder.log_path)]


def test_applied_commands_are_not_repeated(task_repo: Repo) -> None:
    """After a crash the commands go on where they were, and one that was applied without a record is found."""
    commands = [
        ["agent", "log", "--", "one"],
        ["agent", "log", "--", "two"],
        ["note", "add", "--description=A note", "--context=src/a.py:1"],
    ]
    applied(task_repo, *commands)
    assert applied(task_repo, *commands, start=3) == ([], [])
    applied(task_repo, *commands[:2], start=1)
    applied(task_repo, *commands, start=2)
    folder = folder_of(task_repo)
    texts = [entry["text"] for entry in log.read(folder.home, folder.log_path)]
    assert (texts.count("one"), texts.count("two"), len(notes.load_notes(folder))) == (1, 1, 1)


def test_no_process_is_left(task_repo: Repo) -> None:
    """A turn that is given up in the middle leaves no process behind."""
    folder = folder_of(task_repo)
    environment = {**task_repo.environment, "SOW_ROOT": str(task_repo.root)}
    actor = Actor(kind=WORKER, name="implementer", task="010")
    before = children()
    steps: Any = apply_commands(
        folder,
        [WorkerCommand(AT, ["agent", "log", "--", str(number)]) for number in range(50)],
        run_forwarded,
        environment,
        actor,
        start=0,
        applied=lambda number: None,
    )
    next(steps, None)  # on a busy machine all may be done already
    steps.close()
    assert children() == before


def children() -> set[str]:
    tasks = f"/proc/{os.getpid()}/task"
    return {child for task in os.listdir(tasks) for child in Path(tasks, task, "children").read_text().split()}


def test_recorded_commands_are_checked() -> None:
    """What has not the form of a command is left out, and times are kept within the turn."""
    recorded = [
        {"at": "2025-01-01T00:00:00Z", "words": ["log", "early"]},
        {"at": "2027-01-01T00:00:00Z", "words": ["log", "late"]},
        {"at": "soon", "words": ["log", "odd"]},
        {"words": ["log", "none"]},
        {"at": AT, "words": []},
        {"at": AT, "words": "log"},
        {"at": AT, "words": ["log", 3]},
        {"at": AT, "words": ["log", "a\0b"]},
        {"at": AT, "words": ["x"] * 1001},
        "log",
        None,
    ]
    commands = read_commands(recorded, AT, LATER)
    assert [(command.at, command.words[1]) for command in commands] == [
        (AT, "early"),
        (LATER, "late"),
        (LATER, "odd"),
        (LATER, "none"),
    ]
