"""The worktree of a task: made, found again in whatever state, and removed only when nothing is lost with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Repo
from support.paths import TESTS
from support.simulated_workers import wait_for
from support.worktree_repo import BRANCH, LATER, RUN, Shop, home_at, record_of

from sow.errors import SowError, SystemFailure
from sow.gitwork.integration_branch import Integration
from sow.gitwork.worktree import EnvironmentProblem
from sow.gitwork.worktrees import Worktrees
from sow.system.process import process_tree

OURS = f"sow/task/{RUN}/010"


def reason(shop: Shop, task: str = "010") -> str:
    refused = shop.worktrees.remove(task)
    return refused.reason if refused else ""


def test_a_worktree_has_the_files_and_not_the_state(shop: Shop) -> None:
    """A new worktree is clean, stands on its branch at the base, and has every file but those of the state."""
    before = shop.user_side()
    where = shop.prepare()
    assert where == shop.root / ".sow/local/worktrees/010"
    assert shop.git("branch", "--show-current", cwd=where).strip() == OURS
    assert shop.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert shop.head(where) == shop.head()
    assert (where / "src/a.txt").read_text() == "one\ntwo\nthree\n"
    assert (where / ".sow/config.yaml").exists()
    assert not (where / ".sow/project").exists()
    assert shop.user_side() == before


def test_a_worktree_without_orchestration(shop: Shop) -> None:
    """The desks of a workflow are left out of a worktree, and its status is clean all the same."""
    shop.write("orchestration/shared_status.json", "{}\n")
    shop.commit()
    where = shop.prepare()
    assert not (where / "orchestration").exists()
    assert shop.git("status", "--porcelain", cwd=where) == ""


def test_a_worktree_is_taken_as_it_is(shop: Shop) -> None:
    """A second call changes nothing of what a worker has done there."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    shop.write("src/a.txt", "changed\n", where=where)
    shop.git("add", "new.txt", cwd=where)
    shop.git("rm", "-q", "src/b.txt", cwd=where)
    status = shop.git("status", "--porcelain", cwd=where)
    assert shop.prepare() == where
    assert shop.git("status", "--porcelain", cwd=where) == status


def test_a_worktree_of_an_earlier_run(shop: Shop) -> None:
    """A later run takes the worktree with its work, on a branch of its own; the earlier branch stays."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    done = shop.commit(where=where)
    shop.write("more.txt", where=where)
    later = Shop(shop.repo, LATER)
    assert later.prepare() == where
    assert shop.git("branch", "--show-current", cwd=where).strip() == f"sow/task/{LATER}/010"
    assert shop.head(where) == done
    assert (where / "more.txt").exists()
    assert shop.git("rev-parse", OURS).strip() == done
    assert shop.is_kept(done)


def test_a_fresh_start(shop: Shop) -> None:
    """A fresh start gives the base's files alone, and what lay there, committed or not, stays reachable."""
    where = shop.prepare()
    shop.write("committed.txt", where=where)
    done = shop.commit(where=where)
    shop.write("loose.txt", "loose\n", where=where)
    shop.write("out.log", where=where)
    assert shop.prepare(fresh=True) == where
    assert shop.head(where) == shop.head()
    assert shop.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert shop.is_kept(done)
    assert any("loose.txt" in shop.git("ls-tree", "--name-only", pin) for pin in shop.pins().values())


def remove_folder(shop: Shop, where: Path) -> None:
    shutil.rmtree(where)


def remove_pointer(shop: Shop, where: Path) -> None:
    (where / ".git").unlink()


def damage_pointer(shop: Shop, where: Path) -> None:
    (where / ".git").write_text("nonsense\n")


def point_elsewhere(shop: Shop, where: Path) -> None:
    (where / ".git").write_text(f"gitdir: {shop.root}/.git\n")


def lose_record(shop: Shop, where: Path) -> None:
    shutil.rmtree(shop.root / ".git/worktrees/010")


def lock_it(shop: Shop, where: Path) -> None:
    shop.git("worktree", "lock", "--reason", "mine", str(where))


