"""All work that runs left is listed and can be restored; it is deleted only if it is contained elsewhere."""

from __future__ import annotations

import shutil

import pytest
from support.quick_cases import few_of
from support.worktree_repo import BRANCH, RUN, WorktreeRepo

from sow.errors import SowError
from sow.gitwork import prune as gitwork_prune
from sow.gitwork import salvage
from sow.gitwork.salvage import BRANCH as OF_BRANCH
from sow.gitwork.salvage import PIN, WORKTREE

DAY = 86400.0
NOW = -10.0  # older than ten seconds from now: everything


@pytest.fixture
def done(worktree_repo: WorktreeRepo) -> WorktreeRepo:
    """A run with one merged task, and one that was never merged."""
    worktree_repo.integration.begin("HEAD")
    for task in ("010", "020"):
        work = worktree_repo.work(task, f"{task}.txt", task)
        if task == "010":
            worktree_repo.merge(task, work.commit)
    return worktree_repo


def kinds(worktree_repo: WorktreeRepo, kind: str) -> dict[str, salvage.KeptItem]:
    return {
        list_item.short: list_item for list_item in salvage.list_items(worktree_repo.home) if list_item.kind == kind
    }


def prune(
    worktree_repo: WorktreeRepo, *ended: str, older_than: float = NOW, unmerged: bool = False
) -> gitwork_prune.PruneResult:
    return gitwork_prune.prune(worktree_repo.home, older_than, ended=ended, unmerged=unmerged)


def test_all_work_is_listed(done: WorktreeRepo) -> None:
    """Pins, branches and worktrees have run, task, iteration, date, subject and the branches that contain them."""
    pins = kinds(done, PIN)
    pin = pins[f"{RUN}/010/1"]
    assert (pin.run, pin.task, pin.name, pin.subject) == (RUN, "010", "1", "Work on 010")
    assert pin.commit == done.pins()["010/1"]
    assert abs(pin.date - int(done.git("log", "-1", "--format=%ct", pin.commit))) == 0
    assert pin.merged == [f"sow/int/{RUN}"]
    assert pins[f"{RUN}/020/1"].merged == []
    assert set(kinds(done, OF_BRANCH)) == {f"sow/int/{RUN}", f"sow/task/{RUN}/010", f"sow/task/{RUN}/020"}
    worktrees = [list_item for list_item in salvage.list_items(done.home) if list_item.kind == WORKTREE]
    assert {worktree.task for worktree in worktrees} == {"010", "020"}
    assert all(worktree.path for worktree in worktrees)
    done.deliver()
    assert set(kinds(done, PIN)[f"{RUN}/010/1"].merged) == {BRANCH, f"sow/int/{RUN}"}


def test_an_empty_list(worktree_repo: WorktreeRepo) -> None:
    """A repository without a run has nothing to salvage, and listing writes nothing."""
    assert salvage.list_items(worktree_repo.home) == []


@pytest.mark.full
def test_damaged_worktrees_do_not_stop_the_list(done: WorktreeRepo) -> None:
    """A worktree without its folder or its record is left out, and the rest is listed."""
    shutil.rmtree(done.root / ".sow/local/worktrees/010")
    shutil.rmtree(done.root / ".git/worktrees/020")
    assert f"{RUN}/020/1" in kinds(done, PIN)


@few_of("form", ["short", "ref", "commit"], 2)
def test_restore_makes_a_branch(done: WorktreeRepo, form: str) -> None:
    """Kept work becomes a branch, named by its pin or its commit."""
    commit = done.pins()["020/1"]
    what = {"short": f"{RUN}/020/1", "ref": f"refs/sow/keep/{RUN}/020/1", "commit": commit[:10]}[form]
    kept = salvage.restore(done.home, what, "salvaged/020")
    assert kept.commit == commit
    assert done.git("rev-parse", "salvaged/020").strip() == commit


@few_of("branch", ["", "-x", "a..b", BRANCH, "a b", "sow/task/x/010", "sow/int/x", "x.lock"], 2)
def test_bad_branch_names_are_refused(done: WorktreeRepo, branch: str) -> None:
    """A name that is invalid, taken or sow's is refused, and no branch is moved."""
    before = done.git("for-each-ref")
    with pytest.raises(SowError):
        salvage.restore(done.home, f"{RUN}/020/1", branch)
    assert done.git("for-each-ref") == before


@few_of("what", ["", "HEAD", BRANCH, "020", "f" * 40, f"{RUN}/020/9", "--all"], 2)
def test_unknown_work_cannot_be_restored(done: WorktreeRepo, what: str) -> None:
    """Only work that a run kept can be restored."""
    with pytest.raises(SowError, match="names nothing that a run left"):
        salvage.restore(done.home, what, "salvaged/x")


@pytest.mark.full
def test_pruning_keeps_what_is_contained_nowhere_else(done: WorktreeRepo) -> None:
    """Work that only a run holds stays, however old; merged work is deleted with its worktree."""
    lost = done.pins()["020/1"]
    done.deliver()
    pruned = prune(done, "010", "020")
    assert {"010", "020", f"{RUN}/010/1", f"sow/int/{RUN}", f"sow/task/{RUN}/010"} <= set(pruned.removed)
    assert pruned.kept[f"{RUN}/020/1"] == "contained nowhere else"
    assert done.is_kept(lost)
    assert f"sow/task/{RUN}/020" in pruned.removed  # its commit is pinned
    assert set(done.pins()) == {"020/1"}
    assert not (done.root / ".sow/local/worktrees/010").exists()
    asked = prune(done, unmerged=True)
    assert asked.removed == [f"{RUN}/020/1"]


@pytest.mark.full
def test_pruning_during_a_run_keeps_its_merges(done: WorktreeRepo) -> None:
    """Work that is merged only into the run's own branch is not contained elsewhere."""
    pruned = prune(done, "010")
    assert pruned.kept[f"{RUN}/010/1"] == "contained nowhere else"
    assert pruned.kept[f"sow/int/{RUN}"] == "contained nowhere else"
    assert pruned.kept[f"sow/task/{RUN}/020"] == "task 020 has not ended"


@pytest.mark.full
def test_pruning_keeps_what_is_young(done: WorktreeRepo) -> None:
    """Work that is younger than the given age stays, merged or not."""
    done.deliver()
    pruned = prune(done, older_than=DAY, unmerged=True)
    assert pruned.removed == []
    assert set(pruned.kept.values()) == {"not old enough"}


@pytest.mark.full
def test_pruning_keeps_uncommitted_work(done: WorktreeRepo) -> None:
    """A worktree of an ended task with uncommitted work stays, with the reason; a judge's checkout is deleted."""
    where = done.prepare("020")
    done.write("loose.txt", where=where)
    done.worktrees.make_judge_checkout("020", done.pins()["020/1"], "HEAD")
    pruned = prune(done, "020")
    assert "loose.txt" in pruned.kept["020"]
    assert "020-review" in pruned.removed
    assert (where / "loose.txt").exists()
    assert pruned.kept[f"sow/task/{RUN}/020"].startswith("checked out in")


@pytest.mark.full
def test_pruning_works_with_odd_tags(done: WorktreeRepo) -> None:
    """Tags on files and on other tags are ignored."""
    blob = done.git("rev-parse", "HEAD:README.md").strip()
    done.git("tag", "a-file", blob)
    done.git("tag", "-a", "-m", "x", "annotated", done.pins()["020/1"])
    done.git("tag", "-a", "-m", "x", "twice", "annotated")
    pruned = prune(done, "020")
    assert f"{RUN}/020/1" in pruned.removed
