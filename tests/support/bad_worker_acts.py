"""What workers do in their worktrees besides their work: each act returns the commits that it made."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from support.worktree_repo import RUN, Shop

OURS = f"sow/task/{RUN}/010"


def add_work(shop: Shop, where: Path, name: str = "work.txt") -> str:
    """One commit of the worker's, with its own git."""
    shop.write(name, f"{name}\n", where=where)
    return shop.commit(f"add {name}", where=where)


def leave_loose(shop: Shop, where: Path) -> list[str]:
    shop.write("work.txt", "work.txt\n", where=where)
    return []


def commit_itself(shop: Shop, where: Path) -> list[str]:
    return [add_work(shop, where)]


def amend(shop: Shop, where: Path) -> list[str]:
    first = add_work(shop, where)
    shop.git("commit", "-q", "--amend", "-m", "better", cwd=where)
    return [first, shop.head(where)]


def rebase(shop: Shop, where: Path) -> list[str]:
    first = add_work(shop, where, "first.txt")
    second = add_work(shop, where)
    shop.git("reset", "-q", "--hard", first, cwd=where)
    third = add_work(shop, where, "third.txt")
    shop.git("rebase", "-q", "--onto", second, first, cwd=where)
    return [first, second, third]


def reset_hard(shop: Shop, where: Path) -> list[str]:
    lost = add_work(shop, where, "lost.txt")
    shop.git("reset", "-q", "--hard", "HEAD~1", cwd=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return [lost]


def switch(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "-c", "feature/mine", cwd=where)
    return [add_work(shop, where)]


def switch_and_back(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "-c", "feature/mine", cwd=where)
    there = add_work(shop, where, "there.txt")
    shop.git("switch", "-q", OURS, cwd=where)
    shop.git("branch", "-q", "-D", "feature/mine", cwd=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return [there]


def detach(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "--detach", cwd=where)
    return [add_work(shop, where)]


def detach_and_leave(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "--detach", cwd=where)
    there = add_work(shop, where, "there.txt")
    shop.git("switch", "-q", OURS, cwd=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return [there]


def delete_branch(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    shop.git("update-ref", "-d", f"refs/heads/{OURS}", cwd=where)
    return [made]


def merge_itself(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "-c", "side", cwd=where)
    side = add_work(shop, where, "side.txt")
    shop.git("switch", "-q", OURS, cwd=where)
    main = add_work(shop, where)
    shop.git("merge", "-q", "--no-edit", "side", cwd=where)
    return [side, main, shop.head(where)]


def conflicting(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "-c", "side", cwd=where)
    shop.write("src/a.txt", "side\n", where=where)
    side = shop.commit("side", where=where)
    shop.git("switch", "-q", OURS, cwd=where)
    shop.write("src/a.txt", "ours\n", where=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return [side, shop.commit("ours", where=where)]


def merge_unfinished(shop: Shop, where: Path) -> list[str]:
    made = conflicting(shop, where)
    shop.git("merge", "-q", "side", cwd=where, ok=False)
    assert (shop.root / ".git/worktrees/010/MERGE_HEAD").exists()
    return made


def rebase_unfinished(shop: Shop, where: Path) -> list[str]:
    made = conflicting(shop, where)
    shop.git("rebase", "-q", "side", cwd=where, ok=False)
    assert (shop.root / ".git/worktrees/010/rebase-merge").exists()
    return made


def cherry_pick_unfinished(shop: Shop, where: Path) -> list[str]:
    made = conflicting(shop, where)
    shop.git("cherry-pick", "side", cwd=where, ok=False)
    assert (shop.root / ".git/worktrees/010/CHERRY_PICK_HEAD").exists()
    return made


def revert_unfinished(shop: Shop, where: Path) -> list[str]:
    made = conflicting(shop, where)
    shop.git("revert", "--no-edit", "side", cwd=where, ok=False)
    assert (shop.root / ".git/worktrees/010/REVERT_HEAD").exists()
    return made


def bisect_unfinished(shop: Shop, where: Path) -> list[str]:
    made = [add_work(shop, where, f"{number}.txt") for number in range(4)]
    made.append(add_work(shop, where))
    shop.git("bisect", "start", "HEAD", "HEAD~5", cwd=where)
    return made


def merge_with_a_broken_index(shop: Shop, where: Path) -> list[str]:
    made = merge_unfinished(shop, where)
    (shop.root / ".git/worktrees/010/index").write_bytes(b"")
    return made


def delete_pointer(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    shop.write("more.txt", where=where)
    (where / ".git").unlink()
    return [made]


def delete_folder(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    shutil.rmtree(where)
    return [made]


def stage(shop: Shop, where: Path) -> list[str]:
    shop.write("work.txt", "staged\n", where=where)
    shop.git("add", "work.txt", cwd=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return []


def truncate_index(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    (shop.root / ".git/worktrees/010/index").write_bytes(b"")
    return [made]


def leave_locks(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    for name in ("index.lock", "HEAD.lock"):
        (shop.root / ".git/worktrees/010" / name).touch()
    return [made]


def hide_changes(shop: Shop, where: Path) -> list[str]:
    shop.git("update-index", "--assume-unchanged", "src/a.txt", cwd=where)
    shop.git("update-index", "--skip-worktree", "src/b.txt", cwd=where)
    shop.write("src/a.txt", "hidden\n", where=where)
    shop.write("src/b.txt", "hidden\n", where=where)
    shop.write("work.txt", "work.txt\n", where=where)
    return []


def stash(shop: Shop, where: Path) -> list[str]:
    shop.write("src/a.txt", "stashed\n", where=where)
    shop.git("stash", "-q", cwd=where)
    made = shop.git("rev-parse", "refs/stash", cwd=where).strip()
    shop.write("work.txt", "work.txt\n", where=where)
    return [made]


def start_a_line_of_its_own(shop: Shop, where: Path) -> list[str]:
    shop.git("switch", "-q", "--orphan", "fresh", cwd=where)
    shop.write("src/a.txt", "one\ntwo\nthree\n", where=where)
    return [add_work(shop, where)]


def amend_the_base(shop: Shop, where: Path) -> list[str]:
    shop.write("work.txt", "work.txt\n", where=where)
    shop.git("add", ".", cwd=where)
    shop.git("commit", "-q", "--amend", "-m", "rewritten", cwd=where)
    return [shop.head(where)]


def make_a_repository_of_its_own(shop: Shop, where: Path) -> list[str]:
    made = add_work(shop, where)
    (where / ".git").unlink()
    shop.git("init", "-q", "-b", "mine", cwd=where)
    return [made, add_work(shop, where, "own.txt")]


def force_ignored(shop: Shop, where: Path) -> list[str]:
    shop.write("work.txt", "work.txt\n", where=where)
    shop.write("staged.log", where=where)
    shop.git("add", "-f", "staged.log", cwd=where)
    shop.write("other.log", where=where)
    return []


def turn_off_logs(shop: Shop, where: Path) -> list[str]:
    shop.git("config", "core.logAllRefUpdates", "false")
    return [add_work(shop, where)]


MISCHIEF: list[Callable[[Shop, Path], list[str]]] = [
    leave_loose,
    commit_itself,
    amend,
    rebase,
    reset_hard,
    switch,
    switch_and_back,
    detach,
    detach_and_leave,
    delete_branch,
    merge_itself,
    merge_unfinished,
    rebase_unfinished,
    cherry_pick_unfinished,
    revert_unfinished,
    bisect_unfinished,
    merge_with_a_broken_index,
    delete_pointer,
    delete_folder,
    stage,
    truncate_index,
    leave_locks,
    hide_changes,
    stash,
    start_a_line_of_its_own,
    amend_the_base,
    make_a_repository_of_its_own,
    force_ignored,
    turn_off_logs,
]
