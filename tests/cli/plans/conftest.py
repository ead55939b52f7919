"""A checkout of a repository on a forge of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import Repo

if TYPE_CHECKING:
    from support.forge_server import ForgeServer


@pytest.fixture
def server(server: ForgeServer, repo: Repo, tmp_path: Path) -> ForgeServer:
    """The forge of the checkout, whose user is logged in."""
    repo.git("remote", "add", "origin", server.url())
    repo.environment |= server.environment(tmp_path)
    return server