def lock_and_remove(shop: Shop, where: Path) -> None:
    lock_it(shop, where)
    shutil.rmtree(where)


def empty_index(shop: Shop, where: Path) -> None:
    (shop.root / ".git/worktrees/010/index").write_bytes(b"")


def leave_initialising(shop: Shop, where: Path) -> None:
    (shop.root / ".git/worktrees/010/locked").write_text("initializing\n")


def lose_head(shop: Shop, where: Path) -> None:
    (shop.root / ".git/worktrees/010/HEAD").unlink()


def delete_branch(shop: Shop, where: Path) -> None:
    shop.git("update-ref", "-d", f"refs/heads/{OURS}")


DAMAGE = [
    remove_folder,
    remove_pointer,
    damage_pointer,
    point_elsewhere,
    lose_record,
    lock_it,
    lock_and_remove,
    empty_index,
    leave_initialising,
    lose_head,
    delete_branch,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__)
def test_a_damaged_worktree_is_whole_again(shop: Shop, damage: object) -> None:
    """Whatever was removed or damaged, the worktree stands again at its path, on its branch, with its commits."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    done = shop.commit(where=where)
    others = shop.root.parent / "other worktree"
    shop.git("worktree", "add", "-q", "--detach", str(others))
    shutil.rmtree(others)
    before = shop.user_side()
    damage(shop, where)  # type: ignore[operator]
    assert shop.prepare() == where
    assert shop.git("branch", "--show-current", cwd=where).strip() == OURS
    assert shop.head(where) == done
    assert (where / "new.txt").exists()
    assert shop.collect().commit == done
    assert shop.git("status", "--porcelain", cwd=where) == ""
    assert shop.user_side() == before
    assert str(others) in shop.git("worktree", "list")  # another stale worktree is not ours to prune


def test_a_moved_repository(shop: Shop) -> None:
    """After the whole repository was moved, the worktree is tied to it again, with its work."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    target = shop.root.parent / "moved here"
    shop.root.rename(target)
    moved = Shop(Repo(target, shop.repo.environment))
    there = moved.prepare()
    assert there == target / ".sow/local/worktrees/010"
    assert moved.collect().paths == ["new.txt"]
    assert shop.git("status", "--porcelain", cwd=there) == ""


def test_a_half_made_worktree_is_filled(shop: Shop) -> None:
    """A worktree that git had made and nobody had filled is filled, and not taken for one whose files were deleted."""
    shop.git("branch", OURS)
    where = shop.root / ".sow/local/worktrees/010"
    shop.git("worktree", "add", "-q", "--no-checkout", str(where), OURS)
    (where / "src").mkdir()
    (where / "src/a.txt").write_text("half")
    shop.prepare()
    assert (where / "src/a.txt").read_text() == "one\ntwo\nthree\n"
    assert shop.collect().paths == []


