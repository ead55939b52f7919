"""Fixtures: one finished run of a plan, shared by all tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo, fresh_environment
from support.plan_repo import WORK, PlanRepo

ASK = "sow task set status paused --reason 'Which colour?'\n"
COUNT = 'i=0; while [ $i -lt 40 ]; do echo "line $i ä€😀"; i=$((i+1)); done\n'


def new_plan_repo(folder: Path) -> PlanRepo:
    root = folder / "repo"
    root.mkdir()
    repo = Repo(root, fresh_environment(folder / "home"))
    repo.git("init", "-q", "-b", "feat/harbour")
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    return PlanRepo(repo, folder)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanRepo]:
    """Task 010 was done at once, 020 was sent back once, 030 asks, 040 waits for it; no agent is working."""
    made = new_plan_repo(tmp_path_factory.mktemp("finished"))
    made.act("implementer-010", WORK + COUNT)
    made.act("implementer-020-2", 'echo "better" > "part_020.txt"\n')
    made.judge("020", "RED", "GREEN")
    made.act("implementer-030", ASK)
    made.plan({"name": "First", "test_commands": ["cat part_010.txt"]}, "Second < 1", "Third", "Fourth < 3")
    assert made.run().code == 4
    yield made
    made.close()
