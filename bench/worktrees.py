"""Measures a task in a worktree of a large repository, against the same steps in plain git."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from bench import running
from bench.timing import SOW, in_memory

FILES = 10_000
TASKS = 50
PLAIN = 10  # tasks done by hand for the comparison
LIMIT = 3.0  # times plain git, one task after the other

WORKER = '#!/bin/sh\necho done > "part-$SOW_TASK.txt"\n'


def per_task(scratch: Path) -> tuple[float, float]:
    """Returns seconds for each task of a run in worktrees, and for the same with only git."""
    with in_memory(scratch) as folder:
        root = large(folder / "large")
        git_seconds = _plain(root, folder / "plain", PLAIN // 2)
        run_seconds = _run(root, folder)
        git_seconds += _plain(root, folder / "plain-again", PLAIN // 2)
    return run_seconds / TASKS, git_seconds / PLAIN


def large(root: Path) -> Path:
    """Makes a repository of small files in a hundred folders, with a plan of independent tasks."""
    for number in range(FILES):
        path = root / f"folder{number % 100}" / f"file{number}.txt"
        if number < 100:
            path.parent.mkdir(parents=True)
        path.write_text(f"{number}\n" * 20)
    (root / "plan.md").write_text(running.plan(running.independent_tasks(TASKS)))
    for arguments in (
        ["init", "-qb", "work"],
        ["config", "user.email", "b@b.b"],
        ["config", "user.name", "b"],
        ["config", "gc.auto", "0"],  # ten thousand loose objects would start it during the measurement
        ["add", "."],
        ["commit", "-qm", "all"],
    ):
        git(root, *arguments)
    return root


def _run(root: Path, scratch: Path) -> float:
    program = scratch / "worker"
    program.write_text(WORKER)
    program.chmod(0o755)
    home = scratch / "large-home"
    running.executor(home, [str(program)])
    command = [SOW, "run", "plan.md", "--review", "off", "--yes", "--max-concurrency", str(running.SLOTS)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    start = time.perf_counter()
    process = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"sow run in worktrees: exit {process.returncode}\n{process.stdout}{process.stderr}")
    assert len(list(root.glob("part-*.txt"))) == TASKS, "not every task came home"
    return seconds


def _plain(root: Path, folder: Path, tasks: int) -> float:
    """Does the minimum: adds a worktree, commits, merges into an integration worktree, and removes the worktree."""
    folder.mkdir()
    branch = f"bench/{folder.name}"
    git(root, "worktree", "add", "-q", "-b", branch, str(folder / "integration"), "work")
    start = time.perf_counter()
    for number in range(tasks):
        worktree = folder / str(number)
        git(root, "worktree", "add", "-q", "-b", f"{branch}-{number}", str(worktree), branch)
        (worktree / f"{folder.name}-{number}.txt").write_text("done\n")
        git(worktree, "add", ".")
        git(worktree, "commit", "-qm", f"part {number}")
        git(folder / "integration", "merge", "-q", "--no-ff", "-m", f"merge {number}", f"{branch}-{number}")
        git(root, "worktree", "remove", str(worktree))
    seconds = time.perf_counter() - start
    git(root, "worktree", "remove", str(folder / "integration"))
    return seconds


def git(cwd: Path, *arguments: str) -> None:
    process = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: exit {process.returncode}\n{process.stderr}")
