"""A worker's changes become one commit on its base, and every commit that it made is pinned."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bad_worker_acts import (
    MISCHIEF,
    add_work,
    amend_the_base,
    bisect_unfinished,
    cherry_pick_unfinished,
    delete_branch,
    delete_folder,
    delete_pointer,
    detach,
    detach_and_leave,
    leave_locks,
    make_a_repository_of_its_own,
    merge_unfinished,
    rebase_unfinished,
    revert_unfinished,
    start_a_line_of_its_own,
    stash,
    switch,
    truncate_index,
)
from support.paths import TESTS
from support.quick_cases import few_of
from support.worktree_repo import BRANCH, RUN, WorktreeRepo

from sow.gitwork import repository
from sow.gitwork.repository import HomeSnapshot

OURS = f"sow/task/{RUN}/010"
STATE = ".sow/project/state.yaml"


mischief = few_of("mischief", MISCHIEF, 4, always=["reset_hard"], ids=lambda act: act.__name__)


@mischief
def test_all_work_is_collected(
    worktree_repo: WorktreeRepo, mischief: Callable[[WorktreeRepo, Path], list[str]]
) -> None:
    """The work is one commit on the base, every commit is pinned, the worktree is valid and the user's side stays."""
    worktree_repo.write(".hidden/user.txt", "the user's\n")
    worktree_repo.write("src/b.txt", "changed by the user\n")
    where, base = worktree_repo.prepare(), worktree_repo.head()
    made = mischief(worktree_repo, where)
    before = worktree_repo.user_side()
    collected = worktree_repo.collect(base=base)
    assert worktree_repo.text(collected.commit, "work.txt") == "work.txt\n"
    assert worktree_repo.git("merge-base", base, collected.commit).strip() == base
    assert worktree_repo.git("rev-parse", f"{collected.commit}^{{tree}}").strip() == collected.tree
    assert worktree_repo.pins()["010/1"] == collected.commit
    assert [item for item in made if not worktree_repo.is_kept(item)] == []
    assert worktree_repo.git("rev-parse", OURS).strip() == collected.commit
    assert worktree_repo.git("branch", "--show-current", cwd=where).strip() == OURS
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    assert worktree_repo.text(collected.commit, STATE) == worktree_repo.text(base, STATE)
    assert worktree_repo.user_side() == before
    again = worktree_repo.collect(base=base)
    assert (again.commit, again.paths) == (collected.commit, collected.paths)


REMARKS = {
    switch: "switched to feature/mine",
    detach: "switched to no branch",
    detach_and_leave: "commits outside",
    delete_branch: "branch that does not exist",
    merge_unfinished: "a merge was under way",
    rebase_unfinished: "a rebase was under way",
    cherry_pick_unfinished: "a cherry-pick was under way",
    revert_unfinished: "a revert was under way",
    bisect_unfinished: "a bisect was under way",
    delete_pointer: "was not linked",
    delete_folder: "was gone",
    truncate_index: "index could not be read",
    leave_locks: "left index.lock",
    stash: "commits outside",
    start_a_line_of_its_own: "do not build on",
    amend_the_base: "do not build on",
    make_a_repository_of_its_own: "repository of its own",
}


@few_of("mischief", REMARKS, 4, ids=lambda act: act.__name__)
def test_unusual_acts_are_remarked(
    worktree_repo: WorktreeRepo, mischief: Callable[[WorktreeRepo, Path], list[str]]
) -> None:
    """A remark names each act that a worker should not have done."""
    mischief(worktree_repo, worktree_repo.prepare())
    remarks = worktree_repo.collect().remarks
    assert any(REMARKS[mischief] in remark for remark in remarks), remarks


def test_ordinary_work_has_no_remark(worktree_repo: WorktreeRepo) -> None:
    """A worker that only writes files, or commits on its branch, causes no remark."""
    where = worktree_repo.prepare()
    base = worktree_repo.head()
    add_work(worktree_repo, where)
    worktree_repo.write("more.txt", where=where)
    assert worktree_repo.collect(base=base).remarks == []


def test_an_unfinished_merge_is_pinned(worktree_repo: WorktreeRepo) -> None:
    """The files of an unfinished merge, with their conflict marks, are pinned beside the collected commit."""
    where = worktree_repo.prepare()
    merge_unfinished(worktree_repo, where)
    worktree_repo.collect()
    texts = [worktree_repo.text(commit, "src/a.txt") for commit in worktree_repo.pins().values()]
    assert any("<<<<<<<" in text for text in texts)
    assert worktree_repo.text(worktree_repo.pins()["010/1"], "src/a.txt") == "ours\n"


