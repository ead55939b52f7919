"""What a worker left becomes one commit on its base, and every commit that it ever made is pinned, whatever it did."""

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
from support.worktree_repo import BRANCH, RUN, Shop

OURS = f"sow/task/{RUN}/010"
STATE = ".sow/project/state.yaml"


mischief = pytest.mark.parametrize("mischief", MISCHIEF, ids=lambda each: each.__name__)


@mischief
def test_whatever_a_worker_does(shop: Shop, mischief: Callable[[Shop, Path], list[str]]) -> None:
    """The work is one line on the base, every commit is pinned, the worktree is whole and the user's side as it was."""
    shop.write(".hidden/user.txt", "the user's\n")
    shop.write("src/b.txt", "changed by the user\n")
    where, base = shop.prepare(), shop.head()
    made = mischief(shop, where)
    before = shop.user_side()
    collected = shop.collect(base=base)
    assert shop.text(collected.commit, "work.txt") == "work.txt\n"
    assert shop.git("merge-base", base, collected.commit).strip() == base
    assert shop.git("rev-parse", f"{collected.commit}^{{tree}}").strip() == collected.tree
    assert shop.pins()["010/1"] == collected.commit
    assert [each for each in made if not shop.is_kept(each)] == []
    assert shop.git("rev-parse", OURS).strip() == collected.commit
    assert shop.git("branch", "--show-current", cwd=where).strip() == OURS
    assert shop.git("status", "--porcelain", cwd=where) == ""
    assert shop.text(collected.commit, STATE) == shop.text(base, STATE)
    assert shop.user_side() == before
    again = shop.collect(base=base)
    assert (again.commit, again.paths) == (collected.commit, collected.paths)


REMARKS = {
    switch: "switched to feature/mine",
    detach: "switched to no branch",
    detach_and_leave: "commits beside",
    delete_branch: "branch that is not there",
    merge_unfinished: "a merge was under way",
    rebase_unfinished: "a rebase was under way",
    cherry_pick_unfinished: "a cherry-pick was under way",
    revert_unfinished: "a revert was under way",
    bisect_unfinished: "a bisect was under way",
    delete_pointer: "lost its tie",
    delete_folder: "was gone",
    truncate_index: "index could not be read",
    leave_locks: "left index.lock",
    stash: "commits beside",
    start_a_line_of_its_own: "do not build on",
    amend_the_base: "do not build on",
    make_a_repository_of_its_own: "repository of its own",
}


@pytest.mark.parametrize("mischief", REMARKS, ids=lambda each: each.__name__)
def test_what_was_odd_is_said(shop: Shop, mischief: Callable[[Shop, Path], list[str]]) -> None:
    """A remark names what the worker did that it should not have done."""
    mischief(shop, shop.prepare())
    remarks = shop.collect().remarks
    assert any(REMARKS[mischief] in each for each in remarks), remarks


def test_nothing_odd_is_not_remarked(shop: Shop) -> None:
    """A worker that only writes files, or commits on its branch, gives no remark."""
    where = shop.prepare()
    base = shop.head()
    add_work(shop, where)
    shop.write("more.txt", where=where)
    assert shop.collect(base=base).remarks == []


def test_an_unfinished_merge_is_kept_as_it_was(shop: Shop) -> None:
    """The files of a merge that was given up, with their conflict marks, are pinned beside the collected commit."""
    where = shop.prepare()
    merge_unfinished(shop, where)
    shop.collect()
    texts = [shop.text(commit, "src/a.txt") for commit in shop.pins().values()]
    assert any("<<<<<<<" in text for text in texts)
    assert shop.text(shop.pins()["010/1"], "src/a.txt") == "ours\n"


def write_state(shop: Shop, where: Path) -> None:
    shop.write(STATE, "evil\n", where=where)
    shop.write(".sow/project/more.txt", "mine\n", where=where)
    shop.write("orchestration/agents/x.md", "mine\n", where=where)


