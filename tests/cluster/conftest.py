"""Two hosts that a run reaches over ssh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.plan_repo import PlanRepo
from support.ssh_hosts import Hosts


@pytest.fixture
def hosts(plan_repo: PlanRepo, tmp_path: Path) -> Iterator[Hosts]:
    """Two machines, box-a and box-b, with the executors of home."""
    made = Hosts(plan_repo, tmp_path)
    yield made
    plan_repo.close()
    made.close()
