"""The worktree of a task: made, found again in any state, and removed only if nothing is lost."""

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
from support.quick_cases import few_of
from support.simulated_workers import wait_for
from support.worktree_repo import BRANCH, LATER, RUN, WorktreeRepo, home_at, record_of

from sow.errors import SowError, SystemFailure
from sow.gitwork import repository
from sow.gitwork.integration_branch import Integration
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import EnvironmentProblem
from sow.gitwork.worktrees import Worktrees
from sow.system.process import process_tree

OURS = f"sow/task/{RUN}/010"


def reason(worktree_repo: WorktreeRepo, task: str = "010") -> str:
    refused = worktree_repo.worktrees.remove(task)
    return refused.reason if refused else ""


def test_a_worktree_has_no_state_files(worktree_repo: WorktreeRepo) -> None:
    """A new worktree is clean, is on its branch at the base, and has every file but those of the state."""
    before = worktree_repo.user_side()
    where = worktree_repo.prepare()
    assert where == worktree_repo.root / ".sow/local/worktrees/010"
    assert worktree_repo.git("branch", "--show-current", cwd=where).strip() == OURS
    assert worktree_repo.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert worktree_repo.head(where) == worktree_repo.head()
    assert (where / "src/a.txt").read_text() == "one\ntwo\nthree\n"
    assert (where / ".sow/config.yaml").exists()
    assert not (where / ".sow/project").exists()
    assert worktree_repo.user_side() == before


def test_a_worktree_has_no_workflow_folders(worktree_repo: WorktreeRepo) -> None:
    """A worktree leaves out the agent folders of a workflow, and its status is still clean."""
    worktree_repo.write("orchestration/shared_status.json", "{}\n")
    worktree_repo.commit()
    where = worktree_repo.prepare()
    assert not (where / "orchestration").exists()
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""


def test_an_existing_worktree_is_not_changed(worktree_repo: WorktreeRepo) -> None:
    """A second call changes nothing of a worker's changes."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    worktree_repo.write("src/a.txt", "changed\n", where=where)
    worktree_repo.git("add", "new.txt", cwd=where)
    worktree_repo.git("rm", "-q", "src/b.txt", cwd=where)
    status = worktree_repo.git("status", "--porcelain", cwd=where)
    assert worktree_repo.prepare() == where
    assert worktree_repo.git("status", "--porcelain", cwd=where) == status


def test_a_worktree_of_an_earlier_run(worktree_repo: WorktreeRepo) -> None:
    """A later run uses the worktree with its work, on a branch of its own; the earlier branch stays."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    done = worktree_repo.commit(where=where)
    worktree_repo.write("more.txt", where=where)
    later = WorktreeRepo(worktree_repo.repo, LATER)
    assert later.prepare() == where
    assert worktree_repo.git("branch", "--show-current", cwd=where).strip() == f"sow/task/{LATER}/010"
    assert worktree_repo.head(where) == done
    assert (where / "more.txt").exists()
    assert worktree_repo.git("rev-parse", OURS).strip() == done
    assert worktree_repo.is_kept(done)


def test_a_fresh_start(worktree_repo: WorktreeRepo) -> None:
    """A fresh start has only the base's files, and earlier work, committed or not, stays reachable."""
    where = worktree_repo.prepare()
    worktree_repo.write("committed.txt", where=where)
    done = worktree_repo.commit(where=where)
    worktree_repo.write("loose.txt", "loose\n", where=where)
    worktree_repo.write("out.log", where=where)
    assert worktree_repo.prepare(fresh=True) == where
    assert worktree_repo.head(where) == worktree_repo.head()
    assert worktree_repo.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert worktree_repo.is_kept(done)
    assert any("loose.txt" in worktree_repo.git("ls-tree", "--name-only", pin) for pin in worktree_repo.pins().values())


def remove_folder(worktree_repo: WorktreeRepo, where: Path) -> None:
    shutil.rmtree(where)


def remove_pointer(worktree_repo: WorktreeRepo, where: Path) -> None:
    (where / ".git").unlink()


def damage_pointer(worktree_repo: WorktreeRepo, where: Path) -> None:
    (where / ".git").write_text("nonsense\n")


def point_elsewhere(worktree_repo: WorktreeRepo, where: Path) -> None:
    (where / ".git").write_text(f"gitdir: {worktree_repo.root}/.git\n")


def lose_record(worktree_repo: WorktreeRepo, where: Path) -> None:
    shutil.rmtree(worktree_repo.root / ".git/worktrees/010")