def write_state(worktree_repo: WorktreeRepo, where: Path) -> None:
    worktree_repo.write(STATE, "evil\n", where=where)
    worktree_repo.write(".sow/project/more.txt", "mine\n", where=where)
    worktree_repo.write("orchestration/agents/x.md", "mine\n", where=where)


def commit_state(worktree_repo: WorktreeRepo, where: Path) -> None:
    write_state(worktree_repo, where)
    worktree_repo.git("update-index", "--no-skip-worktree", STATE, cwd=where)
    worktree_repo.git("add", "--all", "--force", cwd=where)
    worktree_repo.git("commit", "-q", "-m", "evil", cwd=where)


def delete_state(worktree_repo: WorktreeRepo, where: Path) -> None:
    worktree_repo.git("rm", "-q", "-r", "--cached", "--sparse", ".sow/project", cwd=where)
    worktree_repo.git("commit", "-q", "-m", "evil", cwd=where)
    write_state(worktree_repo, where)


def link_state(worktree_repo: WorktreeRepo, where: Path) -> None:
    (where / ".sow/project").symlink_to(worktree_repo.root / ".sow/project")
    write_state(worktree_repo, where / "..")


@pytest.mark.parametrize("act", [write_state, commit_state, delete_state, link_state], ids=lambda act: act.__name__)
def test_state_files_are_not_collected(worktree_repo: WorktreeRepo, act: Callable[[WorktreeRepo, Path], None]) -> None:
    """State that a worker wrote or committed is not in the collected commit, is pinned, and leaves the worktree."""
    where, base = worktree_repo.prepare(), worktree_repo.head()
    real = (worktree_repo.root / STATE).read_bytes()
    act(worktree_repo, where)
    worktree_repo.write("work.txt", where=where)
    collected = worktree_repo.collect(base=base)
    assert collected.paths == ["work.txt"]
    assert any(".sow/project" in remark for remark in collected.remarks)
    assert not os.path.lexists(where / ".sow/project")
    assert not os.path.lexists(where / "orchestration")
    assert (worktree_repo.root / STATE).read_bytes() == real
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    kept = [worktree_repo.git("ls-tree", "-r", "--name-only", commit) for commit in worktree_repo.pins().values()]
    assert any(".sow/project" in names and names != kept[0] for names in kept)


def test_a_link_in_place_of_sows_folder(worktree_repo: WorktreeRepo) -> None:
    """If a worker links the home's .sow into its worktree, the clean-up changes nothing behind the link."""
    where = worktree_repo.prepare()
    before = worktree_repo.repo.snapshot()
    shutil.rmtree(where / ".sow")
    (where / ".sow").symlink_to(worktree_repo.root / ".sow")
    collected = worktree_repo.collect()
    assert worktree_repo.text(collected.commit, STATE) == (worktree_repo.root / STATE).read_text()
    after = worktree_repo.repo.snapshot()
    assert {path: data for path, data in after.items() if "/local/" not in path} == {
        path: data for path, data in before.items() if "/local/" not in path
    }


def test_a_nested_repository(worktree_repo: WorktreeRepo) -> None:
    """The files of a repository that a worker made inside its worktree are collected, each time."""
    where = worktree_repo.prepare()
    for name in ("with", "without"):
        (where / name).mkdir()
        worktree_repo.git("init", "-q", cwd=where / name)
        worktree_repo.write(f"{name}/inner.txt", "inner\n", where=where)
    worktree_repo.commit("inner", where=where / "with")
    (where / "with/deep").mkdir()
    worktree_repo.git("init", "-q", cwd=where / "with/deep")
    worktree_repo.write("with/deep/deepest.txt", where=where)
    collected = worktree_repo.collect()
    assert collected.paths == ["with/deep/deepest.txt", "with/inner.txt", "without/inner.txt"]
    assert "with is a repository of its own: its files are taken, and not its history" in collected.remarks
    worktree_repo.write("with/inner.txt", "changed\n", where=where)
    worktree_repo.write("with/new.txt", where=where)
    second = worktree_repo.collect(iteration=2)
    assert worktree_repo.text(second.commit, "with/inner.txt") == "changed\n"
    assert "with/new.txt" in second.paths
    refused = worktree_repo.worktrees.remove("010")
    assert refused
    assert "repository of its own: with" in refused.reason


def test_a_nested_repository_that_was_added_as_a_link(worktree_repo: WorktreeRepo) -> None:
    """A nested repository that a worker committed as a link is collected with its files."""
    where, base = worktree_repo.prepare(), worktree_repo.head()
    (where / "inner").mkdir()
    worktree_repo.git("init", "-q", cwd=where / "inner")
    worktree_repo.write("inner/inner.txt", where=where)
    worktree_repo.commit("inner", where=where / "inner")
    worktree_repo.commit("outer", where=where)
    assert worktree_repo.git("ls-tree", "HEAD", "inner", cwd=where).startswith("160000")
    assert worktree_repo.collect(base=base).paths == ["inner/inner.txt"]


