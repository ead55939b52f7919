"""R15: your uncommitted work is never touched, and no agent's commit is ever lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL
from support.bad_worker_acts import MISCHIEF
from support.worktree_repo import BRANCH, Shop

from guarantees.fresh_process import in_fresh_process, shard
from guarantees.killed_child import again, in_child
from sow.gitwork.fast_forward import Delivered

SEEDS = range(200) if FULL else range(20)
GROUPS = [list(SEEDS)[number :: len(SEEDS) // 5] for number in range(len(SEEDS) // 5)]
LAST_BOUNDARY = 60
NAMES = ["src/a.txt", "src/b.txt", "README.md", "work.txt", "new\nline", "träne.txt", "-dash", "deep/er/file.txt"]


def change(shop: Shop, dice: random.Random) -> None:
    shop.write(dice.choice(NAMES[:3]), f"changed {dice.random()}\n")


def add(shop: Shop, dice: random.Random) -> None:
    shop.write(dice.choice(NAMES), f"new {dice.random()}\n")


def stage(shop: Shop, dice: random.Random) -> None:
    add(shop, dice)
    shop.git("add", "--all", "--", ".", ":(exclude).sow")
    change(shop, dice)


def delete(shop: Shop, dice: random.Random) -> None:
    (shop.root / dice.choice(NAMES[:3])).unlink(missing_ok=True)


def stash(shop: Shop, dice: random.Random) -> None:
    shop.write("CLAUDE.md", f"stashed {dice.random()}\n")
    shop.git("stash", "-q", "--", "CLAUDE.md", ok=False)  # git does not, where a file is only intended


def ignore(shop: Shop, dice: random.Random) -> None:
    shop.write(f"{dice.random()}.log")
    shop.write("node_modules/x/y.js")


def link(shop: Shop, dice: random.Random) -> None:
    path = shop.root / f"link-{dice.random()}"
    path.symlink_to(dice.choice(["src", "/etc/passwd", "nowhere"]))


def chmod(shop: Shop, dice: random.Random) -> None:
    (shop.root / "CLAUDE.md").chmod(dice.choice([0o755, 0o600]))


def intend(shop: Shop, dice: random.Random) -> None:
    shop.write("intended.txt")
    shop.git("add", "--intent-to-add", "intended.txt")


def hide(shop: Shop, dice: random.Random) -> None:
    flag = dice.choice(["--assume-unchanged", "--skip-worktree"])
    shop.git("update-index", flag, ".gitignore")
    shop.write(".gitignore", "node_modules/\n*.log\n# hidden\n")


def commit(shop: Shop, dice: random.Random) -> None:
    shop.write(dice.choice(NAMES), f"committed {dice.random()}\n")
    shop.git("add", "--all", "--", ".", ":(exclude).sow")
    shop.git("commit", "-q", "--allow-empty", "-m", "the user's")


def settle(shop: Shop, dice: random.Random) -> None:
    name, value = dice.choice(
        [("core.autocrlf", "input"), ("core.untrackedCache", "true"), ("merge.autoStash", "true")]
    )
    shop.git("config", name, value)


def keep_a_branch(shop: Shop, dice: random.Random) -> None:
    shop.git("branch", "-f", dice.choice(["other", "sown", "feature/x"]))


USER: list[Callable[[Shop, random.Random], None]] = [
    change, add, stage, delete, stash, ignore, link, chmod, intend, hide, commit, settle, keep_a_branch
]  # fmt: skip


class Story:
    """One random user, one random crew, and a run that is killed again and again."""

    def __init__(self, root: str, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.dice = random.Random(seed)
        self.wrong: list[str] = []
        self.made: list[str] = []
        self.kills = 0

    def tell(self) -> dict[str, Any]:
        """Play it to the end, and tell what was touched or lost."""
        self.user(3)
        self.step("begin", lambda shop: shop.integration.begin("HEAD"))
        for task in ("010", "020"):
            self.task(task)
        self.user(1)
        self.step("bring in", bring_in)
        self.step("save", lambda shop: bool(shop.integration.save_state("Save")))
        finished = self.finish()
        for commit in self.made:
            if not again(self.root).is_kept(commit):
                self.wrong.append(f"{commit} is lost")
        return {
            "wrong": [f"seed {self.seed}: {each}" for each in self.wrong],
            "kills": self.kills,
            "finished": finished,
        }

    def user(self, acts: int) -> None:
        for act in self.dice.choices(USER, k=acts):
            act(again(self.root), self.dice)

    def task(self, task: str) -> None:
        fresh = self.dice.random() < 0.3
        self.step("prepare", lambda shop: str(shop.prepare(task, shop.integration.head, fresh=fresh)))
        shop, act = again(self.root), self.dice.choice(MISCHIEF)
        if task == "010":
            self.made += act(shop, Path(shop.worktrees.path(task)))
        else:
            where = Path(shop.worktrees.path(task))
            shop.write(self.dice.choice(NAMES), f"by {task}\n", where=where)
            self.made.append(shop.commit("by a worker", where=where))
            shop.write("loose.txt", "loose\n", where=where)
        if self.dice.random() < 0.5:
            self.user(1)
        self.step(f"collect after {act.__name__}", lambda shop: shop.collect(task, base=shop.integration.base).paths)
        self.step("merge", lambda shop: merge(shop, task))
        self.step("remove", lambda shop: bool(shop.worktrees.remove(task)))

    def step(self, name: str, act: Callable[[Shop], Any]) -> Any:
        """One step of the run, killed somewhere, and then again: the user's side is as before."""
        before = again(self.root).user_side()
        first = in_child(lambda: act(again(self.root)), self.dice.randint(1, LAST_BOUNDARY))
        self.kills += first.killed
        self.compare(f"{name}, killed", before)
        ended = in_child(lambda: act(again(self.root))) if first.killed else first
        self.wrong += [f"{name}: {ended.error}"] if ended.error else []
        self.compare(name, before)
        return ended.value

    def compare(self, name: str, before: dict[str, Any]) -> None:
        after = again(self.root).user_side()
        self.wrong += [
            f"{name}: {key} was {old} and is {after[key]}" for key, old in before.items() if old != after[key]
        ]

    def finish(self) -> bool:
        """The last step: what the run changed is the run's, and all else is as before."""
        shop = again(self.root)
        before, old = shop.user_side(), shop.head()
        first = in_child(lambda: finish(again(self.root)), self.dice.randint(1, LAST_BOUNDARY))
        self.kills += first.killed
        ended = in_child(lambda: finish(again(self.root))) if first.killed else first
        self.wrong += [ended.error] if ended.error else []
        changed = set(shop.worktrees.changed_paths(old, "HEAD"))
        after, kept = but_for(shop.user_side(), changed), but_for(before, changed)
        self.wrong += [f"finish: {key} was {kept[key]} and is {after[key]}" for key in kept if kept[key] != after[key]]
        self.wrong += [f"{path!r} is not the run's" for path in changed if shop.git("diff", "--name-only", "--", path)]
        return bool(ended.value)


