"""Faults by users and machines during a run: each has a defined result, and no work is lost."""

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
from support.quick_cases import few_of
from support.worktree_repo import BRANCH, RUN, WorktreeRepo, home_at

from sow.errors import SystemFailure
from sow.gitwork import repository
from sow.gitwork.integration_branch import Delivered
from sow.gitwork.repository import DeliveryRefused, Repository
from sow.gitwork.worktrees import Worktrees

HERE = str(TESTS)


def be_dirty(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("src/b.txt", "changed\n")
    worktree_repo.write("staged.txt")
    worktree_repo.git("add", "staged.txt")
    worktree_repo.write("untracked.txt")


def detach(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("switch", "-q", "--detach")


def merge_half(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("switch", "-q", "-c", "side")
    worktree_repo.write("README.md", "side\n")
    worktree_repo.commit()
    worktree_repo.git("switch", "-q", BRANCH)
    worktree_repo.write("README.md", "ours\n")
    worktree_repo.commit()
    worktree_repo.git("merge", "side", ok=False)


def stash_all(worktree_repo: WorktreeRepo) -> None:
    be_dirty(worktree_repo)
    worktree_repo.git("stash", "-q", "--include-untracked")


def switch(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("switch", "-q", "-c", "elsewhere")


def commit(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("user.txt")
    worktree_repo.commit("the user's")


def clean_hard(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("clean", "-q", "-ffdx")


def collect_garbage(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("reflog", "expire", "--expire=now", "--all")
    worktree_repo.git("gc", "-q", "--prune=now")


def prune_worktrees(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("worktree", "prune")


def lock_the_index(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write(".git/index.lock", "")


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


@few_of("act", USERS, 2, ids=lambda act: act.__name__)
def test_acts_of_a_user_during_a_run(worktree_repo: WorktreeRepo, act: Callable[[WorktreeRepo], None]) -> None:
    """Whatever the user does meanwhile, committed work is collected and merged, and the user's side stays."""
    worktree_repo.integration.begin("HEAD")
    base = worktree_repo.integration.base
    where = worktree_repo.prepare("010", base)
    made = add_work(worktree_repo, where)
    act(worktree_repo)
    before = worktree_repo.user_side()
    collected = worktree_repo.collect("010", base=base)
    assert collected.paths == ["work.txt"]
    assert worktree_repo.is_kept(made)
    assert worktree_repo.merge("010", collected.commit).commit
    assert worktree_repo.text(worktree_repo.integration.head, "work.txt")
    judge = Path(worktree_repo.worktrees.make_judge_checkout("010", collected.commit, base))
    assert (judge / "work.txt").exists()
    assert worktree_repo.user_side() == before
    done = worktree_repo.deliver()
    if isinstance(done, DeliveryRefused):
        assert worktree_repo.user_side() == before
    else:
        assert act in (be_dirty, stash_all, clean_hard, collect_garbage, prune_worktrees)
        assert (worktree_repo.root / "work.txt").exists()


def test_uncommitted_work_survives_acts_of_the_user(worktree_repo: WorktreeRepo) -> None:
    """Stashing, cleaning and pruning in the home checkout leave a worker's uncommitted files."""
    where = worktree_repo.prepare()
    worktree_repo.write("loose.txt", where=where)
    stash_all(worktree_repo)
    worktree_repo.git("clean", "-q", "-fdx", "-e", ".sow/local")
    prune_worktrees(worktree_repo)
    assert worktree_repo.collect().paths == ["loose.txt"]


def test_a_folder_that_became_a_link(worktree_repo: WorktreeRepo) -> None:
    """A folder that a worker replaced by a link out of the worktree is collected as a link, without its target."""
    where = worktree_repo.prepare()
    outside = worktree_repo.root.parent / "outside"
    worktree_repo.write("a.txt", "secret\n", where=outside)
    shutil.rmtree(where / "src")
    (where / "src").symlink_to(outside)
    collected = worktree_repo.collect()
    assert collected.paths == ["src", "src/a.txt", "src/b.txt"]
    assert "secret" not in repository.diff(worktree_repo.worktrees.repository, "HEAD", collected.commit, 100_000)
    worktree_repo.prepare(fresh=True)
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
        Worktrees(Repository(home_at(root)), RUN).prepare("010", "HEAD")
    elif act == "collect":
        Worktrees(Repository(home_at(root)), RUN).collect("010", 1, "m", "HEAD")
    else:
        repository = Repository(home_at(root))
        with repository.locked():
            fast_forward(repository, BRANCH, record_of(home_at(root), RUN).run["head"])
except SystemFailure as error:
    print(error.message)
    sys.exit(1)
"""


@few_of("act", ["prepare", "collect", "finish"], 1)
def test_a_limited_file_size(worktree_repo: WorktreeRepo, act: str) -> None:
    """If files cannot grow, an act fails with a clear error or is refused, and works when there is room."""
    worktree_repo.write("large.txt", "large\n" * 20_000)
    worktree_repo.commit()
    worktree_repo.integration.begin("HEAD")
    if act != "prepare":
        where = worktree_repo.prepare("010", worktree_repo.integration.head)
        worktree_repo.write("larger.bin", os.urandom(200_000).hex(), where=where)
    if act == "finish":
        worktree_repo.merge("010", worktree_repo.collect("010", base=worktree_repo.integration.head).commit)
    before = worktree_repo.user_side()
    code = FULL_DISK.format(here=HERE, root=str(worktree_repo.root), act=act)
    result = subprocess.run(
        [sys.executable, "-c", code, "60000"], capture_output=True, text=True, env=worktree_repo.repo.environment
    )
    assert (result.returncode, "Traceback" in result.stderr) == (0 if act == "finish" else 1, False), result.stderr
    assert act == "finish" or "SIGXFSZ" in result.stdout or "File too large" in result.stdout
    assert worktree_repo.user_side() == before
    (worktree_repo.root / ".git/index.lock").unlink(missing_ok=True)  # a git that was killed in the middle leaves it
    if act == "prepare":
        assert (worktree_repo.prepare() / "large.txt").stat().st_size == 120_000
    elif act == "collect":
        assert worktree_repo.collect().paths == ["larger.bin"]
    else:
        assert isinstance(worktree_repo.deliver(), Delivered)


def test_a_read_only_git_folder(worktree_repo: WorktreeRepo) -> None:
    """If the git folder may not be written, the error says so, and nothing is half made."""
    code = (
        f"import sys; sys.path[:0] = [{HERE!r}]\nfrom support.worktree_repo import *\n"
        f"Worktrees(Repository(home_at({str(worktree_repo.root)!r})), RUN).prepare('010', 'HEAD')"
    )
    humble = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    subprocess.run(["chmod", "-R", "a-w", str(worktree_repo.root / ".git")], check=True)
    result = subprocess.run(
        [*humble, sys.executable, "-c", code], capture_output=True, text=True, env=worktree_repo.repo.environment
    )
    subprocess.run(["chmod", "-R", "u+w", str(worktree_repo.root / ".git")], check=True)
    assert result.returncode == 1
    assert "sow.errors.SystemFailure: cannot" in result.stderr
    assert worktree_repo.prepare().exists()


def test_a_broken_repository(worktree_repo: WorktreeRepo) -> None:
    """If git fails, the error has its message."""
    (worktree_repo.root / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises(SystemFailure, match="not a git repository"):
        Worktrees(Repository(home_at(worktree_repo.root)), RUN).prepare("010", "HEAD")
