"""R5 for git: after kill -9 between any two calls, a repetition has the same result, and no commit is lost."""

from __future__ import annotations

import os
import shutil
from typing import Any

from conftest import FULL
from support.quick_cases import few_of
from support.worktree_repo import WorktreeRepo

from guarantees.fresh_process import in_fresh_process
from guarantees.git_acts import GIT_ACTS
from guarantees.killed_child import again, in_child

DATED = ("refs", "head_commit")  # commits of sow have the time in them, and another name each time
POINTS = 1000 if FULL else 2  # for each act, one in the middle of each part of its boundaries


def picture(worktree_repo: WorktreeRepo) -> dict[str, Any]:
    """Returns the result: the user's side, the content of every ref of sow, and every worktree."""
    refs = worktree_repo.git("for-each-ref", "--format=%(refname)").split()
    places = worktree_repo.root / ".sow/local/worktrees"
    worktrees = sorted(path for path in places.glob("*") if (path / ".git").is_file()) if places.exists() else []
    return {
        "user": {name: side for name, side in worktree_repo.user_side().items() if name not in DATED},
        "refs": {ref: worktree_repo.git("rev-parse", f"{ref}^{{tree}}") for ref in refs},
        "worktrees": {
            path.name: (
                worktree_repo.git("status", "--porcelain", cwd=path),
                worktree_repo.git("symbolic-ref", "--quiet", "HEAD", cwd=path, ok=False),
                worktree_repo.git("rev-parse", "HEAD^{tree}", cwd=path),
            )
            for path in worktrees
        },
        "records": sorted(os.listdir(worktree_repo.root / ".git/worktrees")) if worktrees else [],
    }


def commits(worktree_repo: WorktreeRepo) -> set[str]:
    """Returns all commits, reachable or not."""
    lines = worktree_repo.git(
        "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"
    ).splitlines()
    return {line.split()[1] for line in lines if line.startswith("commit")}


def kill_everywhere(root: str, name: str, points: str) -> dict[str, Any]:
    """Kills one act at many of its boundaries, repeats it, and returns the differences from an act without a kill."""
    act, saved = GIT_ACTS[name], f"{root}.saved"
    act.before(again(root))
    shutil.copytree(root, saved, symlinks=True)
    made = commits(again(root))
    first = in_child(lambda: act.run(again(root)))
    expected, wrong, killed = picture(again(root)), [first.error], []
    step = max(first.boundaries / int(points), 1)
    for point in sorted({int(1 + step * (number + 0.5)) for number in range(min(int(points), first.boundaries))}):
        shutil.rmtree(root)
        shutil.copytree(saved, root, symlinks=True)
        killed.append(in_child(lambda: act.run(again(root)), point).killed)
        second = in_child(lambda: act.run(again(root)))
        wrong.append(second.error)
        if second.value != first.value:
            wrong.append(f"killed at {point}: {second.value} is not {first.value}")
        wrong += differences(point, expected, picture(again(root)))
        wrong += [f"killed at {point}: {item} is lost" for item in sorted(made) if not is_reachable(again(root), item)]
    return {"boundaries": first.boundaries, "killed": killed, "wrong": [item for item in wrong if item]}


def differences(point: int, wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [
        f"killed at {point}: {key}: {found[key]} is not {wanted[key]}" for key in wanted if wanted[key] != found[key]
    ]


def is_reachable(worktree_repo: WorktreeRepo, commit: str) -> bool:
    return bool(worktree_repo.git("for-each-ref", "--contains", commit))


@few_of("name", GIT_ACTS, 1)
def test_killed_between_two_calls(worktree_repo: WorktreeRepo, name: str) -> None:
    """An act that is killed at a boundary and repeated has the same result, and every commit is still reachable."""
    worktree_repo.write("README.md", "changed by the user\n")
    worktree_repo.write("untracked.txt")
    messages = in_fresh_process(kill_everywhere, worktree_repo.root, name, str(POINTS))
    assert messages["wrong"] == []
    assert messages["boundaries"] >= 3
    assert all(messages["killed"])
    assert len(messages["killed"]) >= min(POINTS, messages["boundaries"]) - 1