def test_a_branch_that_is_there_is_used(shop: Shop) -> None:
    """A branch of the task without a worktree keeps its commits, and the worktree is made from it."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    done = shop.collect().commit
    assert reason(shop) == ""
    assert not where.exists()
    assert shop.prepare() == where
    assert shop.head(where) == done


def test_a_branch_that_the_user_has_checked_out(shop: Shop) -> None:
    """A branch that the user has checked out elsewhere is not taken from under that checkout."""
    shop.git("branch", OURS)
    shop.git("worktree", "add", "-q", str(shop.root.parent / "peek"), OURS)
    with pytest.raises(EnvironmentProblem, match="peek") as told:
        shop.prepare()
    assert "switch that checkout" in told.value.hint


def test_a_link_in_place_of_the_worktree(shop: Shop, tmp_path: Path) -> None:
    """A link where the worktree should be is refused: nothing is written to where it leads."""
    target = tmp_path / "elsewhere"
    target.mkdir()
    folder = shop.root / ".sow/local/worktrees"
    folder.mkdir(parents=True)
    (folder / "010").symlink_to(target)
    with pytest.raises(EnvironmentProblem, match="symbolic link"):
        shop.prepare()
    assert list(target.iterdir()) == []


def test_no_commit_yet(bare_repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository without a commit is an error that says how to make one."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    bare_repo.git("switch", "-q", "--orphan", "feat/new")
    bare_repo.git("branch", "-q", "-D", "main")
    for act in (
        lambda: Worktrees(home_at(bare_repo.root), RUN).prepare("010", "HEAD"),
        lambda: Integration(home_at(bare_repo.root), RUN, record=record_of(home_at(bare_repo.root), RUN)).begin("HEAD"),
    ):
        with pytest.raises(SowError, match="no commit yet") as told:
            act()
        assert "git commit" in told.value.hint


def test_an_unknown_base(shop: Shop) -> None:
    """A base that is no commit is refused before anything is made."""
    with pytest.raises(SowError, match="no commit 'nowhere'"):
        shop.prepare(base="nowhere")
    assert "010" not in shop.git("worktree", "list")


@pytest.mark.parametrize("task", ["", "..", "10", "010/x", "-x", "010-review", "a10"])
def test_only_ids_become_names(shop: Shop, task: str) -> None:
    """What is no task id never becomes part of a path or a branch."""
    with pytest.raises(SowError, match="not a task id"):
        shop.prepare(task)


@pytest.mark.parametrize("run", ["", "..", "a/b", "-x", "x--y", "a b", "x" * 65, "r\n"])
def test_only_run_ids_become_names(shop: Shop, run: str) -> None:
    """What is no id of a run never becomes part of a path or a branch."""
    with pytest.raises(SowError, match="not the id of a run"):
        Worktrees(shop.home, run)


def test_two_runs_at_once(shop: Shop) -> None:
    """Two homes of one repository have worktrees of the same task side by side, each with its own work."""
    second = shop.root.parent / "second"
    shop.git("worktree", "add", "-q", "-b", "feat/second", str(second))
    other = Shop(Repo(second, shop.repo.environment), LATER)
    first, there = shop.prepare(), other.prepare()
    shop.write("first.txt", where=first)
    shop.write("second.txt", where=there)
    assert shop.collect().paths == ["first.txt"]
    assert other.collect().paths == ["second.txt"]
    assert reason(shop) == ""
    assert there.exists()


def test_submodules(shop: Shop) -> None:
    """A repository with a submodule has clean worktrees, its entry is kept, and they can be removed."""
    other = shop.root.parent / "library"
    other.mkdir()
    shop.git("init", "-q", "-b", "main", cwd=other)
    shop.write("lib.txt", where=other)
    shop.commit(where=other)
    shop.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib/other")
    shop.commit()
    before = shop.user_side()
    where = shop.prepare()
    assert shop.git("status", "--porcelain", cwd=where) == ""
    shop.write("new.txt", where=where)
    assert shop.collect().paths == ["new.txt"]
    assert reason(shop) == ""
    assert not where.exists()
    assert shop.user_side() == before


def test_a_submodule_that_the_worker_filled(shop: Shop) -> None:
    """A worktree whose submodule has commits of its own is not removed."""
    other = shop.root.parent / "library"
    other.mkdir()
    shop.git("init", "-q", "-b", "main", cwd=other)
    shop.write("lib.txt", where=other)
    shop.commit(where=other)
    shop.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib/other")
    shop.commit()
    where = shop.prepare()
    shop.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", cwd=where)
    shop.write("lib/other/more.txt", where=where)
    inner = shop.commit(where=where / "lib/other")
    collected = shop.collect()
    assert collected.paths == ["lib/other"]
    assert inner in shop.git("ls-tree", collected.commit, "lib/other")
    assert "repository of its own" in reason(shop)
    assert (where / "lib/other/more.txt").exists()


def test_a_large_repository_setting(shop: Shop) -> None:
    """Settings of the user's for checkouts and indexes change nothing of what a worktree has."""
    for name in ("core.splitIndex", "core.untrackedCache", "index.sparse", "core.sparseCheckout", "core.fsmonitor"):
        shop.git("config", name, "true")
    (shop.root / ".git/info/sparse-checkout").write_text("/README.md\n")
    where = shop.prepare()
    assert (where / "src/a.txt").exists()
    shop.git("checkout", "-q", "HEAD~0", cwd=where)
    shop.git("reset", "-q", "--hard", cwd=where)
    assert (where / "src/a.txt").exists()
    shop.write("new.txt", where=where)
    assert shop.collect().paths == ["new.txt"]