def lock_it(worktree_repo: WorktreeRepo, where: Path) -> None:
    worktree_repo.git("worktree", "lock", "--reason", "mine", str(where))


def lock_and_remove(worktree_repo: WorktreeRepo, where: Path) -> None:
    lock_it(worktree_repo, where)
    shutil.rmtree(where)


def empty_index(worktree_repo: WorktreeRepo, where: Path) -> None:
    (worktree_repo.root / ".git/worktrees/010/index").write_bytes(b"")


def leave_initialising(worktree_repo: WorktreeRepo, where: Path) -> None:
    (worktree_repo.root / ".git/worktrees/010/locked").write_text("initializing\n")


def lose_head(worktree_repo: WorktreeRepo, where: Path) -> None:
    (worktree_repo.root / ".git/worktrees/010/HEAD").unlink()


def delete_branch(worktree_repo: WorktreeRepo, where: Path) -> None:
    worktree_repo.git("update-ref", "-d", f"refs/heads/{OURS}")


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


@few_of("damage", DAMAGE, 4, ids=lambda act: act.__name__)
def test_a_damaged_worktree_is_repaired(worktree_repo: WorktreeRepo, damage: object) -> None:
    """After any damage the worktree is at its path, on its branch, with its commits."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    done = worktree_repo.commit(where=where)
    others = worktree_repo.root.parent / "other worktree"
    worktree_repo.git("worktree", "add", "-q", "--detach", str(others))
    shutil.rmtree(others)
    before = worktree_repo.user_side()
    damage(worktree_repo, where)  # type: ignore[operator]
    assert worktree_repo.prepare() == where
    assert worktree_repo.git("branch", "--show-current", cwd=where).strip() == OURS
    assert worktree_repo.head(where) == done
    assert (where / "new.txt").exists()
    assert worktree_repo.collect().commit == done
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    assert worktree_repo.user_side() == before
    assert str(others) in worktree_repo.git("worktree", "list")  # another stale worktree is not ours to prune


def test_a_moved_repository(worktree_repo: WorktreeRepo) -> None:
    """After the whole repository was moved, the worktree is linked to it again, with its work."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    target = worktree_repo.root.parent / "moved here"
    worktree_repo.root.rename(target)
    moved = WorktreeRepo(Repo(target, worktree_repo.repo.environment))
    there = moved.prepare()
    assert there == target / ".sow/local/worktrees/010"
    assert moved.collect().paths == ["new.txt"]
    assert worktree_repo.git("status", "--porcelain", cwd=there) == ""


def test_a_half_made_worktree_is_filled(worktree_repo: WorktreeRepo) -> None:
    """A worktree that git made and sow did not fill is filled, and not read as one with deleted files."""
    worktree_repo.git("branch", OURS)
    where = worktree_repo.root / ".sow/local/worktrees/010"
    worktree_repo.git("worktree", "add", "-q", "--no-checkout", str(where), OURS)
    (where / "src").mkdir()
    (where / "src/a.txt").write_text("half")
    worktree_repo.prepare()
    assert (where / "src/a.txt").read_text() == "one\ntwo\nthree\n"
    assert worktree_repo.collect().paths == []