def test_a_submodule_of_the_worker(worktree_repo: WorktreeRepo) -> None:
    """A submodule that .gitmodules names stays one."""
    where = worktree_repo.prepare()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(worktree_repo.root), "lib")
    worktree_repo.git(*add, cwd=where)
    collected = worktree_repo.collect()
    assert collected.paths == [".gitmodules", "lib"]
    assert worktree_repo.git("ls-tree", collected.commit, "lib").startswith("160000")


def test_a_nested_repository_in_gitmodules(worktree_repo: WorktreeRepo) -> None:
    """A nested repository that .gitmodules names is a link, so its worktree is kept: its commits are nowhere else."""
    where = worktree_repo.prepare()
    (where / "inner").mkdir()
    worktree_repo.git("init", "-q", cwd=where / "inner")
    worktree_repo.write("inner/inner.txt", where=where)
    worktree_repo.commit("inner", where=where / "inner")
    worktree_repo.write(".gitmodules", '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n', where=where)
    assert worktree_repo.collect().paths == [".gitmodules", "inner"]
    refused = worktree_repo.worktrees.remove("010")
    assert refused
    assert "repository of its own: inner" in refused.reason


NAMES = [
    "new\nline.txt",
    "-dash",
    "--all",
    "träne 涙.txt",
    " space ",
    'quote".txt',
    "tab\t.txt",
    "carriage\r.txt",
    ":(top)magic",
    "*.txt",
    "back\\slash",
    os.fsdecode(b"latin\xe9.txt"),
]


@pytest.mark.full
def test_odd_names(worktree_repo: WorktreeRepo) -> None:
    """File names with line ends, dashes, quotes, magic or no encoding are collected, shown and removed like others."""
    where = worktree_repo.prepare()
    for name in NAMES:
        (where / name).write_text("odd\n")
        (where / "src" / name).write_text("odd\n")
    collected = worktree_repo.collect()
    assert sorted(collected.paths) == sorted([*NAMES, *(f"src/{name}" for name in NAMES)])
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    assert sorted(repository.changed_paths(worktree_repo.worktrees.repository, "HEAD", collected.commit)) == sorted(
        collected.paths
    )
    for name in NAMES:
        (where / name).unlink()
    second = worktree_repo.collect(iteration=2)
    assert sorted(second.paths) == sorted(f"src/{name}" for name in NAMES)
    assert worktree_repo.worktrees.remove("010") is None


def test_a_name_that_git_refuses(worktree_repo: WorktreeRepo) -> None:
    """A file whose name git refuses is named, the others are collected, and the worktree stays."""
    where = worktree_repo.prepare()
    worktree_repo.write("git~1", where=where)
    worktree_repo.write("work.txt", where=where)
    collected = worktree_repo.collect()
    assert collected.paths == ["work.txt"]
    assert any("not everything could be added" in remark for remark in collected.remarks)
    refused = worktree_repo.worktrees.remove("010")
    assert refused
    assert "git~1" in refused.reason


def test_links(worktree_repo: WorktreeRepo) -> None:
    """Links are collected as links, and those that lead out of the worktree are named."""
    where = worktree_repo.prepare()
    (where / "inside").symlink_to("src/a.txt")
    (where / "outside").symlink_to("/etc/passwd")
    (where / "src/up").symlink_to("../../../../../secrets")
    collected = worktree_repo.collect()
    assert worktree_repo.git("ls-tree", collected.commit, "outside").startswith("120000")
    remarks = [remark for remark in collected.remarks if "link out of the worktree" in remark]
    assert len(remarks) == 2
    assert "outside is a link out of the worktree, to /etc/passwd" in remarks


@pytest.mark.full
def test_modes_and_kinds(worktree_repo: WorktreeRepo) -> None:
    """Modes, folders in place of files and files in place of folders are collected as they are."""
    where = worktree_repo.prepare()
    (where / "README.md").chmod(0o755)
    (where / "src/a.txt").unlink()
    (where / "src/a.txt").mkdir()
    worktree_repo.write("src/a.txt/deep.txt", where=where)
    os.mkfifo(where / "pipe")
    collected = worktree_repo.collect()
    assert collected.paths == ["README.md", "src/a.txt", "src/a.txt/deep.txt"]
    shutil.rmtree(where / "src")
    worktree_repo.write("src", where=where)
    assert "src" in worktree_repo.collect(iteration=2).paths


