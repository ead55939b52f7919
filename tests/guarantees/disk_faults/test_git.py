"""R12 for git: a full disk is reported, the user's files stay, and the run continues when there is space."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from conftest import Repo
from support.quick_cases import few_of
from support.worktree_repo import WorktreeRepo

from guarantees.disk_faults.test_state import MEANS, MOUNTED, prefix_for
from guarantees.fresh_process import in_fresh_process
from sow.errors import SystemFailure
from sow.gitwork.integration_branch import Delivered


def prepare(worktree_repo: WorktreeRepo) -> Any:
    return (worktree_repo.prepare("020", "HEAD") / "large.bin").stat().st_size


def collect(worktree_repo: WorktreeRepo) -> Any:
    return worktree_repo.worktrees.collect("010", 1, "m", worktree_repo.integration.base).paths


def finish(worktree_repo: WorktreeRepo) -> Any:
    done = worktree_repo.deliver()
    return "moved" if isinstance(done, Delivered) else done.reason


ACTS = {"prepare": prepare, "collect": collect, "finish": finish}
DONE: dict[str, Any] = {"prepare": 300_000, "collect": ["larger.bin"], "finish": "moved"}
WORDS = {"full": ("No space left", "disk is full"), "small_files": ("SIGXFSZ", "File too large")}


def starve(root: str, name: str, means: str) -> dict[str, Any]:
    """Runs the act on a full disk, or where no file may grow, and again when there is room."""
    place = f"{root}.place"
    os.mkdir(place)
    if means in MOUNTED:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", place], check=True)
    shutil.copytree(root, f"{place}/repo", symlinks=True)
    worktree_repo = WorktreeRepo(Repo(Path(place) / "repo", dict(os.environ)))
    (worktree_repo.root / "large.bin").write_bytes(os.urandom(300_000))
    worktree_repo.commit()
    worktree_repo.integration.begin("HEAD")
    where = worktree_repo.prepare("010", worktree_repo.integration.head)
    (where / "larger.bin").write_bytes(os.urandom(300_000))
    if name == "finish":
        worktree_repo.merge("010", worktree_repo.collect("010", base=worktree_repo.integration.base).commit)
    before = worktree_repo.user_side()
    with MEANS[means][0](place):
        try:
            messages = ACTS[name](WorktreeRepo(worktree_repo.repo))
        except SystemFailure as error:
            messages = error.message
        same = worktree_repo.user_side() == before
    for lock in (worktree_repo.root / ".git").rglob("*.lock"):
        lock.unlink()
    return {"told": str(messages), "same": same, "fed": ACTS[name](WorktreeRepo(worktree_repo.repo))}


@few_of("name", ACTS, 1)
def test_a_full_disk(worktree_repo: WorktreeRepo, tmp_path: Path, name: str) -> None:
    """On a full disk the act fails with the reason and leaves the user's side; with room it works."""
    prefix = prefix_for("full", tmp_path)
    means = "small_files" if prefix is None else "full"  # which every machine can do
    seen = in_fresh_process(starve, worktree_repo.root, name, means, prefix=prefix or [])
    assert any(word in seen["told"] for word in WORDS[means]), seen
    assert seen["same"]
    assert seen["fed"] == DONE[name]
