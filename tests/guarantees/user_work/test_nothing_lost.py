"""R15: the user's uncommitted work is never touched, and no agent's commit is lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import FULL
from support.bad_worker_acts import MISCHIEF
from support.quick_cases import few_of
from support.worktree_repo import BRANCH, WorktreeRepo

from guarantees.fresh_process import in_fresh_process, shard
from guarantees.killed_child import again, in_child
from sow.gitwork import repository
from sow.gitwork.integration_branch import Delivered

SEEDS = range(200) if FULL else range(20)
GROUPS = [list(SEEDS)[number :: len(SEEDS) // 5] for number in range(len(SEEDS) // 5)]
LAST_BOUNDARY = 60
NAMES = ["src/a.txt", "src/b.txt", "README.md", "work.txt", "new\nline", "träne.txt", "-dash", "deep/er/file.txt"]


def change(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write(rng.choice(NAMES[:3]), f"changed {rng.random()}\n")


def add(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write(rng.choice(NAMES), f"new {rng.random()}\n")


def stage(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    add(worktree_repo, rng)
    worktree_repo.git("add", "--all", "--", ".", ":(exclude).sow")
    change(worktree_repo, rng)


def delete(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    (worktree_repo.root / rng.choice(NAMES[:3])).unlink(missing_ok=True)


def stash(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write("CLAUDE.md", f"stashed {rng.random()}\n")
    worktree_repo.git("stash", "-q", "--", "CLAUDE.md", ok=False)  # git does not, where a file is only intended


def ignore(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write(f"{rng.random()}.log")
    worktree_repo.write("node_modules/x/y.js")


def link(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    path = worktree_repo.root / f"link-{rng.random()}"
    path.symlink_to(rng.choice(["src", "/etc/passwd", "nowhere"]))


def chmod(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    (worktree_repo.root / "CLAUDE.md").chmod(rng.choice([0o755, 0o600]))


def intend(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write("intended.txt")
    worktree_repo.git("add", "--intent-to-add", "intended.txt")


def hide(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    flag = rng.choice(["--assume-unchanged", "--skip-worktree"])
    worktree_repo.git("update-index", flag, ".gitignore")
    worktree_repo.write(".gitignore", "node_modules/\n*.log\n# hidden\n")


def commit(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.write(rng.choice(NAMES), f"committed {rng.random()}\n")
    worktree_repo.git("add", "--all", "--", ".", ":(exclude).sow")
    worktree_repo.git("commit", "-q", "--allow-empty", "-m", "the user's")


def settle(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    name, value = rng.choice([("core.autocrlf", "input"), ("core.untrackedCache", "true"), ("merge.autoStash", "true")])
    worktree_repo.git("config", name, value)


def keep_a_branch(worktree_repo: WorktreeRepo, rng: random.Random) -> None:
    worktree_repo.git("branch", "-f", rng.choice(["other", "sown", "feature/x"]))


USER: list[Callable[[WorktreeRepo, random.Random], None]] = [
    change, add, stage, delete, stash, ignore, link, chmod, intend, hide, commit, settle, keep_a_branch
]  # fmt: skip


class Story:
    """One random user, one random crew, and a run that is killed repeatedly."""

    def __init__(self, root: str, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.rng = random.Random(seed)
        self.wrong: list[str] = []
        self.made: list[str] = []
        self.kills = 0

    def tell(self) -> dict[str, Any]:
        """Plays it to the end, and returns what was changed or lost."""
        self.user(3)
        self.step("begin", lambda worktree_repo: worktree_repo.integration.begin("HEAD"))
        for task in ("010", "020"):
            self.task(task)
        self.user(1)
        self.step("bring in", bring_in)
        self.step("save", lambda worktree_repo: bool(worktree_repo.integration.save_state("Save")))
        finished = self.finish()
        for commit in self.made:
            if not again(self.root).is_kept(commit):
                self.wrong.append(f"{commit} is lost")
        return {
            "wrong": [f"seed {self.seed}: {item}" for item in self.wrong],
            "kills": self.kills,
            "finished": finished,
        }

    def user(self, acts: int) -> None:
        for act in self.rng.choices(USER, k=acts):
            act(again(self.root), self.rng)

    def task(self, task: str) -> None:
        fresh = self.rng.random() < 0.3
        self.step(
            "prepare",
            lambda worktree_repo: str(worktree_repo.prepare(task, worktree_repo.integration.head, fresh=fresh)),
        )
        worktree_repo, act = again(self.root), self.rng.choice(MISCHIEF)
        if task == "010":
            self.made += act(worktree_repo, Path(worktree_repo.worktrees.path(task)))
        else:
            where = Path(worktree_repo.worktrees.path(task))
            worktree_repo.write(self.rng.choice(NAMES), f"by {task}\n", where=where)
            self.made.append(worktree_repo.commit("by a worker", where=where))
            worktree_repo.write("loose.txt", "loose\n", where=where)
        if self.rng.random() < 0.5:
            self.user(1)
        self.step(
            f"collect after {act.__name__}",
            lambda worktree_repo: worktree_repo.collect(task, base=worktree_repo.integration.base).paths,
        )
        self.step("merge", lambda worktree_repo: merge(worktree_repo, task))
        self.step("remove", lambda worktree_repo: bool(worktree_repo.worktrees.remove(task)))

    def step(self, name: str, act: Callable[[WorktreeRepo], Any]) -> Any:
        """Makes one step of the run, killed somewhere, and repeats it: the user's side is unchanged."""
        before = again(self.root).user_side()
        first = in_child(lambda: act(again(self.root)), self.rng.randint(1, LAST_BOUNDARY))
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
        """Makes the last step: only the run's own paths change."""
        worktree_repo = again(self.root)
        before, old = worktree_repo.user_side(), worktree_repo.head()
        first = in_child(lambda: finish(again(self.root)), self.rng.randint(1, LAST_BOUNDARY))
        self.kills += first.killed
        ended = in_child(lambda: finish(again(self.root))) if first.killed else first
        self.wrong += [ended.error] if ended.error else []
        changed = set(repository.changed_paths(worktree_repo.worktrees.repository, old, "HEAD"))
        after, kept = but_for(worktree_repo.user_side(), changed), but_for(before, changed)
        self.wrong += [f"finish: {key} was {kept[key]} and is {after[key]}" for key in kept if kept[key] != after[key]]
        self.wrong += [
            f"{path!r} is not the run's" for path in changed if worktree_repo.git("diff", "--name-only", "--", path)
        ]
        return bool(ended.value)