def commit_state(shop: Shop, where: Path) -> None:
    write_state(shop, where)
    shop.git("update-index", "--no-skip-worktree", STATE, cwd=where)
    shop.git("add", "--all", "--force", cwd=where)
    shop.git("commit", "-q", "-m", "evil", cwd=where)


def delete_state(shop: Shop, where: Path) -> None:
    shop.git("rm", "-q", "-r", "--cached", "--sparse", ".sow/project", cwd=where)
    shop.git("commit", "-q", "-m", "evil", cwd=where)
    write_state(shop, where)


def link_state(shop: Shop, where: Path) -> None:
    (where / ".sow/project").symlink_to(shop.root / ".sow/project")
    write_state(shop, where / "..")


@pytest.mark.parametrize("act", [write_state, commit_state, delete_state, link_state], ids=lambda each: each.__name__)
def test_the_state_is_not_a_workers_to_change(shop: Shop, act: Callable[[Shop, Path], None]) -> None:
    """State that a worker wrote or committed is not in the collected commit, is pinned, and leaves the worktree."""
    where, base = shop.prepare(), shop.head()
    real = (shop.root / STATE).read_bytes()
    act(shop, where)
    shop.write("work.txt", where=where)
    collected = shop.collect(base=base)
    assert collected.paths == ["work.txt"]
    assert any(".sow/project" in each for each in collected.remarks)
    assert not os.path.lexists(where / ".sow/project")
    assert not os.path.lexists(where / "orchestration")
    assert (shop.root / STATE).read_bytes() == real
    assert shop.git("status", "--porcelain", cwd=where) == ""
    kept = [shop.git("ls-tree", "-r", "--name-only", commit) for commit in shop.pins().values()]
    assert any(".sow/project" in names and names != kept[0] for names in kept)


def test_a_link_in_place_of_our_folder(shop: Shop) -> None:
    """A worker that puts a link to the home's .sow into its worktree reaches nothing of it through our clean-up."""
    where = shop.prepare()
    before = shop.repo.snapshot()
    shutil.rmtree(where / ".sow")
    (where / ".sow").symlink_to(shop.root / ".sow")
    collected = shop.collect()
    assert shop.text(collected.commit, STATE) == (shop.root / STATE).read_text()
    after = shop.repo.snapshot()
    assert {path: data for path, data in after.items() if "/local/" not in path} == {
        path: data for path, data in before.items() if "/local/" not in path
    }


def test_a_repository_inside(shop: Shop) -> None:
    """The files of a repository that a worker made inside its worktree are collected, again and again."""
    where = shop.prepare()
    for name in ("with", "without"):
        (where / name).mkdir()
        shop.git("init", "-q", cwd=where / name)
        shop.write(f"{name}/inner.txt", "inner\n", where=where)
    shop.commit("inner", where=where / "with")
    (where / "with/deep").mkdir()
    shop.git("init", "-q", cwd=where / "with/deep")
    shop.write("with/deep/deepest.txt", where=where)
    collected = shop.collect()
    assert collected.paths == ["with/deep/deepest.txt", "with/inner.txt", "without/inner.txt"]
    assert "with is a repository of its own: its files are taken, and not its history" in collected.remarks
    shop.write("with/inner.txt", "changed\n", where=where)
    shop.write("with/new.txt", where=where)
    second = shop.collect(iteration=2)
    assert shop.text(second.commit, "with/inner.txt") == "changed\n"
    assert "with/new.txt" in second.paths
    refused = shop.worktrees.remove("010")
    assert refused
    assert "repository of its own: with" in refused.reason


def test_a_repository_that_was_added_as_if_it_were_a_submodule(shop: Shop) -> None:
    """A repository inside that a worker committed as a link gives its files all the same."""
    where, base = shop.prepare(), shop.head()
    (where / "inner").mkdir()
    shop.git("init", "-q", cwd=where / "inner")
    shop.write("inner/inner.txt", where=where)
    shop.commit("inner", where=where / "inner")
    shop.commit("outer", where=where)
    assert shop.git("ls-tree", "HEAD", "inner", cwd=where).startswith("160000")
    assert shop.collect(base=base).paths == ["inner/inner.txt"]


