"""Every act of a run that changes something in git: what must be there first, and how it is done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from support.worktree_repo import BRANCH, Shop

from sow.gitwork import prune as gitwork_prune
from sow.gitwork.fast_forward import Delivered
from sow.gitwork.repository import DeliveryRefused

STATE = ".sow/project/state.yaml"


class GitAct(NamedTuple):
    """One act, and what it needs."""

    before: Callable[[Shop], Any]
    run: Callable[[Shop], Any]


def begin(shop: Shop) -> None:
    shop.integration.begin("HEAD")


def nothing(shop: Shop) -> None:
    pass


def loose_work(shop: Shop) -> None:
    """A worker that has committed, and has left more."""
    begin(shop)
    where = shop.prepare()
    shop.write("committed.txt", where=where)
    shop.commit("by the worker", where=where)
    shop.write("loose.txt", "loose\n", where=where)
    (where / "src/b.txt").unlink()


def lost_folder(shop: Shop) -> None:
    loose_work(shop)
    shutil.rmtree(shop.worktrees.path("010"))


def lost_record(shop: Shop) -> None:
    loose_work(shop)
    shutil.rmtree(shop.root / ".git/worktrees/010")


def mischief(shop: Shop) -> None:
    """A worker that did about everything that it should not have done."""
    loose_work(shop)
    where = Path(shop.worktrees.path("010"))
    shop.write(STATE, "evil\n", where=where)
    shop.git("switch", "-q", "-c", "side", cwd=where)
    shop.write("src/a.txt", "side\n", where=where)
    shop.commit("side", where=where)
    shop.git("switch", "-q", "--detach", "HEAD~1", cwd=where)
    shop.write("src/a.txt", "ours\n", where=where)
    shop.commit("ours", where=where)
    shop.git("merge", "-q", "side", cwd=where, ok=False)
    (where / "inner").mkdir()
    shop.git("init", "-q", cwd=where / "inner")
    shop.write("inner/inner.txt", where=where)
    (shop.root / ".git/worktrees/010/index.lock").touch()


def new_repository(shop: Shop) -> None:
    """A worker that made a repository of its own in place of ours."""
    loose_work(shop)
    where = Path(shop.worktrees.path("010"))
    (where / ".git").unlink()
    shop.git("init", "-q", "-b", "mine", cwd=where)
    shop.commit("mine", where=where)


def collected(shop: Shop) -> None:
    loose_work(shop)
    collect(shop)


def merged(shop: Shop) -> None:
    collected(shop)
    merge(shop)
    shop.write("orchestration/plan.md", "plan\n")
    shop.write(STATE, "newer\n")


def furniture(shop: Shop) -> None:
    begin(shop)
    shop.prepare()
    shop.write("node_modules/pad.js")
    shop.write("conf/deep.log")


def prepare(shop: Shop) -> str:
    return str(shop.prepare())


def start_again(shop: Shop) -> str:
    return str(shop.prepare(fresh=True))


def collect(shop: Shop) -> Any:
    found = shop.worktrees.collect("010", 1, "Work on 010", shop.integration.base)
    return [found.tree, found.paths]


def merge(shop: Shop) -> Any:
    """As a run does it: what the record says is merged already is not merged again."""
    begin(shop)
    if ("010", 1) not in shop.integration.merged_work():
        found = shop.integration.try_merge("010", 1, shop.pins()["010/1"], "Merge task 010")
        assert found.commit
        shop.integration.checkout(found.commit)
        shop.integration.record_merge(found, task="010", iteration=1, work=shop.pins()["010/1"])
    return sorted(shop.integration.merged_work())


def save(shop: Shop) -> str:
    begin(shop)
    return shop.git("rev-parse", f"{shop.integration.save_state('Save the state')}^{{tree}}")


def finish(shop: Shop) -> Any:
    begin(shop)
    shop.integration.save_state("Save the state")
    done = shop.integration.deliver(BRANCH)
    assert isinstance(done, Delivered), done.reason
    return shop.git("status", "--porcelain")


def refuse(shop: Shop) -> Any:
    shop.write("src/b.txt", "the user's\n")
    done = shop.integration.deliver(BRANCH)
    assert isinstance(done, DeliveryRefused)
    return done.reason


def furnish(shop: Shop) -> Any:
    settings = {"link": ["node_modules"], "copy": ["conf"], "setup": [["true"]]}
    shop.worktrees.install_setup_files("010", settings)
    shop.worktrees.record_setup("010", settings)
    return sorted(os.listdir(Path(shop.worktrees.path("010")) / "conf"))


def judge(shop: Shop) -> Any:
    where = Path(shop.worktrees.make_judge_checkout("010", shop.pins()["010/1"], "HEAD"))
    found = shop.git("status", "--porcelain", cwd=where), sorted(os.listdir(where))
    shop.worktrees.remove_judge_checkout("010")
    return found


def remove(shop: Shop) -> Any:
    refused = shop.worktrees.remove("010")
    assert refused is None, refused.reason
    return os.path.lexists(shop.worktrees.path("010"))


def prune(shop: Shop) -> Any:
    gitwork_prune.prune(shop.home, -10.0, ended=["010"])
    return sorted(os.listdir(shop.root / ".sow/local/worktrees"))


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
