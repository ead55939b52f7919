"""Links, copies and commands prepare a worktree; they never become part of the work and stay inside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.quick_cases import few_of
from support.worktree_repo import WorktreeRepo

from sow.gitwork.worktree import EnvironmentProblem


def furnish(worktree_repo: WorktreeRepo, **settings: Any) -> list[list[str]]:
    return worktree_repo.worktrees.install_setup_files("010", settings)


@pytest.fixture
def where(worktree_repo: WorktreeRepo) -> Path:
    """A prepared worktree, in a home checkout with ignored files."""
    worktree_repo.write("node_modules/pad/index.js", "pad\n")
    worktree_repo.write(".env", "KEY=1\n").chmod(0o600)
    worktree_repo.write("conf/local/deep.log", "deep\n")
    (worktree_repo.root / "conf/local/up.log").symlink_to("deep.log")
    return worktree_repo.prepare()


def test_links_and_copies(worktree_repo: WorktreeRepo, where: Path) -> None:
    """Ignored files are there, as links or as copies, and the originals stay as they are."""
    assert furnish(worktree_repo, link=["node_modules"], copy=[".env", "conf/local/"]) == []
    assert (where / "node_modules").is_symlink()
    assert (where / "node_modules/pad/index.js").read_text() == "pad\n"
    assert (where / ".env").stat().st_mode & 0o777 == 0o600
    assert (where / "conf/local/deep.log").read_text() == "deep\n"
    assert os.readlink(where / "conf/local/up.log") == "deep.log"
    worktree_repo.write(".env", "KEY=2\n", where=where)
    assert (worktree_repo.root / ".env").read_text() == "KEY=1\n"


def test_setup_files_are_no_work(worktree_repo: WorktreeRepo, where: Path) -> None:
    """Links and copies are not collected, not even if git does not ignore them or a worker committed them."""
    worktree_repo.write("plain.txt", "not ignored, not committed\n")
    furnish(worktree_repo, link=["node_modules"], copy=[".env", "plain.txt"])
    worktree_repo.git("add", "--force", "--all", cwd=where)
    base = worktree_repo.head()
    worktree_repo.git("commit", "-q", "-m", "all of it", cwd=where)
    worktree_repo.write("work.txt", where=where)
    assert worktree_repo.collect(base=base).paths == ["work.txt"]
    assert (where / "node_modules").is_symlink()


def test_setup_files_do_not_keep_a_worktree(worktree_repo: WorktreeRepo, where: Path) -> None:
    """A prepared worktree is removed, and the targets of its links stay."""
    worktree_repo.write("plain.txt", "not ignored\n")
    furnish(worktree_repo, link=["node_modules"], copy=["conf/local", "plain.txt"])
    assert worktree_repo.worktrees.remove("010") is None
    assert not where.exists()
    assert (worktree_repo.root / "node_modules/pad/index.js").read_text() == "pad\n"
    assert (worktree_repo.root / "plain.txt").exists()


def test_a_second_preparation_changes_nothing(worktree_repo: WorktreeRepo, where: Path) -> None:
    """It also leaves what a worker installed."""
    furnish(worktree_repo, link=["node_modules"])
    (where / "node_modules").unlink()
    worktree_repo.write("node_modules/own.js", where=where)
    furnish(worktree_repo, link=["node_modules"], copy=[".env"])
    furnish(worktree_repo, link=["node_modules"], copy=[".env"])
    assert (where / "node_modules/own.js").exists()
    assert (where / ".env").exists()


def test_a_torn_copy_is_made_again(worktree_repo: WorktreeRepo, where: Path) -> None:
    """A partial copy of a killed call is replaced, and a copy appears only when it is complete."""
    aside = Path(f"{where}.copy")
    (aside / "half").mkdir(parents=True)
    worktree_repo.write("half/torn.txt", where=aside)
    furnish(worktree_repo, copy=["conf/local"])
    assert sorted(os.listdir(where / "conf/local")) == ["deep.log", "up.log"]
    assert not aside.exists()


def test_commands_run_once(worktree_repo: WorktreeRepo, where: Path) -> None:
    """Setup commands run until they are marked as done, and again if they change or the worktree is lost."""
    settings = {"link": ["node_modules"], "setup": [["npm", "ci"], ["make", "-s"]]}
    for _ in range(2):  # one that failed is tried again the next time
        assert furnish(worktree_repo, **settings) == [["npm", "ci"], ["make", "-s"]]
    worktree_repo.worktrees.record_setup("010", settings)
    assert furnish(worktree_repo, **settings) == []
    other = {**settings, "setup": [["true"]]}
    assert furnish(worktree_repo, **other) == [["true"]]
    worktree_repo.worktrees.record_setup("010", other)
    assert furnish(worktree_repo, **other) == []
    os.rename(where, f"{where}-gone")
    worktree_repo.prepare()
    assert furnish(worktree_repo, **other) == [["true"]]


BAD = [
    "",
    "/etc/passwd",
    "../outside",
    "a/../../outside",
    ".",
    "..",
    ".git",
    ".git/config",
    "sub/.git",
    ".sow",
    ".sow/project",
    "orchestration/x",
    "missing",
    "src/a.txt",
    "src",
    "escape",
    "escape/inner.txt",
    "nul\0byte",
    7,
    None,
]


@pytest.mark.parametrize("kind", ["link", "copy"])
@few_of("path", BAD, 6, ids=repr)
def test_paths_that_lead_outside_are_refused(worktree_repo: WorktreeRepo, where: Path, kind: str, path: object) -> None:
    """A path out of the home checkout, to sow's files or to committed ones is refused before anything is made."""
    outside = worktree_repo.root.parent / "outside"
    outside.mkdir()
    worktree_repo.write("inner.txt", where=outside)
    (worktree_repo.root / "escape").symlink_to(outside)
    (worktree_repo.root / "sub").mkdir()
    before = sorted(os.listdir(where))
    with pytest.raises(EnvironmentProblem, match="worktree: "):
        furnish(worktree_repo, **{"copy": [".env"], kind: [path]})
    assert sorted(os.listdir(where)) == before
    assert os.listdir(outside) == ["inner.txt"]


def test_a_link_in_the_worktree_is_not_written_through(worktree_repo: WorktreeRepo, where: Path) -> None:
    """A link that a worker put on the way is not written through."""
    outside = worktree_repo.root.parent / "outside"
    outside.mkdir()
    (where / "conf").symlink_to(outside)
    with pytest.raises(EnvironmentProblem, match="through a link"):
        furnish(worktree_repo, copy=["conf/local"])
    assert os.listdir(outside) == []