def test_a_submodule_that_the_worker_adds(shop: Shop) -> None:
    """A submodule that .gitmodules names stays one."""
    where = shop.prepare()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(shop.root), "lib")
    shop.git(*add, cwd=where)
    collected = shop.collect()
    assert collected.paths == [".gitmodules", "lib"]
    assert shop.git("ls-tree", collected.commit, "lib").startswith("160000")


def test_a_repository_that_only_calls_itself_a_submodule(shop: Shop) -> None:
    """A repository inside that .gitmodules names is a link, so its worktree is kept: its commits are nowhere else."""
    where = shop.prepare()
    (where / "inner").mkdir()
    shop.git("init", "-q", cwd=where / "inner")
    shop.write("inner/inner.txt", where=where)
    shop.commit("inner", where=where / "inner")
    shop.write(".gitmodules", '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n', where=where)
    assert shop.collect().paths == [".gitmodules", "inner"]
    refused = shop.worktrees.remove("010")
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


def test_odd_names(shop: Shop) -> None:
    """File names with line ends, dashes, quotes, magic or no encoding are collected, shown and removed like others."""
    where = shop.prepare()
    for name in NAMES:
        (where / name).write_text("odd\n")
        (where / "src" / name).write_text("odd\n")
    collected = shop.collect()
    assert sorted(collected.paths) == sorted([*NAMES, *(f"src/{name}" for name in NAMES)])
    assert shop.git("status", "--porcelain", cwd=where) == ""
    assert sorted(shop.worktrees.changed_paths("HEAD", collected.commit)) == sorted(collected.paths)
    for name in NAMES:
        (where / name).unlink()
    second = shop.collect(iteration=2)
    assert sorted(second.paths) == sorted(f"src/{name}" for name in NAMES)
    assert shop.worktrees.remove("010") is None


def test_a_name_that_git_refuses(shop: Shop) -> None:
    """A file whose name git does not take is named, the others are collected, and the worktree stays."""
    where = shop.prepare()
    shop.write("git~1", where=where)
    shop.write("work.txt", where=where)
    collected = shop.collect()
    assert collected.paths == ["work.txt"]
    assert any("not everything could be added" in each for each in collected.remarks)
    refused = shop.worktrees.remove("010")
    assert refused
    assert "git~1" in refused.reason


def test_links(shop: Shop) -> None:
    """Links are collected as links, and those that lead out of the worktree are named."""
    where = shop.prepare()
    (where / "inside").symlink_to("src/a.txt")
    (where / "outside").symlink_to("/etc/passwd")
    (where / "src/up").symlink_to("../../../../../secrets")
    collected = shop.collect()
    assert shop.git("ls-tree", collected.commit, "outside").startswith("120000")
    said = [each for each in collected.remarks if "link out of the worktree" in each]
    assert len(said) == 2
    assert "outside is a link out of the worktree, to /etc/passwd" in said


def test_modes_and_kinds(shop: Shop) -> None:
    """Modes, folders in place of files and files in place of folders are collected as they are."""
    where = shop.prepare()
    (where / "README.md").chmod(0o755)
    (where / "src/a.txt").unlink()
    (where / "src/a.txt").mkdir()
    shop.write("src/a.txt/deep.txt", where=where)
    os.mkfifo(where / "pipe")
    collected = shop.collect()
    assert collected.paths == ["README.md", "src/a.txt", "src/a.txt/deep.txt"]
    shutil.rmtree(where / "src")
    shop.write("src", where=where)
    assert "src" in shop.collect(iteration=2).paths


