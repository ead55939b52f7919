"""A yard with one pending task for every test of a turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from workers import Yard


@pytest.fixture
def yard(repo: Repo, tmp_path: Path) -> Yard:
    """A repository with a simulated worker and the pending task 010."""
    repo.ok("task", "create", "--name", "Add login")
    return Yard(repo, tmp_path)
