"""Every act of a run that changes something in git, with its preparation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from support.worktree_repo import WorktreeRepo

from sow.gitwork import prune as gitwork_prune
from sow.gitwork.integration_branch import Delivered
from sow.gitwork.repository import DeliveryRefused

STATE = ".sow/project/state.yaml"


class GitAct(NamedTuple):
    """One act and its preparation."""

    before: Callable[[WorktreeRepo], Any]
    run: Callable[[WorktreeRepo], Any]


def begin(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.integration.begin("HEAD")


def nothing(worktree_repo: WorktreeRepo) -> None:
    pass


def loose_work(worktree_repo: WorktreeRepo) -> None:
    """A worker that has committed, and has further changes."""
    begin(worktree_repo)
    where = worktree_repo.prepare()
    worktree_repo.write("committed.txt", where=where)
    worktree_repo.commit("by the worker", where=where)
    worktree_repo.write("loose.txt", "loose\n", where=where)
    (where / "src/b.txt").unlink()


def lost_folder(worktree_repo: WorktreeRepo) -> None:
    loose_work(worktree_repo)
    shutil.rmtree(worktree_repo.worktrees.path("010"))


def lost_record(worktree_repo: WorktreeRepo) -> None:
    loose_work(worktree_repo)
    shutil.rmtree(worktree_repo.root / ".git/worktrees/010")


def mischief(worktree_repo: WorktreeRepo) -> None:
    """A worker with nearly every forbidden act."""
    loose_work(worktree_repo)
    where = Path(worktree_repo.worktrees.path("010"))
    worktree_repo.write(STATE, "evil\n", where=where)
    worktree_repo.git("switch", "-q", "-c", "side", cwd=where)
    worktree_repo.write("src/a.txt", "side\n", where=where)
    worktree_repo.commit("side", where=where)
    worktree_repo.git("switch", "-q", "--detach", "HEAD~1", cwd=where)
    worktree_repo.write("src/a.txt", "ours\n", where=where)
    worktree_repo.commit("ours", where=where)
    worktree_repo.git("merge", "-q", "side", cwd=where, ok=False)
    (where / "inner").mkdir()
    worktree_repo.git("init", "-q", cwd=where / "inner")
    worktree_repo.write("inner/inner.txt", where=where)
    (worktree_repo.root / ".git/worktrees/010/index.lock").touch()


def new_repository(worktree_repo: WorktreeRepo) -> None:
    """A worker that replaced its repository by a new one."""
    loose_work(worktree_repo)
    where = Path(worktree_repo.worktrees.path("010"))
    (where / ".git").unlink()
    worktree_repo.git("init", "-q", "-b", "mine", cwd=where)
    worktree_repo.commit("mine", where=where)


def collected(worktree_repo: WorktreeRepo) -> None:
    loose_work(worktree_repo)
    collect(worktree_repo)


def merged(worktree_repo: WorktreeRepo) -> None:
    collected(worktree_repo)
    merge(worktree_repo)
    worktree_repo.write("orchestration/plan.md", "plan\n")
    worktree_repo.write(STATE, "newer\n")


def furniture(worktree_repo: WorktreeRepo) -> None:
    begin(worktree_repo)
    worktree_repo.prepare()
    worktree_repo.write("node_modules/pad.js")
    worktree_repo.write("conf/deep.log")


def prepare(worktree_repo: WorktreeRepo) -> str:
    return str(worktree_repo.prepare())


def start_again(worktree_repo: WorktreeRepo) -> str:
    return str(worktree_repo.prepare(fresh=True))


def collect(worktree_repo: WorktreeRepo) -> Any:
    result = worktree_repo.worktrees.collect("010", 1, "Work on 010", worktree_repo.integration.base)
    return [result.tree, result.paths]


def merge(worktree_repo: WorktreeRepo) -> Any:
    """Merges as a run does: recorded merges are not repeated."""
    begin(worktree_repo)
    if ("010", 1) not in worktree_repo.integration.merged_work():
        result = worktree_repo.integration.try_merge("010", 1, worktree_repo.pins()["010/1"], "Merge task 010")
        assert result.commit
        worktree_repo.integration.record_merge(result, task="010", iteration=1, work=worktree_repo.pins()["010/1"])
    return sorted(worktree_repo.integration.merged_work())


def save(worktree_repo: WorktreeRepo) -> str:
    begin(worktree_repo)
    return worktree_repo.git("rev-parse", f"{worktree_repo.integration.save_state('Save the state')}^{{tree}}")


def finish(worktree_repo: WorktreeRepo) -> Any:
    begin(worktree_repo)
    worktree_repo.integration.save_state("Save the state")
    done = worktree_repo.deliver()
    assert isinstance(done, Delivered), done.reason
    return worktree_repo.git("status", "--porcelain")


def refuse(worktree_repo: WorktreeRepo) -> Any:
    worktree_repo.write("src/b.txt", "the user's\n")
    done = worktree_repo.deliver()
    assert isinstance(done, DeliveryRefused)
    return done.reason


def furnish(worktree_repo: WorktreeRepo) -> Any:
    settings = {"link": ["node_modules"], "copy": ["conf"], "setup": [["true"]]}
    worktree_repo.worktrees.install_setup_files("010", settings)
    worktree_repo.worktrees.record_setup("010", settings)
    return sorted(os.listdir(Path(worktree_repo.worktrees.path("010")) / "conf"))


def judge(worktree_repo: WorktreeRepo) -> Any:
    where = Path(worktree_repo.worktrees.make_judge_checkout("010", worktree_repo.pins()["010/1"], "HEAD"))
    result = worktree_repo.git("status", "--porcelain", cwd=where), sorted(os.listdir(where))
    worktree_repo.worktrees.remove_judge_checkout("010")
    return result


def remove(worktree_repo: WorktreeRepo) -> Any:
    refused = worktree_repo.worktrees.remove("010")
    assert refused is None, refused.reason
    return os.path.lexists(worktree_repo.worktrees.path("010"))


def prune(worktree_repo: WorktreeRepo) -> Any:
    gitwork_prune.prune(worktree_repo.home, -10.0, ended=["010"])
    return sorted(os.listdir(worktree_repo.root / ".sow/local/worktrees"))


GIT_ACTS = {
    "begin": GitAct(nothing, begin),
    "prepare": GitAct(nothing, prepare),
    "prepare what lost its folder": GitAct(lost_folder, prepare),
    "prepare what lost its record": GitAct(lost_record, prepare),
    "start again": GitAct(loose_work, start_again),
    "start again after mischief": GitAct(mischief, start_again),
    "furnish": GitAct(furniture, furnish),
    "collect": GitAct(loose_work, collect),
    "collect after mischief": GitAct(mischief, collect),
    "collect from another repository": GitAct(new_repository, collect),
    "judge": GitAct(collected, judge),
    "merge": GitAct(collected, merge),
    "save the state": GitAct(merged, save),
    "finish": GitAct(merged, finish),
    "refuse to finish": GitAct(merged, refuse),
    "remove": GitAct(collected, remove),
    "prune": GitAct(merged, prune),
}