def test_an_existing_branch_is_used(worktree_repo: WorktreeRepo) -> None:
    """A branch of the task without a worktree keeps its commits, and the worktree is made from it."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    done = worktree_repo.collect().commit
    assert reason(worktree_repo) == ""
    assert not where.exists()
    assert worktree_repo.prepare() == where
    assert worktree_repo.head(where) == done


def test_a_branch_that_the_user_has_checked_out(worktree_repo: WorktreeRepo) -> None:
    """A branch that the user has checked out elsewhere is left in that checkout."""
    worktree_repo.git("branch", OURS)
    worktree_repo.git("worktree", "add", "-q", str(worktree_repo.root.parent / "peek"), OURS)
    with pytest.raises(EnvironmentProblem, match="peek") as error:
        worktree_repo.prepare()
    assert "switch that checkout" in error.value.hint


def test_a_link_in_place_of_the_worktree(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """A link in place of the worktree is refused: nothing is written behind it."""
    target = tmp_path / "elsewhere"
    target.mkdir()
    folder = worktree_repo.root / ".sow/local/worktrees"
    folder.mkdir(parents=True)
    (folder / "010").symlink_to(target)
    with pytest.raises(EnvironmentProblem, match="symbolic link"):
        worktree_repo.prepare()
    assert list(target.iterdir()) == []


def test_no_commit_yet(bare_repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository without a commit is an error that says how to make one."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    bare_repo.git("switch", "-q", "--orphan", "feat/new")
    bare_repo.git("branch", "-q", "-D", "main")
    for act in (
        lambda: Worktrees(Repository(home_at(bare_repo.root)), RUN).prepare("010", "HEAD"),
        lambda: Integration(Repository(home_at(bare_repo.root)), record_of(home_at(bare_repo.root), RUN)).begin("HEAD"),
    ):
        with pytest.raises(SowError, match="no commit yet") as error:
            act()
        assert "git commit" in error.value.hint


def test_an_unknown_base(worktree_repo: WorktreeRepo) -> None:
    """A base that is no commit is refused before anything is made."""
    with pytest.raises(SowError, match="no commit 'nowhere'"):
        worktree_repo.prepare(base="nowhere")
    assert "010" not in worktree_repo.git("worktree", "list")


@pytest.mark.parametrize("task", ["", "..", "10", "010/x", "-x", "010-review", "a10"])
def test_only_task_ids_become_names(worktree_repo: WorktreeRepo, task: str) -> None:
    """An invalid task id never becomes part of a path or a branch."""
    with pytest.raises(SowError, match="not a task id"):
        worktree_repo.prepare(task)


@pytest.mark.parametrize("run", ["", "..", "a/b", "-x", "x--y", "a b", "x" * 65, "r\n"])
def test_only_run_ids_become_names(worktree_repo: WorktreeRepo, run: str) -> None:
    """An invalid run id never becomes part of a path or a branch."""
    with pytest.raises(SowError, match="not the id of a run"):
        Worktrees(Repository(worktree_repo.home), run)


@pytest.mark.full
def test_two_parallel_runs(worktree_repo: WorktreeRepo) -> None:
    """Two homes of one repository have separate worktrees of the same task."""
    second = worktree_repo.root.parent / "second"
    worktree_repo.git("worktree", "add", "-q", "-b", "feat/second", str(second))
    other = WorktreeRepo(Repo(second, worktree_repo.repo.environment), LATER)
    first, there = worktree_repo.prepare(), other.prepare()
    worktree_repo.write("first.txt", where=first)
    worktree_repo.write("second.txt", where=there)
    assert worktree_repo.collect().paths == ["first.txt"]
    assert other.collect().paths == ["second.txt"]
    assert reason(worktree_repo) == ""
    assert there.exists()


def add_submodule(worktree_repo: WorktreeRepo) -> None:
    """Commits the submodule lib/other."""
    other = worktree_repo.root.parent / "library"
    other.mkdir()
    worktree_repo.git("init", "-q", "-b", "main", cwd=other)
    worktree_repo.write("lib.txt", where=other)
    worktree_repo.commit(where=other)
    worktree_repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib/other")
    worktree_repo.commit()


@pytest.mark.full
def test_submodules(worktree_repo: WorktreeRepo) -> None:
    """A repository with a submodule has clean worktrees with its entry, and they can be removed."""
    add_submodule(worktree_repo)
    before = worktree_repo.user_side()
    where = worktree_repo.prepare()
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    worktree_repo.write("new.txt", where=where)
    assert worktree_repo.collect().paths == ["new.txt"]
    assert reason(worktree_repo) == ""
    assert not where.exists()
    assert worktree_repo.user_side() == before


@pytest.mark.full
def test_a_submodule_that_the_worker_filled(worktree_repo: WorktreeRepo) -> None:
    """A worktree whose submodule has commits of its own is not removed."""
    add_submodule(worktree_repo)
    where = worktree_repo.prepare()
    worktree_repo.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", cwd=where)
    worktree_repo.write("lib/other/more.txt", where=where)
    inner = worktree_repo.commit(where=where / "lib/other")
    collected = worktree_repo.collect()
    assert collected.paths == ["lib/other"]
    assert inner in worktree_repo.git("ls-tree", collected.commit, "lib/other")
    assert "repository of its own" in reason(worktree_repo)
    assert (where / "lib/other/more.txt").exists()


def test_settings_for_large_repositories(worktree_repo: WorktreeRepo) -> None:
    """Settings of the user for checkouts and indexes do not change a worktree's files."""
    for name in ("core.splitIndex", "core.untrackedCache", "index.sparse", "core.sparseCheckout", "core.fsmonitor"):
        worktree_repo.git("config", name, "true")
    (worktree_repo.root / ".git/info/sparse-checkout").write_text("/README.md\n")
    where = worktree_repo.prepare()
    assert (where / "src/a.txt").exists()
    worktree_repo.git("checkout", "-q", "HEAD~0", cwd=where)
    worktree_repo.git("reset", "-q", "--hard", cwd=where)
    assert (where / "src/a.txt").exists()
    worktree_repo.write("new.txt", where=where)
    assert worktree_repo.collect().paths == ["new.txt"]


