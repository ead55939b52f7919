"""What a task costs in a worktree of a large repository, against the same steps in plain git."""

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
    """Seconds for each task of a run in worktrees, and for the same with nothing but git."""
    with in_memory(scratch) as place:
        root = large(place / "large")
        by_hand = _plain(root, place / "plain", PLAIN // 2)
        taken = _run(root, place)
        by_hand += _plain(root, place / "plain-again", PLAIN // 2)
    return taken / TASKS, by_hand / PLAIN


def large(root: Path) -> Path:
    """A repository of small files in a hundred folders, with a plan whose tasks have nothing to do with each other."""
    for number in range(FILES):
        path = root / f"folder{number % 100}" / f"file{number}.txt"
        if number < 100:
            path.parent.mkdir(parents=True)
        path.write_text(f"{number}\n" * 20)
    (root / "plan.md").write_text(running.plan(running.alike(TASKS)))
    for words in (
        ["init", "-qb", "work"],
        ["config", "user.email", "b@b.b"],
        ["config", "user.name", "b"],
        ["config", "gc.auto", "0"],  # ten thousand loose objects would call for it, in the background and in the way
        ["add", "."],
        ["commit", "-qm", "all"],
    ):
        git(root, *words)
    return root


def _run(root: Path, scratch: Path) -> float:
    program = scratch / "worker"
    program.write_text(WORKER)
    program.chmod(0o755)
    home = scratch / "large-home"
    running.executor(home, [str(program)])
    words = [SOW, "run", "plan.md", "--review", "off", "--yes", "--max-concurrency", str(running.SLOTS)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    start = time.perf_counter()
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"sow run in worktrees: exit {done.returncode}\n{done.stdout}{done.stderr}")
    assert len(list(root.glob("part-*.txt"))) == TASKS, "not every task came home"
    return taken


def _plain(root: Path, place: Path, tasks: int) -> float:
    """The least that can be done: a worktree, a commit, a merge into an integration worktree, and the worktree away."""
    place.mkdir()
    branch = f"bench/{place.name}"
    git(root, "worktree", "add", "-q", "-b", branch, str(place / "integration"), "work")
    start = time.perf_counter()
    for number in range(tasks):
        folder = place / str(number)
        git(root, "worktree", "add", "-q", "-b", f"{branch}-{number}", str(folder), branch)
        (folder / f"{place.name}-{number}.txt").write_text("done\n")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"part {number}")
        git(place / "integration", "merge", "-q", "--no-ff", "-m", f"merge {number}", f"{branch}-{number}")
        git(root, "worktree", "remove", str(folder))
    taken = time.perf_counter() - start
    git(root, "worktree", "remove", str(place / "integration"))
    return taken


def git(cwd: Path, *words: str) -> None:
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(words)}: exit {done.returncode}\n{done.stderr}")