def test_line_endings(shop: Shop) -> None:
    """With core.autocrlf a worktree has the user's line endings, is clean, and what is collected has git's."""
    shop.git("config", "core.autocrlf", "true")
    shop.git("config", "core.safecrlf", "true")
    where = shop.prepare()
    assert (where / "src/a.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert shop.git("status", "--porcelain", cwd=where) == ""
    (where / "src/a.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    (where / "new.txt").write_bytes(b"new\nmixed\r\n")
    collected = shop.collect()
    assert collected.paths == ["new.txt"]
    assert "\r" not in shop.text(collected.commit, "new.txt")


def with_filter(shop: Shop, *, required: str) -> None:
    shop.git("config", "filter.big.smudge", "no-such-filter smudge")
    shop.git("config", "filter.big.clean", "no-such-filter clean")
    shop.git("config", "filter.big.required", required)


def test_a_filter_that_is_missing(shop: Shop) -> None:
    """A filter that the repository requires and the machine has not is a problem of the environment, told by name."""
    shop.write(".gitattributes", "*.bin filter=big\n")
    shop.write("data.bin", "version 1\n")
    shop.commit()
    with_filter(shop, required="true")
    with pytest.raises(EnvironmentProblem, match="filter") as told:
        shop.prepare()
    assert "install the filter" in told.value.hint
    with_filter(shop, required="false")
    where = shop.prepare()
    assert (where / "data.bin").read_text() == "version 1\n"
    assert shop.collect().paths == []


def test_a_filter_that_goes_missing(shop: Shop) -> None:
    """Where a required filter has stopped working, files are collected without it, and that is said."""
    shop.write(".gitattributes", "*.bin filter=big\n")
    shop.commit()
    where = shop.prepare()
    with_filter(shop, required="true")
    shop.write("data.bin", where=where)
    shop.write("new.txt", where=where)
    collected = shop.collect()
    assert collected.paths == ["data.bin", "new.txt"]
    assert "the filter big does not work: files were taken without it" in collected.remarks


def test_a_huge_file(shop: Shop) -> None:
    """A large file is collected like any other, and a diff of it is short."""
    where = shop.prepare()
    with (where / "huge.txt").open("w") as file:
        for number in range(1 << 20):
            file.write(f"line {number}\n")
    collected = shop.collect()
    assert collected.paths == ["huge.txt"]
    text = shop.worktrees.diff("HEAD", collected.commit, 20_000)
    assert len(text.encode()) < 21_000
    assert "huge.txt" in text


def test_removal_keeps_what_is_not_committed(shop: Shop) -> None:
    """A worktree with loose work is not removed, and the refusal names a file."""
    where = shop.prepare()
    shop.write("loose.txt", where=where)
    assert "loose.txt" in reason(shop)
    assert (where / "loose.txt").exists()


def test_removal_keeps_what_is_not_pinned(shop: Shop) -> None:
    """A worktree whose commits only its own branch holds is not removed."""
    where = shop.prepare()
    shop.write("new.txt", where=where)
    done = shop.commit(where=where)
    assert done[:12] in reason(shop)
    assert where.exists()
    shop.collect()
    assert reason(shop) == ""
    assert not where.exists()
    assert shop.is_kept(done)


def test_removal_keeps_a_place_where_somebody_works(shop: Shop) -> None:
    """A worktree in which a process works is not removed, and the refusal names the process."""
    where = shop.prepare()
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], cwd=where, stdin=subprocess.PIPE)
    try:
        assert f"process {process.pid} " in reason(shop)
    finally:
        process.communicate()
    assert reason(shop) == ""


def test_removal_keeps_a_locked_worktree(shop: Shop) -> None:
    """A worktree that somebody has locked is not removed."""
    where = shop.prepare()
    lock_it(shop, where)
    assert "locked" in reason(shop)
    assert where.exists()