PERMISSIONS = """
import os, sys
sys.path[:0] = {paths!r}
from support.worktree_repo import *
where = {where!r}
os.chmod(where + "/closed.txt", 0)
os.chmod(where + "/closed", 0)
os.chmod(where + "/src", 0)
collected = Worktrees(Repository(home_at({root!r})), RUN).collect("010", 1, "m", "HEAD")
print(collected.paths, collected.remarks)
"""


@pytest.mark.full
def test_files_without_permission(worktree_repo: WorktreeRepo) -> None:
    """Unreadable files and folders are made readable and collected, with a remark."""
    where = worktree_repo.prepare()
    for name in ("closed.txt", "closed/inner.txt"):
        worktree_repo.write(name, where=where)
    paths = [str(TESTS)]
    code = PERMISSIONS.format(paths=paths, where=str(where), root=str(worktree_repo.root))
    humble = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    result = subprocess.run(
        [*humble, sys.executable, "-c", code], capture_output=True, text=True, env=worktree_repo.repo.environment
    )
    assert result.stdout.startswith("['closed.txt', 'closed/inner.txt'] ['files without permission were"), result.stderr
    assert stat.S_IMODE((where / "closed").stat().st_mode) & 0o700 == 0o700


@pytest.mark.full
def test_iterations(worktree_repo: WorktreeRepo) -> None:
    """Every iteration has its pin, and a second collection of one keeps the files of the first."""
    where, base = worktree_repo.prepare(), worktree_repo.head()
    worktree_repo.write("work.txt", "1\n", where=where)
    first = worktree_repo.collect(base=base)
    worktree_repo.write("work.txt", "2\n", where=where)
    second = worktree_repo.collect(iteration=2, base=base)
    worktree_repo.git("reset", "-q", "--hard", base, cwd=where)
    worktree_repo.write("other.txt", where=where)
    third = worktree_repo.collect(iteration=2, base=base)
    pins = worktree_repo.pins()
    assert (pins["010/1"], pins["010/2"]) == (first.commit, third.commit)
    assert third.paths == ["other.txt"]
    assert worktree_repo.is_kept(second.commit)


def test_no_work_is_no_commit(worktree_repo: WorktreeRepo) -> None:
    """Without a change the commit is the base itself, with no paths."""
    worktree_repo.prepare()
    collected = worktree_repo.collect()
    assert (collected.commit, collected.paths, collected.remarks) == (worktree_repo.head(), [], [])


def test_a_user_without_a_name(worktree_repo: WorktreeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """If git knows no user, sow's name is on the commit; hooks and signing never run."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    for hook in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction", "post-index-change"):
        path = worktree_repo.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {worktree_repo.root}/hook-ran\nexit 1\n")
        path.chmod(0o755)
    worktree_repo.git("config", "commit.gpgSign", "true")
    where = worktree_repo.prepare()
    worktree_repo.write("work.txt", where=where)
    collected = worktree_repo.collect()
    assert worktree_repo.git("log", "-1", "--format=%an %ae %cn", collected.commit).strip() == "sow sow@localhost sow"
    assert not (worktree_repo.root / "hook-ran").exists()


def test_changes_outside_the_worktree_are_reported(worktree_repo: WorktreeRepo) -> None:
    """Files, branches, the stash, and HEAD of the home checkout are compared."""
    where = worktree_repo.prepare()
    before = HomeSnapshot(worktree_repo.worktrees.repository)
    assert HomeSnapshot(worktree_repo.worktrees.repository).changes_since(before) == []
    worktree_repo.write("src/b.txt", "overwritten\n")
    worktree_repo.write("fresh.txt")
    worktree_repo.git("branch", "sly", cwd=where)
    messages = "\n".join(HomeSnapshot(worktree_repo.worktrees.repository).changes_since(before))
    assert "fresh.txt, src/b.txt" in messages
    assert "refs/heads/sly" in messages
    worktree_repo.git("stash", "-q", "--include-untracked")
    worktree_repo.git("switch", "-q", "-c", "other")
    worktree_repo.write("src/b.txt", "committed\n")
    worktree_repo.commit()
    messages = "\n".join(HomeSnapshot(worktree_repo.worktrees.repository).changes_since(before))
    assert f"is on other and was on {BRANCH}" in messages
    assert "home checkout is at" in messages
    assert "refs/stash" in messages


def test_local_folders_of_sow_are_not_collected(worktree_repo: WorktreeRepo) -> None:
    """The local folders of sow in a worktree are never collected, even if git does not ignore them."""
    where = worktree_repo.prepare()
    (where / ".sow/.gitignore").unlink()
    for folder in ("local", "sinks", "repos"):
        worktree_repo.write(f".sow/{folder}/x.txt", where=where)
    assert worktree_repo.collect().paths == [".sow/.gitignore"]
