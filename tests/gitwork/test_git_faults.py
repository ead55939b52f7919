"""What users and machines do while a run works: each has a clear end, and nothing of anybody's is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bad_worker_acts import add_work
from support.paths import TESTS
from support.worktree_repo import BRANCH, RUN, Shop, home_at

from sow.errors import SystemFailure
from sow.gitwork.fast_forward import Delivered
from sow.gitwork.repository import DeliveryRefused
from sow.gitwork.worktrees import Worktrees

HERE = str(TESTS)


def be_dirty(shop: Shop) -> None:
    shop.write("src/b.txt", "changed\n")
    shop.write("staged.txt")
    shop.git("add", "staged.txt")
    shop.write("untracked.txt")


def detach(shop: Shop) -> None:
    shop.git("switch", "-q", "--detach")


def merge_half(shop: Shop) -> None:
    shop.git("switch", "-q", "-c", "side")
    shop.write("README.md", "side\n")
    shop.commit()
    shop.git("switch", "-q", BRANCH)
    shop.write("README.md", "ours\n")
    shop.commit()
    shop.git("merge", "side", ok=False)


def stash_all(shop: Shop) -> None:
    be_dirty(shop)
    shop.git("stash", "-q", "--include-untracked")


def switch(shop: Shop) -> None:
    shop.git("switch", "-q", "-c", "elsewhere")


def commit(shop: Shop) -> None:
    shop.write("user.txt")
    shop.commit("the user's")


def clean_hard(shop: Shop) -> None:
    shop.git("clean", "-q", "-ffdx")


def collect_garbage(shop: Shop) -> None:
    shop.git("reflog", "expire", "--expire=now", "--all")
    shop.git("gc", "-q", "--prune=now")


def prune_worktrees(shop: Shop) -> None:
    shop.git("worktree", "prune")


def lock_the_index(shop: Shop) -> None:
    shop.write(".git/index.lock", "")


USERS = [
    be_dirty,
    detach,
    merge_half,
    stash_all,
    switch,
    commit,
    clean_hard,
    collect_garbage,
    prune_worktrees,
    lock_the_index,
]


@pytest.mark.parametrize("act", USERS, ids=lambda each: each.__name__)
def test_what_a_user_does_during_a_run(shop: Shop, act: Callable[[Shop], None]) -> None:
    """Whatever the user does meanwhile, committed work is collected and merged, and the user's side stays as it is."""
    shop.integration.begin("HEAD")
    base = shop.integration.base
    where = shop.prepare("010", base)
    made = add_work(shop, where)
    act(shop)
    before = shop.user_side()
    collected = shop.collect("010", base=base)
    assert collected.paths == ["work.txt"]
    assert shop.is_kept(made)
    assert shop.merge("010", collected.commit).commit
    assert (Path(shop.integration.path) / "work.txt").exists()
    judge = Path(shop.worktrees.make_judge_checkout("010", collected.commit, base))
    assert (judge / "work.txt").exists()
    assert shop.user_side() == before
    done = shop.integration.deliver(BRANCH)
    if isinstance(done, DeliveryRefused):
        assert shop.user_side() == before
    else:
        assert act in (be_dirty, stash_all, clean_hard, collect_garbage, prune_worktrees)
        assert (shop.root / "work.txt").exists()


def test_loose_work_survives_what_a_user_does(shop: Shop) -> None:
    """Stashing, cleaning and pruning in the home leave a worker's uncommitted files where they are."""
    where = shop.prepare()
    shop.write("loose.txt", where=where)
    stash_all(shop)
    shop.git("clean", "-q", "-fdx", "-e", ".sow/local")
    prune_worktrees(shop)
    assert shop.collect().paths == ["loose.txt"]


def test_a_folder_that_became_a_link(shop: Shop) -> None:
    """A folder that a worker replaced by a link out of the worktree is collected as a link, and nothing behind it."""
    where = shop.prepare()
    outside = shop.root.parent / "outside"
    shop.write("a.txt", "secret\n", where=outside)
    shutil.rmtree(where / "src")
    (where / "src").symlink_to(outside)
    collected = shop.collect()
    assert collected.paths == ["src", "src/a.txt", "src/b.txt"]
    assert "secret" not in shop.worktrees.diff("HEAD", collected.commit, 100_000)
    shop.prepare(fresh=True)
    assert (where / "src/a.txt").read_text() == "one\ntwo\nthree\n"
    assert (outside / "a.txt").read_text() == "secret\n"


FULL_DISK = """
import resource, sys
sys.path[:0] = [{here!r}]
from support.worktree_repo import *
from sow.errors import SystemFailure
root = {root!r}
act = {act!r}
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    if act == "prepare":
        Worktrees(home_at(root), RUN).prepare("010", "HEAD")
    elif act == "collect":
        Worktrees(home_at(root), RUN).collect("010", 1, "m", "HEAD")
    else:
        Integration(home_at(root), RUN, record=record_of(home_at(root), RUN)).deliver(BRANCH)
except SystemFailure as error:
    print(error.message)
    sys.exit(1)
"""


@pytest.mark.parametrize("act", ["prepare", "collect", "finish"])
def test_no_room(shop: Shop, act: str) -> None:
    """Where files cannot grow, an act fails with a clear error or is refused, and does its work when there is room."""
    shop.write("large.txt", "large\n" * 20_000)
    shop.commit()
    shop.integration.begin("HEAD")
    if act != "prepare":
        where = shop.prepare("010", shop.integration.head)
        shop.write("larger.bin", os.urandom(200_000).hex(), where=where)
    if act == "finish":
        shop.merge("010", shop.collect("010", base=shop.integration.head).commit)
    before = shop.user_side()
    code = FULL_DISK.format(here=HERE, root=str(shop.root), act=act)
    done = subprocess.run(
        [sys.executable, "-c", code, "60000"], capture_output=True, text=True, env=shop.repo.environment
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0 if act == "finish" else 1, False), done.stderr
    assert act == "finish" or "SIGXFSZ" in done.stdout or "File too large" in done.stdout
    assert shop.user_side() == before
    (shop.root / ".git/index.lock").unlink(missing_ok=True)  # a git that was killed in the middle leaves it
    if act == "prepare":
        assert (shop.prepare() / "large.txt").stat().st_size == 120_000
    elif act == "collect":
        assert shop.collect().paths == ["larger.bin"]
    else:
        assert isinstance(shop.integration.deliver(BRANCH), Delivered)


def test_a_repository_that_cannot_be_written(shop: Shop) -> None:
    """Where the git folder may not be written, the error says so, and nothing is half made."""
    code = (
        f"import sys; sys.path[:0] = [{HERE!r}]\nfrom support.worktree_repo import *\n"
        f"Worktrees(home_at({str(shop.root)!r}), RUN).prepare('010', 'HEAD')"
    )
    humble = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    subprocess.run(["chmod", "-R", "a-w", str(shop.root / ".git")], check=True)
    done = subprocess.run(
        [*humble, sys.executable, "-c", code], capture_output=True, text=True, env=shop.repo.environment
    )
    subprocess.run(["chmod", "-R", "u+w", str(shop.root / ".git")], check=True)
    assert done.returncode == 1
    assert "sow.errors.Failed: cannot" in done.stderr
    assert shop.prepare().exists()


def test_a_broken_repository(shop: Shop) -> None:
    """Where git itself gives up, the error has its words."""
    (shop.root / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises(SystemFailure, match="not a git repository"):
        Worktrees(home_at(shop.root), RUN).prepare("010", "HEAD")
