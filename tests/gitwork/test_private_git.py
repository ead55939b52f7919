"""A worker's private git folder: it may do anything there, and only checked commits reach the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bad_worker_acts import (
    MISCHIEF,
    delete_folder,
    delete_pointer,
    leave_locks,
    make_a_repository_of_its_own,
    start_a_line_of_its_own,
)
from support.worktree_repo import RUN, WorktreeRepo

from sow.gitwork.private_git import PrivateGit
from sow.gitwork.worktree import Worktree

# Acts that the sandbox refuses: the pointer and the folder are mount points.
REFUSED = (delete_folder, delete_pointer, make_a_repository_of_its_own, leave_locks)
ACTS = [act for act in MISCHIEF if act not in REFUSED]


class Sandboxed:
    """The worktree of a task as its worker sees it in the sandbox: with another pointer."""

    def __init__(self, repo: WorktreeRepo) -> None:
        self.repo = repo
        self.base = repo.head()
        self.where = repo.prepare()
        self.private = PrivateGit(Worktree(repo.worktrees.repository, "010"))
        self.pointer = (self.where / ".git").read_text()

    def __enter__(self) -> Sandboxed:
        with self.private.repository.locked():
            self.private.open()
        shutil.copy(self.private.pointer, self.where / ".git")
        return self

    def __exit__(self, *error: object) -> None:
        (self.where / ".git").write_text(self.pointer)

    def take_over(self) -> list[str]:
        with self.private.repository.locked():
            return self.private.take_over()


def test_commits_are_taken_over(worktree_repo: WorktreeRepo) -> None:
    """Two commits of a worker are on the task's branch after its turn, with their own messages."""
    with Sandboxed(worktree_repo) as sandboxed:
        worktree_repo.write("one.txt", where=sandboxed.where)
        first = worktree_repo.commit("One", where=sandboxed.where)
        worktree_repo.write("two.txt", where=sandboxed.where)
        second = worktree_repo.commit("Two", where=sandboxed.where)
        assert worktree_repo.git("log", "--format=%s", "-1").strip() != "Two"
        assert worktree_repo.git("cat-file", "-t", second, ok=False) == ""
    assert sandboxed.take_over() == []
    assert worktree_repo.head(sandboxed.where) == second
    assert worktree_repo.git("rev-parse", f"sow/task/{RUN}/010").strip() == second
    assert worktree_repo.git("rev-parse", f"{second}~1").strip() == first
    assert worktree_repo.git("status", "--porcelain", cwd=sandboxed.where) != ""  # the index is taken at collection
    collected = worktree_repo.collect(base=sandboxed.base)
    assert collected.commit == second
    assert worktree_repo.git("status", "--porcelain", cwd=sandboxed.where) == ""


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_every_act_is_collected(worktree_repo: WorktreeRepo, act: Callable[[WorktreeRepo, Path], list[str]]) -> None:
    """Whatever a worker does with its own git folder, its work is one commit on the base and every commit is kept."""
    with Sandboxed(worktree_repo) as sandboxed:
        made = act(worktree_repo, sandboxed.where)
        before = worktree_repo.user_side()
    collected = worktree_repo.collect(base=sandboxed.base)
    assert worktree_repo.text(collected.commit, "work.txt") == "work.txt\n"
    assert worktree_repo.git("merge-base", sandboxed.base, collected.commit).strip() == sandboxed.base
    assert [commit for commit in made if not worktree_repo.is_kept(commit)] == []
    assert worktree_repo.git("fsck", "--strict", "--no-dangling", ok=False).count("missing") == 0
    after = worktree_repo.user_side()
    if act is not start_a_line_of_its_own:
        assert {key: after[key] for key in ("files", "index", "head", "config")} == {
            key: before[key] for key in ("files", "index", "head", "config")
        }


def test_the_second_turn_starts_from_the_collected_work(worktree_repo: WorktreeRepo) -> None:
    """After a collection, the worker's next turn sees a clean checkout of the collected commit."""
    with Sandboxed(worktree_repo) as sandboxed:
        worktree_repo.write("one.txt", where=sandboxed.where)
    collected = worktree_repo.collect(base=sandboxed.base)
    with sandboxed:
        assert worktree_repo.head(sandboxed.where) == collected.commit
        assert worktree_repo.git("status", "--porcelain", cwd=sandboxed.where) == ""
        worktree_repo.write("two.txt", where=sandboxed.where)
        second = worktree_repo.commit("Two", where=sandboxed.where)
    assert worktree_repo.collect(iteration=2, base=sandboxed.base).commit == second


def test_an_object_with_another_content_is_refused(worktree_repo: WorktreeRepo) -> None:
    """An object whose content does not match its name is not taken over; the files of the worktree are."""
    with Sandboxed(worktree_repo) as sandboxed:
        worktree_repo.write("one.txt", where=sandboxed.where)
        commit = worktree_repo.commit("One", where=sandboxed.where)
        blob = worktree_repo.git("rev-parse", "HEAD:one.txt", cwd=sandboxed.where).strip()
        path = Path(sandboxed.private.folder, "objects", blob[:2], blob[2:])
        path.chmod(0o644)
        path.write_bytes(zlib.compress(b"blob 5\0evil\n"))
    (remark,) = sandboxed.take_over()
    assert "could not be taken over" in remark
    collected = worktree_repo.collect(base=sandboxed.base)
    assert collected.commit != commit
    assert worktree_repo.text(collected.commit, "one.txt") == "text\n"