def but_for(side: dict[str, Any], changed: set[str]) -> dict[str, Any]:
    """The user's side without what a run may change: its paths, the state, and where the branch stands."""
    lines = [(line, line.partition("\t")[2]) for line in side["index"].split("\0")]
    return {
        **side,
        "files": {path: data for path, data in side["files"].items() if path not in changed},
        "index": [line for line, path in lines if not path.startswith(".sow/") and path not in changed],
        "refs": [line for line in side["refs"] if f"refs/heads/{BRANCH} " not in line],
        "head_commit": "",
    }


def bring_in(shop: Shop) -> bool:
    found = shop.integration.merge_user_commits("HEAD")
    if found.commit:
        shop.integration.checkout(found.commit)
        shop.integration.advance(found.commit, shop.integration.head)
    return bool(found.commit)


def merge(shop: Shop, task: str) -> bool:
    if (task, 1) in shop.integration.merged_work():
        return True
    return bool(shop.merge(task, shop.pins()[f"{task}/1"]).commit)


def finish(shop: Shop) -> bool:
    return isinstance(shop.integration.deliver(BRANCH), Delivered)


def tell(root: str, *seeds: str) -> list[dict[str, Any]]:
    """One story after the other, each in a clone of its own that stands in the same place."""
    saved, told = again(f"{root}.saved"), []
    for seed in seeds:
        saved.git("clone", "-q", "--no-hardlinks", str(saved.root), root)
        saved.git("config", "remote.origin.url", "/nowhere", cwd=Path(root))
        told.append(Story(root, int(seed)).tell())
        os.rename(root, f"{root}.{seed}")
    return told


@pytest.mark.parametrize("seeds", [each for number, each in enumerate(GROUPS) if number % shard()[1] == shard()[0] - 1])
def test_random_users_and_workers(shop: Shop, seeds: list[int]) -> None:
    """In random dirty repositories, with random workers and kills, the user loses nothing, nor does a worker."""
    os.rename(shop.root, f"{shop.root}.saved")
    told = in_fresh_process(tell, shop.root, *map(str, seeds))
    assert [each for story in told for each in story["wrong"]] == []
    assert sum(story["kills"] for story in told) > 0