def test_line_endings(worktree_repo: WorktreeRepo) -> None:
    """With core.autocrlf a worktree has the user's line endings and is clean, and collected files have git's."""
    worktree_repo.git("config", "core.autocrlf", "true")
    worktree_repo.git("config", "core.safecrlf", "true")
    where = worktree_repo.prepare()
    assert (where / "src/a.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    (where / "src/a.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    (where / "new.txt").write_bytes(b"new\nmixed\r\n")
    collected = worktree_repo.collect()
    assert collected.paths == ["new.txt"]
    assert "\r" not in worktree_repo.text(collected.commit, "new.txt")


def with_filter(worktree_repo: WorktreeRepo, *, required: str) -> None:
    worktree_repo.git("config", "filter.big.smudge", "no-such-filter smudge")
    worktree_repo.git("config", "filter.big.clean", "no-such-filter clean")
    worktree_repo.git("config", "filter.big.required", required)


def test_a_filter_that_is_missing(worktree_repo: WorktreeRepo) -> None:
    """A required filter that the machine lacks is a problem of the environment, reported by name."""
    worktree_repo.write(".gitattributes", "*.bin filter=big\n")
    worktree_repo.write("data.bin", "version 1\n")
    worktree_repo.commit()
    with_filter(worktree_repo, required="true")
    with pytest.raises(EnvironmentProblem, match="filter") as error:
        worktree_repo.prepare()
    assert "install the filter" in error.value.hint
    with_filter(worktree_repo, required="false")
    where = worktree_repo.prepare()
    assert (where / "data.bin").read_text() == "version 1\n"
    assert worktree_repo.collect().paths == []


def test_a_filter_that_goes_missing(worktree_repo: WorktreeRepo) -> None:
    """If a required filter stopped working, files are collected without it, with a remark."""
    worktree_repo.write(".gitattributes", "*.bin filter=big\n")
    worktree_repo.commit()
    where = worktree_repo.prepare()
    with_filter(worktree_repo, required="true")
    worktree_repo.write("data.bin", where=where)
    worktree_repo.write("new.txt", where=where)
    collected = worktree_repo.collect()
    assert collected.paths == ["data.bin", "new.txt"]
    assert "the filter big does not work: files were taken without it" in collected.remarks


@pytest.mark.full
def test_a_huge_file(worktree_repo: WorktreeRepo) -> None:
    """A large file is collected like any other, and a diff of it is short."""
    where = worktree_repo.prepare()
    with (where / "huge.txt").open("w") as file:
        for number in range(1 << 20):
            file.write(f"line {number}\n")
    collected = worktree_repo.collect()
    assert collected.paths == ["huge.txt"]
    text = repository.diff(worktree_repo.worktrees.repository, "HEAD", collected.commit, 20_000)
    assert len(text.encode()) < 21_000
    assert "huge.txt" in text


def test_removal_keeps_uncommitted_work(worktree_repo: WorktreeRepo) -> None:
    """A worktree with uncommitted work is not removed, and the refusal names a file."""
    where = worktree_repo.prepare()
    worktree_repo.write("loose.txt", where=where)
    assert "loose.txt" in reason(worktree_repo)
    assert (where / "loose.txt").exists()


def test_removal_keeps_unpinned_commits(worktree_repo: WorktreeRepo) -> None:
    """A worktree whose commits only its own branch holds is not removed."""
    where = worktree_repo.prepare()
    worktree_repo.write("new.txt", where=where)
    done = worktree_repo.commit(where=where)
    assert done[:12] in reason(worktree_repo)
    assert where.exists()
    worktree_repo.collect()
    assert reason(worktree_repo) == ""
    assert not where.exists()
    assert worktree_repo.is_kept(done)


def test_removal_keeps_a_worktree_in_use(worktree_repo: WorktreeRepo) -> None:
    """A worktree in which a process works is not removed, and the refusal names the process."""
    where = worktree_repo.prepare()
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], cwd=where, stdin=subprocess.PIPE)
    try:
        assert f"process {process.pid} " in reason(worktree_repo)
    finally:
        process.communicate()
    assert reason(worktree_repo) == ""


