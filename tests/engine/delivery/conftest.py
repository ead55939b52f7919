"""A plan's repository with a remote on a forge of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.delivery_scene import Scene
    from support.forge_server import ForgeServer
    from support.plan_repo import PlanRepo


@pytest.fixture
def gitlab_scene(plan_repo: PlanRepo, tmp_path: Path) -> Iterator[Scene]:
    from support.delivery_scene import Scene
    from support.gitlab_server import GitLabServer

    folder = tmp_path / "forge"
    folder.mkdir()
    server = GitLabServer(folder)
    server.add_repository()
    plan_repo.repo.environment |= server.environment(tmp_path)
    plan_repo.repo.git("remote", "add", "origin", server.url())
    yield Scene(plan_repo, server)
    server.close()


@pytest.fixture
def scene(plan_repo: PlanRepo, server: ForgeServer, tmp_path: Path) -> Scene:
    from support.delivery_scene import Scene

    plan_repo.repo.environment |= server.environment(tmp_path)
    plan_repo.repo.git("remote", "add", "origin", server.url())
    return Scene(plan_repo, server)
