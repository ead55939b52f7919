"""`sow --version` names the commit of a checkout from git's files."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Repo
from support.paths import ROOT

import sow


@pytest.mark.parametrize("state", ["a loose ref", "a packed ref", "a detached head"])
def test_the_commit_of_a_checkout(bare_repo: Repo, state: str) -> None:
    """The commit of HEAD is found, however git keeps it."""
    if state == "a packed ref":
        bare_repo.git("pack-refs", "--all")
    if state == "a detached head":
        bare_repo.git("switch", "-q", "--detach")
    assert sow._checkout_commit(f"{bare_repo.root}/.git") == bare_repo.git("rev-parse", "HEAD")[:12]


def test_without_a_commit(bare_repo: Repo) -> None:
    """A folder that is no repository, and a branch without a commit, have none."""
    assert sow._checkout_commit(f"{bare_repo.root}/none") == ""
    bare_repo.git("switch", "-q", "--orphan", "empty")
    assert sow._checkout_commit(f"{bare_repo.root}/.git") == ""


def test_the_version_of_this_checkout() -> None:
    """A checkout of sow prints its own commit; a worktree of one prints only the version."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True)[:12]
    expected = f"{sow.__version__} ({commit})" if (ROOT / ".git").is_dir() else sow.__version__
    assert sow.version_text() == expected
