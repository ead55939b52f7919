"""Fixtures: a repository for tests of workflows."""

from __future__ import annotations

import pytest
from conftest import Repo
from support.in_process_crew import CrewRepo


@pytest.fixture
def crew_repo(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> CrewRepo:
    """A repository in which crews run in this process; git sees only the test's home."""
    for name, value in repo.environment.items():
        monkeypatch.setenv(name, value)
    return CrewRepo(repo.root)
