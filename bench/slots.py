"""Measures a clean checkout for checks in a large repository, against a plain `git worktree add`."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.timing import SOW, in_memory
from bench.worktrees import git, large
from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slots
from sow.store.files.checkout_home import find
from sow.system.process.child_process import run_to_end

ROUNDS = 7
FIRST, REUSE = 1.3, 0.3  # times a plain `git worktree add`


def checkouts(scratch: Path) -> tuple[float, float, float]:
    """Returns the best seconds of the first use of a slot, of a reuse for another commit, and of a plain worktree."""
    with in_memory(scratch) as folder:
        root = large(folder / "slots")
        home = folder / "slots-home"
        home.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        subprocess.run([SOW, "init", "--project", "Bench"], cwd=root, env=environment, check=True, capture_output=True)
        commits = [_commit(root, number) for number in range(2)]
        first, reuse, plain = [], [], []
        for number in range(ROUNDS):
            plain.append(_timed(partial(git, root, "worktree", "add", "-q", "--detach", str(folder / f"w{number}"))))
            slots = Slots(Repository(find(option=str(root), environment={}, cwd="/")), 1)
            slot = run_to_end(slots.acquire())
            assert slot is not None
            slot.remove()
            first.append(_timed(partial(slot.checkout, commits[0])))
            (Path(slot.path) / "folder1/file1.txt").write_text("changed by a check\n")
            (Path(slot.path) / "built.o").write_text("built by a check\n")
            reuse.append(_timed(partial(slot.checkout, commits[1])))
            slots.release(slot)
    return min(first), min(reuse), min(plain)


def _commit(root: Path, number: int) -> str:
    """Makes a commit like a task's, with a few changed files."""
    for index in range(5):
        (root / f"folder{index}" / f"new{number}.txt").write_text(f"{number}\n")
    git(root, "add", "folder0", "folder1", "folder2", "folder3", "folder4")
    git(root, "commit", "-qm", f"change {number}")
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


def _timed(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
