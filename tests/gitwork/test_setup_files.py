"""Links, copies and commands make a worktree fit for tests; they never become work and never lead outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.worktree_repo import Shop

from sow.gitwork.worktree import EnvironmentProblem


def furnish(shop: Shop, **settings: Any) -> list[list[str]]:
    return shop.worktrees.install_setup_files("010", settings)


@pytest.fixture
def where(shop: Shop) -> Path:
    """A prepared worktree, in a home with files that git ignores."""
    shop.write("node_modules/pad/index.js", "pad\n")
    shop.write(".env", "KEY=1\n").chmod(0o600)
    shop.write("conf/local/deep.log", "deep\n")
    (shop.root / "conf/local/up.log").symlink_to("deep.log")
    return shop.prepare()


def test_links_and_copies(shop: Shop, where: Path) -> None:
    """Ignored files are there, as links or as copies of their own, and the home's stay as they are."""
    assert furnish(shop, link=["node_modules"], copy=[".env", "conf/local/"]) == []
    assert (where / "node_modules").is_symlink()
    assert (where / "node_modules/pad/index.js").read_text() == "pad\n"
    assert (where / ".env").stat().st_mode & 0o777 == 0o600
    assert (where / "conf/local/deep.log").read_text() == "deep\n"
    assert os.readlink(where / "conf/local/up.log") == "deep.log"
    shop.write(".env", "KEY=2\n", where=where)
    assert (shop.root / ".env").read_text() == "KEY=1\n"


def test_furniture_is_no_work(shop: Shop, where: Path) -> None:
    """What was linked or copied is not collected, not even where git does not ignore it or a worker committed it."""
    shop.write("plain.txt", "not ignored, not committed\n")
    furnish(shop, link=["node_modules"], copy=[".env", "plain.txt"])
    shop.git("add", "--force", "--all", cwd=where)
    base = shop.head()
    shop.git("commit", "-q", "-m", "all of it", cwd=where)
    shop.write("work.txt", where=where)
    assert shop.collect(base=base).paths == ["work.txt"]
    assert (where / "node_modules").is_symlink()


def test_furniture_does_not_keep_a_worktree(shop: Shop, where: Path) -> None:
    """A furnished worktree is removed, and what its links led to stays."""
    shop.write("plain.txt", "not ignored\n")
    furnish(shop, link=["node_modules"], copy=["conf/local", "plain.txt"])
    assert shop.worktrees.remove("010") is None
    assert not where.exists()
    assert (shop.root / "node_modules/pad/index.js").read_text() == "pad\n"
    assert (shop.root / "plain.txt").exists()


def test_furnishing_again(shop: Shop, where: Path) -> None:
    """A second furnishing changes nothing, and leaves what a worker installed itself."""
    furnish(shop, link=["node_modules"])
    (where / "node_modules").unlink()
    shop.write("node_modules/own.js", where=where)
    furnish(shop, link=["node_modules"], copy=[".env"])
    furnish(shop, link=["node_modules"], copy=[".env"])
    assert (where / "node_modules/own.js").exists()
    assert (where / ".env").exists()


def test_a_torn_copy_is_made_again(shop: Shop, where: Path) -> None:
    """What a killed copy left beside the worktree is replaced, and a copy appears only when it is whole."""
    aside = Path(f"{where}.copy")
    (aside / "half").mkdir(parents=True)
    shop.write("half/torn.txt", where=aside)
    furnish(shop, copy=["conf/local"])
    assert sorted(os.listdir(where / "conf/local")) == ["deep.log", "up.log"]
    assert not aside.exists()


def test_commands_run_once(shop: Shop, where: Path) -> None:
    """Setup commands are to be run until they are marked as done, and again if they change or the worktree is lost."""
    settings = {"link": ["node_modules"], "setup": [["npm", "ci"], ["make", "-s"]]}
    for _ in range(2):  # one that failed is tried again the next time
        assert furnish(shop, **settings) == [["npm", "ci"], ["make", "-s"]]
    shop.worktrees.record_setup("010", settings)
    assert furnish(shop, **settings) == []
    other = {**settings, "setup": [["true"]]}
    assert furnish(shop, **other) == [["true"]]
    shop.worktrees.record_setup("010", other)
    assert furnish(shop, **other) == []
    os.rename(where, f"{where}-gone")
    shop.prepare()
    assert furnish(shop, **other) == [["true"]]


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
@pytest.mark.parametrize("path", BAD, ids=repr)
def test_paths_that_lead_outside(shop: Shop, where: Path, kind: str, path: object) -> None:
    """A path that leads out of the home, to what is ours or to what is committed is refused before anything is made."""
    outside = shop.root.parent / "outside"
    outside.mkdir()
    shop.write("inner.txt", where=outside)
    (shop.root / "escape").symlink_to(outside)
    (shop.root / "sub").mkdir()
    before = sorted(os.listdir(where))
    with pytest.raises(EnvironmentProblem, match="worktree: "):
        furnish(shop, **{"copy": [".env"], kind: [path]})
    assert sorted(os.listdir(where)) == before
    assert os.listdir(outside) == ["inner.txt"]


def test_a_worktree_that_leads_outside(shop: Shop, where: Path) -> None:
    """A link that a worker put on the way is not written through."""
    outside = shop.root.parent / "outside"
    outside.mkdir()
    (where / "conf").symlink_to(outside)
    with pytest.raises(EnvironmentProblem, match="through a link"):
        furnish(shop, copy=["conf/local"])
    assert os.listdir(outside) == []
