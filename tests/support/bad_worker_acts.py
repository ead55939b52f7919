"""Acts of workers in their worktrees besides their work; each returns the commits that it made."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from support.worktree_repo import RUN, WorktreeRepo

OURS = f"sow/task/{RUN}/010"


def add_work(worktree_repo: WorktreeRepo, where: Path, name: str = "work.txt") -> str:
    """Makes one commit of the worker, with its own git."""
    worktree_repo.write(name, f"{name}\n", where=where)
    return worktree_repo.commit(f"add {name}", where=where)


def leave_loose(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return []


def commit_itself(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    return [add_work(worktree_repo, where)]


def amend(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    first = add_work(worktree_repo, where)
    worktree_repo.git("commit", "-q", "--amend", "-m", "better", cwd=where)
    return [first, worktree_repo.head(where)]


def rebase(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    first = add_work(worktree_repo, where, "first.txt")
    second = add_work(worktree_repo, where)
    worktree_repo.git("reset", "-q", "--hard", first, cwd=where)
    third = add_work(worktree_repo, where, "third.txt")
    worktree_repo.git("rebase", "-q", "--onto", second, first, cwd=where)
    return [first, second, third]


def reset_hard(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    lost = add_work(worktree_repo, where, "lost.txt")
    worktree_repo.git("reset", "-q", "--hard", "HEAD~1", cwd=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return [lost]


def switch(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "-c", "feature/mine", cwd=where)
    return [add_work(worktree_repo, where)]


def switch_and_back(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "-c", "feature/mine", cwd=where)
    there = add_work(worktree_repo, where, "there.txt")
    worktree_repo.git("switch", "-q", OURS, cwd=where)
    worktree_repo.git("branch", "-q", "-D", "feature/mine", cwd=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return [there]


def detach(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "--detach", cwd=where)
    return [add_work(worktree_repo, where)]


def detach_and_leave(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "--detach", cwd=where)
    there = add_work(worktree_repo, where, "there.txt")
    worktree_repo.git("switch", "-q", OURS, cwd=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return [there]


def delete_branch(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    worktree_repo.git("update-ref", "-d", f"refs/heads/{OURS}", cwd=where)
    return [made]


def merge_itself(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "-c", "side", cwd=where)
    side = add_work(worktree_repo, where, "side.txt")
    worktree_repo.git("switch", "-q", OURS, cwd=where)
    main = add_work(worktree_repo, where)
    worktree_repo.git("merge", "-q", "--no-edit", "side", cwd=where)
    return [side, main, worktree_repo.head(where)]


def conflicting(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "-c", "side", cwd=where)
    worktree_repo.write("src/a.txt", "side\n", where=where)
    side = worktree_repo.commit("side", where=where)
    worktree_repo.git("switch", "-q", OURS, cwd=where)
    worktree_repo.write("src/a.txt", "ours\n", where=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return [side, worktree_repo.commit("ours", where=where)]


def git_path(worktree_repo: WorktreeRepo, where: Path, name: str) -> Path:
    """Returns the path of a file of git about this worktree."""
    return where / worktree_repo.git("rev-parse", "--git-path", name, cwd=where).strip()


def merge_unfinished(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = conflicting(worktree_repo, where)
    worktree_repo.git("merge", "-q", "side", cwd=where, ok=False)
    assert git_path(worktree_repo, where, "MERGE_HEAD").exists()
    return made


def rebase_unfinished(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = conflicting(worktree_repo, where)
    worktree_repo.git("rebase", "-q", "side", cwd=where, ok=False)
    assert git_path(worktree_repo, where, "rebase-merge").exists()
    return made


def cherry_pick_unfinished(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = conflicting(worktree_repo, where)
    worktree_repo.git("cherry-pick", "side", cwd=where, ok=False)
    assert git_path(worktree_repo, where, "CHERRY_PICK_HEAD").exists()
    return made


def revert_unfinished(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = conflicting(worktree_repo, where)
    worktree_repo.git("revert", "--no-edit", "side", cwd=where, ok=False)
    assert git_path(worktree_repo, where, "REVERT_HEAD").exists()
    return made


def bisect_unfinished(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = [add_work(worktree_repo, where, f"{number}.txt") for number in range(4)]
    made.append(add_work(worktree_repo, where))
    worktree_repo.git("bisect", "start", "HEAD", "HEAD~5", cwd=where)
    return made


def merge_with_a_broken_index(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = merge_unfinished(worktree_repo, where)
    git_path(worktree_repo, where, "index").write_bytes(b"")
    return made


def delete_pointer(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    worktree_repo.write("more.txt", where=where)
    (where / ".git").unlink()
    return [made]


def delete_folder(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    shutil.rmtree(where)
    return [made]


def stage(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.write("work.txt", "staged\n", where=where)
    worktree_repo.git("add", "work.txt", cwd=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return []


def truncate_index(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    git_path(worktree_repo, where, "index").write_bytes(b"")
    return [made]


def leave_locks(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    for name in ("index.lock", "HEAD.lock"):
        (worktree_repo.root / ".git/worktrees/010" / name).touch()
    return [made]


def hide_changes(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("update-index", "--assume-unchanged", "src/a.txt", cwd=where)
    worktree_repo.git("update-index", "--skip-worktree", "src/b.txt", cwd=where)
    worktree_repo.write("src/a.txt", "hidden\n", where=where)
    worktree_repo.write("src/b.txt", "hidden\n", where=where)
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return []


def stash(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.write("src/a.txt", "stashed\n", where=where)
    worktree_repo.git("stash", "-q", cwd=where)
    made = worktree_repo.git("rev-parse", "refs/stash", cwd=where).strip()
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    return [made]


def start_a_line_of_its_own(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("switch", "-q", "--orphan", "fresh", cwd=where)
    worktree_repo.write("src/a.txt", "one\ntwo\nthree\n", where=where)
    return [add_work(worktree_repo, where)]


def amend_the_base(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    worktree_repo.git("add", ".", cwd=where)
    worktree_repo.git("commit", "-q", "--amend", "-m", "rewritten", cwd=where)
    return [worktree_repo.head(where)]


def make_a_repository_of_its_own(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    made = add_work(worktree_repo, where)
    (where / ".git").unlink()
    worktree_repo.git("init", "-q", "-b", "mine", cwd=where)
    return [made, add_work(worktree_repo, where, "own.txt")]


def force_ignored(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.write("work.txt", "work.txt\n", where=where)
    worktree_repo.write("staged.log", where=where)
    worktree_repo.git("add", "-f", "staged.log", cwd=where)
    worktree_repo.write("other.log", where=where)
    return []


def turn_off_logs(worktree_repo: WorktreeRepo, where: Path) -> list[str]:
    worktree_repo.git("config", "core.logAllRefUpdates", "false")
    return [add_work(worktree_repo, where)]


MISCHIEF: list[Callable[[WorktreeRepo, Path], list[str]]] = [
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