PERMISSIONS = """
import os, sys
sys.path[:0] = {paths!r}
from support.worktree_repo import *
where = {where!r}
os.chmod(where + "/closed.txt", 0)
os.chmod(where + "/closed", 0)
os.chmod(where + "/src", 0)
collected = Worktrees(home_at({root!r}), RUN).collect("010", 1, "m", "HEAD")
print(collected.paths, collected.remarks)
"""


def test_files_without_permission(shop: Shop) -> None:
    """Files and folders that may not be read are made readable and collected, and that is said."""
    where = shop.prepare()
    for name in ("closed.txt", "closed/inner.txt"):
        shop.write(name, where=where)
    paths = [str(TESTS)]
    code = PERMISSIONS.format(paths=paths, where=str(where), root=str(shop.root))
    humble = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*humble, sys.executable, "-c", code], capture_output=True, text=True, env=shop.repo.environment
    )
    assert done.stdout.startswith("['closed.txt', 'closed/inner.txt'] ['files without permission were"), done.stderr
    assert stat.S_IMODE((where / "closed").stat().st_mode) & 0o700 == 0o700


def test_iterations(shop: Shop) -> None:
    """Every iteration has its pin, and a second collection of one keeps what the first had."""
    where, base = shop.prepare(), shop.head()
    shop.write("work.txt", "1\n", where=where)
    first = shop.collect(base=base)
    shop.write("work.txt", "2\n", where=where)
    second = shop.collect(iteration=2, base=base)
    shop.git("reset", "-q", "--hard", base, cwd=where)
    shop.write("other.txt", where=where)
    third = shop.collect(iteration=2, base=base)
    pins = shop.pins()
    assert (pins["010/1"], pins["010/2"]) == (first.commit, third.commit)
    assert third.paths == ["other.txt"]
    assert shop.is_kept(second.commit)


def test_no_work_is_no_commit(shop: Shop) -> None:
    """A worker that changed nothing gives the base itself, with no paths."""
    shop.prepare()
    collected = shop.collect()
    assert (collected.commit, collected.paths, collected.remarks) == (shop.head(), [], [])


def test_a_user_without_a_name(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git knows no user, our own name is on the commit; hooks and signing never run."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    for hook in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction", "post-index-change"):
        path = shop.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {shop.root}/hook-ran\nexit 1\n")
        path.chmod(0o755)
    shop.git("config", "commit.gpgSign", "true")
    where = shop.prepare()
    shop.write("work.txt", where=where)
    collected = shop.collect()
    assert shop.git("log", "-1", "--format=%an %ae %cn", collected.commit).strip() == "sow sow@localhost sow"
    assert not (shop.root / "hook-ran").exists()


def test_the_home_is_watched(shop: Shop) -> None:
    """What is written outside of the worktree is told: files, branches, the stash, and where HEAD is."""
    where = shop.prepare()
    before = shop.worktrees.home_snapshot()
    assert shop.worktrees.home_snapshot().changes_since(before) == []
    shop.write("src/b.txt", "overwritten\n")
    shop.write("fresh.txt")
    shop.git("branch", "sly", cwd=where)
    told = "\n".join(shop.worktrees.home_snapshot().changes_since(before))
    assert "fresh.txt, src/b.txt" in told
    assert "refs/heads/sly" in told
    shop.git("stash", "-q", "--include-untracked")
    shop.git("switch", "-q", "-c", "other")
    shop.write("src/b.txt", "committed\n")
    shop.commit()
    told = "\n".join(shop.worktrees.home_snapshot().changes_since(before))
    assert f"is on other and was on {BRANCH}" in told
    assert "home checkout is at" in told
    assert "refs/stash" in told


def test_our_files_are_no_work(shop: Shop) -> None:
    """The local folders of sow in a worktree are never collected, even where nothing makes git ignore them."""
    where = shop.prepare()
    (where / ".sow/.gitignore").unlink()
    for folder in ("local", "sinks", "repos"):
        shop.write(f".sow/{folder}/x.txt", where=where)
    assert shop.collect().paths == [".sow/.gitignore"]
