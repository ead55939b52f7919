"""Measures the commands that agents call hundreds of times, and the status of a large project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.timing import SOW, SYNCED, Case

TASKS = 1000


def repository(root: Path) -> Path:
    root.mkdir()
    identity = {
        f"GIT_{person}_{field}": "bench@example.org"
        for person in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **identity, "HOME": str(root.parent)}
    for command in (
        ["git", "init", "-q", "-b", "feat/bench"],
        ["git", "commit", "-q", "--allow-empty", "-m", "first"],
        [SOW, "init", "--project", "Bench"],
        [SOW, "task", "create", "--name", "A task of an ordinary length"],
        [SOW, "task", "set", "--id", "010", "status", "in_progress"],
    ):
        subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
    return root


def _large(root: Path) -> Path:
    """Makes the same with a thousand tasks: copies of the first with other ids."""
    home = repository(root)
    tasks = home / ".sow/project/phases/implementation/tasks"
    state = (tasks / "010/state.yaml").read_text()
    for number in range(2, TASKS + 1):
        ident = str(number * 10).zfill(3)
        (tasks / ident).mkdir()
        (tasks / ident / "state.yaml").write_text(state.replace('"010"', f'"{ident}"'))
        (tasks / ident / "description.md").write_text("# A task\n")
    return home


def _plan(tasks: int) -> str:
    """Writes an ordinary plan: each task has a few fields and waits for the one before."""
    text = "# An ordinary plan\n"
    for number in range(1, tasks + 1):
        dependency = f"Task {number - 1}" if number > 1 else "None"
        text += (
            f"\n## Task {number}: Part {number}\n**File(s)**: `src/part_{number}.py`\n**Depends on**: {dependency}\n"
        )
        text += "**Estimated time**: 45m\n\nBuild it.\n\n**Success Criteria**:\n- it works\n"
        text += "\n**Test Commands**:\n```bash\nmake test\n```\n"
    return text


def cases(scratch: Path) -> list[Case]:
    """Returns the commands to measure, with their baselines."""
    small = repository(scratch / "small")
    large = _large(scratch / "large")
    notes = small / ".sow/project/phases/implementation/tasks/010/completion_drive"
    (small / "plan.md").write_text(_plan(20))
    return [
        Case(name="sow plan show, 20 tasks", command=[SOW, "plan", "show", "plan.md"], limit=5, cwd=small),
        Case(name="sow --version", command=[SOW, "--version"], limit=3, cwd=small),
        Case(
            name="sow log …",
            command=[
                SOW,
                "log",
                "--task",
                "010",
                "--file",
                "a.py",
                "--action",
                "edit",
                "--result",
                "success",
                "did it",
            ],
            baseline=f"{SYNCED}\nappend(1)",
            limit=3,
            cwd=small,
        ),
        Case(
            name="sow task set … status …",
            command=[SOW, "task", "set", "--id", "010", "status", "failed"],
            before=[[SOW, "task", "set", "--id", "010", "priority", "low"], ["sh", "-c", _reset(small)]],
            baseline=f"{SYNCED}\nreplace(1)",
            limit=3,
            cwd=small,
        ),
        Case(
            name="sow note add …",
            command=[SOW, "note", "add", "--task", "010", "--description", "an assumption", "--context", "the work"],
            before=[["rm", "-rf", str(notes)], ["mkdir", str(notes)]],
            baseline=f"{SYNCED}\nreplace(1)",
            limit=3,
            cwd=small,
        ),
        Case(name=f"sow status --json, {TASKS} tasks", command=[SOW, "status", "--json"], limit=10, cwd=large),
    ]


def _reset(home: Path) -> str:
    """Returns a command that sets the task back to in_progress without calling sow."""
    state = home / ".sow/project/phases/implementation/tasks/010/state.yaml"
    return f"sed -i 's/status: failed/status: in_progress/' {state}"