def test_removal_keeps_a_locked_worktree(worktree_repo: WorktreeRepo) -> None:
    """A worktree with a git lock is not removed."""
    where = worktree_repo.prepare()
    lock_it(worktree_repo, where)
    assert "locked" in reason(worktree_repo)
    assert where.exists()


def test_removal_deletes_ignored_files(worktree_repo: WorktreeRepo) -> None:
    """Ignored files do not keep a worktree, and git keeps only its branch."""
    where = worktree_repo.prepare()
    worktree_repo.write("out.log", where=where)
    assert reason(worktree_repo) == ""
    assert not where.exists()
    assert "010" not in worktree_repo.git("worktree", "list")
    assert reason(worktree_repo) == ""


def test_removal_of_a_missing_folder(worktree_repo: WorktreeRepo) -> None:
    """The record of a worktree whose folder was removed by hand is removed once its work is pinned."""
    where = worktree_repo.prepare()
    other = worktree_repo.prepare("020")
    worktree_repo.write("new.txt", where=where)
    worktree_repo.collect()
    shutil.rmtree(where)
    shutil.rmtree(other)
    assert reason(worktree_repo) == ""
    assert os.listdir(worktree_repo.root / ".git/worktrees") == ["020"]


def test_a_live_git_keeps_its_lock(worktree_repo: WorktreeRepo) -> None:
    """The lock of a git process in the worktree stays, and that of a dead one is removed."""
    where = worktree_repo.prepare()
    lock = worktree_repo.root / ".git/worktrees/010/index.lock"
    lock.touch()
    process = subprocess.Popen(["git", "cat-file", "--batch"], cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        worktree_repo.collect()
        assert lock.exists()
    finally:
        process.communicate()
    collected = worktree_repo.collect()
    assert not lock.exists()
    assert any("index.lock" in remark for remark in collected.remarks)


def test_a_stale_lock_of_a_ref(worktree_repo: WorktreeRepo) -> None:
    """The lock that a killed git left on a ref of sow does not stop the next one."""
    worktree_repo.prepare()
    lock = worktree_repo.root / f".git/refs/sow/keep/{RUN}/010/1.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert worktree_repo.collect().paths == []
    assert worktree_repo.pins()["010/1"]


def test_a_git_that_outlives_sow_is_waited_for(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """If sow is killed during a git call, the next call waits until that git has ended."""
    worktree_repo.write(".gitattributes", "*.slow filter=slow\n")
    worktree_repo.write("x.slow", "slow\n")
    worktree_repo.commit()
    ready, go = tmp_path / "ready", tmp_path / "go"
    os.mkfifo(go)
    script = tmp_path / "slow.sh"
    script.write_text(f"cat; touch {ready}; read line < {go}\n")
    worktree_repo.git("config", "filter.slow.smudge", f"sh {script}")
    root = str(worktree_repo.root)
    code = f"from support.worktree_repo import *\nWorktrees(Repository(home_at({root!r})), RUN).prepare('010', 'HEAD')"
    paths = os.pathsep.join([str(TESTS), worktree_repo.repo.environment["PYTHONPATH"]])
    environment = {**worktree_repo.repo.environment, "PYTHONPATH": paths}
    where = worktree_repo.root / ".sow/local/worktrees/010"
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


def test_only_refs_of_sow_move(worktree_repo: WorktreeRepo) -> None:
    """The function that moves refs of sow refuses every ref of the user."""
    with pytest.raises(AssertionError):
        worktree_repo.worktrees.repository.set_ref(f"refs/heads/{BRANCH}", worktree_repo.head(), why="no")
    with pytest.raises(AssertionError):
        worktree_repo.worktrees.repository.drop_ref(f"refs/heads/{BRANCH}", worktree_repo.head())


def test_a_ref_that_cannot_be_moved(worktree_repo: WorktreeRepo) -> None:
    """A ref whose old value differs from the expected one is not moved, and the error names it."""
    with pytest.raises(SystemFailure, match="cannot move refs/sow/keep/x"):
        worktree_repo.worktrees.repository.set_ref(
            "refs/sow/keep/x", worktree_repo.head(), worktree_repo.head(), why="no"
        )
