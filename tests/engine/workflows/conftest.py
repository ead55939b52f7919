"""A repository for every test of a workflow."""

from __future__ import annotations

import pytest
from conftest import Repo
from support.in_process_crew import Stage


@pytest.fixture
def stage(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A repository in which crews are played in this process; our own git sees only the test's home."""
    for name, value in repo.environment.items():
        monkeypatch.setenv(name, value)
    return Stage(repo.root)
