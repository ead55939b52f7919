"""R12 at the door of git: a disk without room is told, the user's side stays, and with room it goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.worktree_repo import BRANCH, Shop

from guarantees.disk_faults.test_state import MEANS, MOUNTED, prefix_for
from guarantees.fresh_process import in_fresh_process
from sow.errors import SystemFailure
from sow.gitwork.fast_forward import Delivered


def prepare(shop: Shop) -> Any:
    return (shop.prepare("020", "HEAD") / "large.bin").stat().st_size


def collect(shop: Shop) -> Any:
    return shop.worktrees.collect("010", 1, "m", shop.integration.base).paths


def finish(shop: Shop) -> Any:
    done = shop.integration.deliver(BRANCH)
    return "moved" if isinstance(done, Delivered) else done.reason


ACTS = {"prepare": prepare, "collect": collect, "finish": finish}
DONE: dict[str, Any] = {"prepare": 300_000, "collect": ["larger.bin"], "finish": "moved"}
WORDS = {"full": ("No space left", "disk is full"), "small_files": ("SIGXFSZ", "File too large")}


def starve(root: str, name: str, means: str) -> dict[str, Any]:
    """Do it on a disk that is full, or where no file may grow, and again when there is room."""
    place = f"{root}.place"
    os.mkdir(place)
    if means in MOUNTED:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", place], check=True)
    shutil.copytree(root, f"{place}/repo", symlinks=True)
    shop = Shop(Repo(Path(place) / "repo", dict(os.environ)))
    (shop.root / "large.bin").write_bytes(os.urandom(300_000))
    shop.commit()
    shop.integration.begin("HEAD")
    where = shop.prepare("010", shop.integration.head)
    (where / "larger.bin").write_bytes(os.urandom(300_000))
    if name == "finish":
        shop.merge("010", shop.collect("010", base=shop.integration.base).commit)
    before = shop.user_side()
    with MEANS[means][0](place):
        try:
            told = ACTS[name](Shop(shop.repo))
        except SystemFailure as error:
            told = error.message
        same = shop.user_side() == before
    for lock in (shop.root / ".git").rglob("*.lock"):
        lock.unlink()
    return {"told": str(told), "same": same, "fed": ACTS[name](Shop(shop.repo))}


@pytest.mark.parametrize("name", ACTS)
def test_a_full_disk(shop: Shop, tmp_path: Path, name: str) -> None:
    """On a full disk the act fails with the reason and leaves the user's side; with room it does its work."""
    prefix = prefix_for("full", tmp_path)
    means = "small_files" if prefix is None else "full"  # which every machine can do
    seen = in_fresh_process(starve, shop.root, name, means, prefix=prefix or [])
    assert any(word in seen["told"] for word in WORDS[means]), seen
    assert seen["same"]
    assert seen["fed"] == DONE[name]
