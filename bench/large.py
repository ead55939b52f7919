"""A project of thousands of tasks and a run over them, written as a checkout holds them and not act by act."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from bench.timing import SOW
from sow.store import home as homes
from sow.store import project as projects
from sow.store import runs

PHASE = ".sow/project/phases/implementation/tasks"
WIDE = 8  # tasks that wait for the same ones before them
SECONDS = 30  # that each worked
SLOTS = 8
OPEN = 40  # tasks at the end that nobody has begun
AT = "2026-01-31T09:00:00Z"
START = 1_769_850_000  # the same moment in seconds
DIGEST = "0" * 64

HEAD = """schema_version: "1.1.0"
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
    """The id of the plan's task of this number."""
    return f"{number * 10:03d}"


def needs(number: int) -> list[str]:
    """What a task waits for: one task of the rank before its own."""
    return [ident(number - WIDE)] if number > WIDE else []


def make(root: Path, tasks: int, *, branch: str = "work") -> runs.RunFolder:
    """A repository whose project has so many tasks, most of them completed by one run that has not ended."""
    root.mkdir(parents=True)
    home = root.with_name(f"{root.name}-home")
    home.mkdir()
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(home)}
    names = {f"GIT_{who}_{key}": "b@b.b" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    for words in (["git", "init", "-qb", branch], ["git", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(words, cwd=root, env={**surroundings, **names}, check=True)
    words = [SOW, "init", "--project", f"A project of {tasks:,} tasks"]
    subprocess.run(words, cwd=root, env=surroundings, check=True, capture_output=True)
    for number in range(1, tasks + 1):
        _write_task(root / PHASE / ident(number), number, done=number <= tasks - OPEN)
    return _run(root, tasks, branch)


def _write_task(desk: Path, number: int, *, done: bool) -> None:
    status = "completed" if done else "pending"
    facts = {"id": ident(number), "number": number, "name": f"Part {number}", "status": status}
    text = HEAD + (DONE if done else "")
    # As sow itself lays a list out: a file in another form is read more slowly, and there would be none.
    waits = "".join(f'\n    - "{each}"' for each in needs(number)) or " []"
    desk.mkdir(parents=True)
    (desk / "state.yaml").write_text(text.format(**facts, needs=waits, digest=DIGEST, at=AT, seconds=SECONDS))
    (desk / "description.md").write_text(f"Do part {number}.\n")


def _run(root: Path, tasks: int, branch: str) -> runs.RunFolder:
    """The folder of the run, and its journal: every completed task was begun, had a turn, and ended."""
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
    folder = runs.create(home, state)  # type: ignore[arg-type]
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
    begun = _entry(0, "run_started", run=run, name="A large plan", plans=plans, tasks=rows, recovered=False)
    work = [entry for number in range(1, tasks - OPEN + 1) for entry in _work(number)]
    return [begun, *sorted(work, key=lambda entry: str(entry["at"]))]


def _work(number: int) -> list[dict[str, object]]:
    """One task from its start to its end, in one turn."""
    begin = (number - 1) // SLOTS * SECONDS
    who = {"task": ident(number), "iteration": 1}
    turn = {**who, "role": "implementer", "executor": "claude-code", "kind": "spawn"}
    cost = {"cost_usd": 0.25, "input_tokens": 1000, "output_tokens": 100, "tools": 3, "remarks": []}
    end = {"outcome": "done", "status": "needs_review", "seconds": SECONDS, **cost}
    return [
        _entry(begin, "task_started", **who),
        _entry(begin, "turn_started", **turn),
        _entry(begin + SECONDS, "turn_ended", **turn, **end),
        _entry(begin + SECONDS, "task_ended", **who, result="GREEN", seconds=SECONDS, retry_count=0)
        | {"status": "completed"},
    ]


def _entry(t: float, event: str, **facts: object) -> dict[str, object]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + t))
    return {"at": at, "event": event, "t": t, **facts}
