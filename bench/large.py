"""Writes a project of thousands of tasks and a run of them directly to files, without sow's commands."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from bench.timing import SOW
from sow.store.files import checkout_home as homes
from sow.store.formats import VERSION
from sow.store.projects import project as projects
from sow.store.runs import run_folder

PHASE = ".sow/project/phases/implementation/tasks"
WIDE = 8  # tasks that wait for the same tasks
SECONDS = 30  # duration of each task
SLOTS = 8
OPEN = 40  # tasks at the end that have not started
AT = "2026-01-31T09:00:00Z"
START = 1_769_850_000  # the same moment in seconds
DIGEST = "0" * 64

HEAD = """schema_version: "{version}"
revision: 1
task:
  id: "{id}"
  name: {name}
  status: {status}
  iteration: 1
  priority: medium
  references: []
  questions: []
  assigned_agent: implementer
  depends_on:{needs}
  criteria: []
  files:
    - part{number}.txt
  estimated_minutes: 1
  source:
    plan: plan.md
    id: "{number}"
    digest: "{digest}"
  created_at: "{at}"
  updated_at: "{at}"
"""
DONE = """  started_at: "{at}"
  result: GREEN
  completed_at: "{at}"
  approval:
    by: run
    at: "{at}"
    iteration: 1
  duration: {seconds}
"""


def ident(number: int) -> str:
    """Returns the id of a task by its number."""
    return f"{number * 10:03d}"


def needs(number: int) -> list[str]:
    """Returns the task that a task waits for, one rank before its own."""
    return [ident(number - WIDE)] if number > WIDE else []


def make(root: Path, tasks: int, *, branch: str = "work") -> run_folder.RunFolder:
    """Makes a repository whose project has so many tasks, most of them completed by one run that has not ended."""
    root.mkdir(parents=True)
    home = root.with_name(f"{root.name}-home")
    home.mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(home)}
    names = {f"GIT_{person}_{field}": "b@b.b" for person in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    for command in (["git", "init", "-qb", branch], ["git", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(command, cwd=root, env={**variables, **names}, check=True)
    command = [SOW, "init", "--project", f"A project of {tasks:,} tasks"]
    subprocess.run(command, cwd=root, env=variables, check=True, capture_output=True)
    for number in range(1, tasks + 1):
        _write_task(root / PHASE / ident(number), number, done=number <= tasks - OPEN)
    return _run(root, tasks, branch)


def _write_task(folder: Path, number: int, *, done: bool) -> None:
    status = "completed" if done else "pending"
    fields = {"id": ident(number), "number": number, "name": f"Part {number}", "status": status}
    text = HEAD + (DONE if done else "")
    # Lists have the layout that sow writes: a file in another layout is read more slowly.
    dependencies = "".join(f'\n    - "{need}"' for need in needs(number)) or " []"
    folder.mkdir(parents=True)
    (folder / "state.yaml").write_text(
        text.format(version=VERSION, **fields, needs=dependencies, digest=DIGEST, at=AT, seconds=SECONDS)
    )
    (folder / "description.md").write_text(f"Do part {number}.\n")


def _run(root: Path, tasks: int, branch: str) -> run_folder.RunFolder:
    """Creates the folder of the run and its journal: every completed task started, had a turn, and ended."""
    home = homes.locate(option=str(root), environment={}, cwd=str(root))
    state = {
        "id": "20260131-090000-ab12",
        "project_id": projects.load(home)["project_id"],
        "name": "A large plan",
        "branch": branch,
        "base": "a" * 40,
        "status": "running",
        "started_at": AT,
        "plans": [{"path": "plan.md", "digest": DIGEST}],
        "tasks": [ident(number) for number in range(1, tasks + 1)],
        "settings": {
            "max_concurrency": SLOTS,
            "schedule": "ready",
            "isolation": "none",
            "review": "off",
            "retries": 2,
        },
    }
    folder = run_folder.create(home, state)  # type: ignore[arg-type]
    with open(folder.journal_path, "a", encoding="utf-8") as journal:
        journal.writelines(json.dumps(entry) + "\n" for entry in _entries(folder.id, tasks))
    return folder


def _entries(run: str, tasks: int) -> list[dict[str, object]]:
    rows = [
        {"id": ident(n), "number": str(n), "name": f"Part {n}", "agent": "implementer", "needs": needs(n)}
        | {"estimated_minutes": 1, "status": "pending"}
        for n in range(1, tasks + 1)
    ]
    plans = [{"path": "plan.md", "digest": DIGEST}]
    start = _entry(0, "run_started", run=run, name="A large plan", plans=plans, tasks=rows, recovered=False)
    work = [entry for number in range(1, tasks - OPEN + 1) for entry in _work(number)]
    return [start, *sorted(work, key=lambda entry: str(entry["at"]))]


def _work(number: int) -> list[dict[str, object]]:
    """Returns the entries of one task from its start to its end, in one turn."""
    begin = (number - 1) // SLOTS * SECONDS
    task_fields = {"task": ident(number), "iteration": 1}
    turn = {**task_fields, "role": "implementer", "executor": "claude-code", "kind": "spawn"}
    cost = {"cost_usd": 0.25, "input_tokens": 1000, "output_tokens": 100, "tools": 3, "remarks": []}
    end = {"outcome": "done", "status": "needs_review", "seconds": SECONDS, **cost}
    return [
        _entry(begin, "task_started", **task_fields),
        _entry(begin, "turn_started", **turn),
        _entry(begin + SECONDS, "turn_ended", **turn, **end),
        _entry(begin + SECONDS, "task_ended", **task_fields, result="GREEN", seconds=SECONDS, retry_count=0)
        | {"status": "completed"},
    ]


def _entry(t: float, event: str, **fields: object) -> dict[str, object]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + t))
    return {"at": at, "event": event, "t": t, **fields}