def test_removal_takes_ignored_files_along(shop: Shop) -> None:
    """Ignored files do not keep a worktree, and nothing of it is left in git but its branch."""
    where = shop.prepare()
    shop.write("out.log", where=where)
    assert reason(shop) == ""
    assert not where.exists()
    assert "010" not in shop.git("worktree", "list")
    assert reason(shop) == ""


def test_removal_of_a_folder_that_is_gone(shop: Shop) -> None:
    """A worktree whose folder was removed by hand is forgotten when its work is pinned, and it alone."""
    where = shop.prepare()
    other = shop.prepare("020")
    shop.write("new.txt", where=where)
    shop.collect()
    shutil.rmtree(where)
    shutil.rmtree(other)
    assert reason(shop) == ""
    assert os.listdir(shop.root / ".git/worktrees") == ["020"]


def test_a_live_git_keeps_its_lock(shop: Shop) -> None:
    """The lock of a git that works in the worktree stays, and that of a dead one is removed."""
    where = shop.prepare()
    lock = shop.root / ".git/worktrees/010/index.lock"
    lock.touch()
    process = subprocess.Popen(["git", "cat-file", "--batch"], cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        shop.collect()
        assert lock.exists()
    finally:
        process.communicate()
    collected = shop.collect()
    assert not lock.exists()
    assert any("index.lock" in each for each in collected.remarks)


def test_a_stale_lock_of_a_ref(shop: Shop) -> None:
    """The lock that a killed git left on a ref of ours does not stop the next one."""
    shop.prepare()
    lock = shop.root / f".git/refs/sow/keep/{RUN}/010/1.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert shop.collect().paths == []
    assert shop.pins()["010/1"]


def test_a_git_that_outlives_its_sow_is_waited_for(shop: Shop, tmp_path: Path) -> None:
    """When sow is killed in the middle of a git call, the next one waits until that git has ended."""
    shop.write(".gitattributes", "*.slow filter=slow\n")
    shop.write("x.slow", "slow\n")
    shop.commit()
    ready, go = tmp_path / "ready", tmp_path / "go"
    os.mkfifo(go)
    script = tmp_path / "slow.sh"
    script.write_text(f"cat; touch {ready}; read line < {go}\n")
    shop.git("config", "filter.slow.smudge", f"sh {script}")
    root = str(shop.root)
    code = f"from support.worktree_repo import *\nWorktrees(home_at({root!r}), RUN).prepare('010', 'HEAD')"
    paths = os.pathsep.join([str(TESTS), shop.repo.environment["PYTHONPATH"]])
    environment = {**shop.repo.environment, "PYTHONPATH": paths}
    where = shop.root / ".sow/local/worktrees/010"
    sow = subprocess.Popen([sys.executable, "-c", code], env=environment)
    wait_for(ready.exists)
    ready.unlink()
    sow.send_signal(signal.SIGKILL)
    sow.wait()
    second = subprocess.Popen([sys.executable, "-c", code], env=environment)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1)
        assert not ready.exists()
        go.write_text("on\n")
        wait_for(ready.exists)
        go.write_text("on\n")
        assert second.wait(300) == 0
    finally:
        second.kill()
        second.wait()
        for pid in process_tree.processes_in_folder(str(where)):
            os.kill(pid, signal.SIGKILL)
    assert (where / "x.slow").read_text() == "slow\n"


def test_our_refs_only(shop: Shop) -> None:
    """No ref of the user's can be moved through the door by which ours are."""
    with pytest.raises(AssertionError):
        shop.worktrees.repository.set_ref(f"refs/heads/{BRANCH}", shop.head(), why="no")
    with pytest.raises(AssertionError):
        shop.worktrees.repository.drop_ref(f"refs/heads/{BRANCH}", shop.head())


def test_a_ref_that_cannot_be_moved(shop: Shop) -> None:
    """A ref whose old value is another than expected is not moved, and the error says which."""
    with pytest.raises(SystemFailure, match="cannot move refs/sow/keep/x"):
        shop.worktrees.repository.set_ref("refs/sow/keep/x", shop.head(), shop.head(), why="no")
