"""A plan's repository with a remote on a forge of the test: new, after its run, or with its request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.delivery_scene import Scene, StoredScene
    from support.folder_template import FolderTemplate
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


@pytest.fixture(scope="session")
def _github(tmp_path_factory: pytest.TempPathFactory, _bare_files: FolderTemplate) -> Iterator[StoredScene]:
    from support.delivery_scene import StoredScene
    from support.forge_server import ForgeServer

    stored = StoredScene(tmp_path_factory.mktemp("github"), _bare_files, ForgeServer)
    yield stored
    stored.server.close()


@pytest.fixture(scope="session")
def _gitlab(tmp_path_factory: pytest.TempPathFactory, _bare_files: FolderTemplate) -> Iterator[StoredScene]:
    from support.delivery_scene import StoredScene
    from support.gitlab_server import GitLabServer

    stored = StoredScene(tmp_path_factory.mktemp("gitlab"), _bare_files, GitLabServer)
    yield stored
    stored.server.close()


def put_back(stored: StoredScene, stage: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """Puts a scene back; this process has its environment until the end of the test."""
    scene = stored.restore(stage)
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    yield scene
    scene.plans.close()


@pytest.fixture
def finished(_github: StoredScene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A scene after its run of one task."""
    yield from put_back(_github, "finished", monkeypatch)


@pytest.fixture
def delivered(_github: StoredScene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """The same with an open request."""
    yield from put_back(_github, "delivered", monkeypatch)


@pytest.fixture
def gitlab_finished(_gitlab: StoredScene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A scene on GitLab after its run of one task."""
    yield from put_back(_gitlab, "finished", monkeypatch)


@pytest.fixture
def gitlab_delivered(_gitlab: StoredScene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """The same with an open request."""
    yield from put_back(_gitlab, "delivered", monkeypatch)
