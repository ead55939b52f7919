"""Fixtures: a repository with a .sow folder, and a remote repository to fetch from."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo

from knowledge.remotes import Remote, guides


@pytest.fixture
def remote(tmp_path: Path, environment: dict[str, str]) -> Remote:
    return guides(tmp_path, environment)


@pytest.fixture
def init_repo(bare_repo: Repo) -> Repo:
    """A repository after `sow init`."""
    bare_repo.ok("init")
    return bare_repo
