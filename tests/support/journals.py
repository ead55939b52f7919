"""Artificial runs: a run folder with its state, and a journal with chosen times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conftest import Repo

from sow.store.files.checkout_home import Home, find
from sow.store.projects.project import load
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder

START = 1_790_000_000  # seconds since 1970


def home_of(repo: Repo) -> Home:
    return find(option=str(repo.root), environment={}, cwd="/")


def stamp(t: float) -> str:
    """Returns the time at a second of the run."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + t))


class MadeUpRun:
    """One run, written entry by entry."""

    def __init__(self, repo: Repo, tasks: list[str], **options: Any) -> None:
        self.home = home_of(repo)
        self.tasks = tasks
        self.kept: list[tuple[float, str, dict[str, Any]]] | None = None
        self.folder: RunFolder = run_folder.create(
            self.home,
            {
                "id": "20260921-143320-ab12",
                "project_id": load(self.home)["project_id"],
                "name": "Add a login",
                "branch": "feat/auth",
                "base": "a" * 40,
                "status": "running",
                "started_at": stamp(0),
                "plans": [{"path": "plan.md", "digest": "b" * 64}],
                "tasks": tasks,
                "settings": {
                    "max_concurrency": 3,
                    "schedule": "ready",
                    "isolation": "worktree",
                    "review": "on",
                    "retries": 2,
                },
                **options,
            },  # type: ignore[typeddict-item]
        )

    def add(self, t: float, event: str, **facts: Any) -> dict[str, Any]:
        """Adds one entry at a second after the start."""
        entry = {"at": stamp(t), "t": t, **facts}
        if self.kept is not None:
            self.kept.append((t, event, entry))
            return entry
        return self.folder.append_event(event, **entry)

    @contextmanager
    def in_time_order(self) -> Iterator[None]:
        """Writes the entries of the block in the order of their time."""
        self.kept = []
        yield
        kept, self.kept = self.kept, None
        for _, event, entry in sorted(kept, key=lambda each: each[0]):
            self.folder.append_event(event, **entry)

    def begin(self, t: float = 0, *, needs: dict[str, list[str]] | None = None, **facts: Any) -> None:
        tasks = [
            {
                "id": ident,
                "number": str(number),
                "name": f"Task {number}",
                "agent": "implementer",
                "needs": (needs or {}).get(ident, []),
                "estimated_minutes": 1,
            }
            for number, ident in enumerate(self.tasks, 1)
        ]
        self.add(t, "run_started", run=self.folder.id, name="Add a login", plans=["plan.md"], tasks=tasks, **facts)

    def turn(self, begin: float, end: float, task: str, **facts: Any) -> None:
        """Adds a whole turn."""
        turn = {
            "task": task,
            "iteration": 1,
            "role": "implementer",
            "executor": "claude-code",
            "kind": "spawn",
            "cost_usd": 0.25,
            "input_tokens": 1000,
            "output_tokens": 100,
            **facts,
        }
        measured = ("cost_usd", "input_tokens", "output_tokens")
        self.add(begin, "turn_started", model="", **{key: turn[key] for key in turn if key not in measured})
        self.add(end, "turn_ended", outcome="done", status="needs_review", seconds=end - begin, tools=1, **turn)

    def work(self, begin: float, end: float, task: str, status: str = "completed", **facts: Any) -> None:
        """Adds a task from its start to its end, in one turn."""
        self.add(begin, "task_started", task=task, iteration=1, slot=0)
        self.turn(begin, end, task, **facts)
        result = {"completed": "GREEN", "failed": "FAILED"}.get(status, "")
        self.add(end, "task_ended", task=task, status=status, result=result, seconds=end - begin, retry_count=0)

    def end(self, t: float, status: str = "ended", code: int = 0) -> None:
        self.add(t, "run_ended", status=status, exit=code, seconds=t, completed=0, failed=0, blocked=0, waiting=0)
        self.folder.run["status"] = status
        self.folder.run["ended_at"] = stamp(t)
        self.folder.run["exit"] = code
        self.folder.save()