def but_for(side: dict[str, Any], changed: set[str]) -> dict[str, Any]:
    """Returns the user's side without what a run may change: its paths, the state, and the branch."""
    lines = [(line, line.partition("\t")[2]) for line in side["index"].split("\0")]
    return {
        **side,
        "files": {path: data for path, data in side["files"].items() if path not in changed},
        "index": [line for line, path in lines if not path.startswith(".sow/") and path not in changed],
        "refs": [line for line in side["refs"] if f"refs/heads/{BRANCH} " not in line],
        "head_commit": "",
    }


def bring_in(worktree_repo: WorktreeRepo) -> bool:
    merge_user_commits = worktree_repo.integration.merge_user_commits("HEAD")
    if merge_user_commits.commit:
        worktree_repo.integration.advance(merge_user_commits.commit, worktree_repo.integration.head)
    return bool(merge_user_commits.commit)


def merge(worktree_repo: WorktreeRepo, task: str) -> bool:
    if (task, 1) in worktree_repo.integration.merged_work():
        return True
    return bool(worktree_repo.merge(task, worktree_repo.pins()[f"{task}/1"]).commit)


def finish(worktree_repo: WorktreeRepo) -> bool:
    return isinstance(worktree_repo.deliver(), Delivered)


def tell(root: str, *seeds: str) -> list[dict[str, Any]]:
    """Plays one story after the other, each in a clone at the same path."""
    saved, messages = again(f"{root}.saved"), []
    for seed in seeds:
        saved.git("clone", "-q", "--no-hardlinks", str(saved.root), root)
        saved.git("config", "remote.origin.url", "/nowhere", cwd=Path(root))
        messages.append(Story(root, int(seed)).tell())
        os.rename(root, f"{root}.{seed}")
    return messages


@few_of("seeds", [group for number, group in enumerate(GROUPS) if number % shard()[1] == shard()[0] - 1], 1)
def test_random_users_and_workers_lose_nothing(worktree_repo: WorktreeRepo, seeds: list[int]) -> None:
    """In random dirty repositories, with random workers and kills, no work of the user or a worker is lost."""
    os.rename(worktree_repo.root, f"{worktree_repo.root}.saved")
    messages = in_fresh_process(tell, worktree_repo.root, *map(str, seeds))
    assert [item for story in messages for item in story["wrong"]] == []
    assert sum(story["kills"] for story in messages) > 0