def test_settings_of_the_worker_have_no_effect_outside(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """Filters, hooks, alternates and a monitor in the worker's folder start no program in sow's git."""
    planted = tmp_path / "planted"
    with Sandboxed(worktree_repo) as sandboxed:
        folder = Path(sandboxed.private.folder)
        for name in ("core.fsmonitor", "filter.evil.clean", "core.sshCommand", "uploadpack.packObjectsHook"):
            worktree_repo.git("config", name, f"touch {planted}", cwd=sandboxed.where)
        worktree_repo.write(".gitattributes", "* filter=evil\n", where=sandboxed.where)
        worktree_repo.write("one.txt", where=sandboxed.where)
        hook = folder / "hooks/post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {planted}\n")
        hook.chmod(0o755)
        worktree_repo.git("commit", "-q", "--allow-empty", "-m", "Empty", cwd=sandboxed.where)
        planted.unlink(missing_ok=True)
        (folder / "objects/info/alternates").write_text(f"{tmp_path}/elsewhere\n")
    worktree_repo.collect(base=sandboxed.base)
    assert not planted.exists()


@pytest.mark.parametrize("name", ["objects", "worktrees/own", "refs", "packed-refs"])
def test_a_link_in_the_git_folder_is_harmless(worktree_repo: WorktreeRepo, tmp_path: Path, name: str) -> None:
    """A worker that replaces a part of its folder by a link loses its commits; nothing else is read or changed."""
    with Sandboxed(worktree_repo) as sandboxed:
        worktree_repo.write("one.txt", where=sandboxed.where)
        path = Path(sandboxed.private.folder, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        os.symlink(worktree_repo.root / ".git" / "objects", path)
    before = worktree_repo.git("for-each-ref")
    worktree_repo.collect(base=sandboxed.base)
    assert worktree_repo.git("fsck", "--no-dangling", ok=False).count("missing") == 0
    assert before.splitlines()[0] in worktree_repo.git("for-each-ref")


def test_logins_are_left_out(worktree_repo: WorktreeRepo) -> None:
    """Tokens in remotes, headers and helpers are not in the worker's settings; other settings are."""
    worktree_repo.git("remote", "add", "origin", "https://me:secret-token@example.org/x.git")
    worktree_repo.git("config", "http.https://example.org/.extraheader", "AUTHORIZATION: secret-header")
    worktree_repo.git("config", "credential.helper", "store --file secret-file")
    worktree_repo.git("config", "diff.renames", "copies")
    with Sandboxed(worktree_repo) as sandboxed:
        text = Path(sandboxed.private.folder, "config").read_text()
        assert (
            worktree_repo.git("remote", "get-url", "origin", cwd=sandboxed.where).strip() == "https://example.org/x.git"
        )
        assert worktree_repo.git("config", "diff.renames", cwd=sandboxed.where).strip() == "copies"
    assert "secret" not in text


LEADING = {
    "objects/pack": "mv objects/pack objects/old; ln -s {other}/.git/objects/pack objects/pack",
    "objects": "mv objects old; ln -s {other}/.git/objects objects",
    "one folder of objects": "rm -rf objects/{two}; ln -s {other}/.git/objects/{two} objects/{two}",
    "objects/info": "mv objects/info objects/old; mkdir own; echo {other}/.git/objects > own/alternates; "
    "ln -s ../own objects/info",
}


@pytest.mark.parametrize("script", LEADING.values(), ids=LEADING)
def test_links_copy_no_objects_of_other_repositories(worktree_repo: WorktreeRepo, tmp_path: Path, script: str) -> None:
    """A worker that knows a commit of another repository gets no copy of it through links in its folder."""
    other = tmp_path / "other"
    worktree_repo.git("init", "-q", str(other))
    (other / "private.txt").write_text("a private word\n")
    worktree_repo.git("add", "private.txt", cwd=other)
    secret = worktree_repo.commit("Private", where=other)
    if "pack" in script:
        worktree_repo.git("gc", "-q", cwd=other)
    with Sandboxed(worktree_repo) as sandboxed:
        folder = sandboxed.private.folder
        subprocess.run(["sh", "-ec", script.format(other=other, two=secret[:2])], cwd=folder, check=True)
        Path(folder, "refs/heads/evil").write_text(f"{secret}\n")
    sandboxed.take_over()
    assert worktree_repo.git("cat-file", "-t", secret, ok=False) == ""


def test_a_linked_log_is_not_copied(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """A link in place of a worker's log is not copied into the repository, where the worker could read it."""
    (tmp_path / "HEAD").write_text("a private word\n")
    with Sandboxed(worktree_repo) as sandboxed:
        logs = Path(sandboxed.private.folder, "worktrees/own/logs")
        shutil.rmtree(logs)
        logs.symlink_to(tmp_path)
    sandboxed.take_over()
    record = Path(sandboxed.private.worktree.git_dir)
    assert "private" not in "".join(path.read_text() for path in (record / "logs").rglob("*") if path.is_file())


def test_a_pipe_does_not_block_sow(worktree_repo: WorktreeRepo) -> None:
    """A pipe in place of an object, and a folder without permissions, do not keep sow from the other commits."""
    with Sandboxed(worktree_repo) as sandboxed:
        folder = Path(sandboxed.private.folder)
        name = "ab" + "c" * 38
        (folder / "objects/ab").mkdir(exist_ok=True)
        os.mkfifo(folder / "objects/ab" / name[2:])
        (folder / "refs/heads/evil").write_text(f"{name}\n")
        worktree_repo.write("one.txt", where=sandboxed.where)
        commit = worktree_repo.commit("One", where=sandboxed.where)
        for path in (folder / "objects/ab", folder / "refs/tags"):
            path.chmod(0)
    assert sandboxed.take_over() == []
    assert worktree_repo.head(sandboxed.where) == commit
