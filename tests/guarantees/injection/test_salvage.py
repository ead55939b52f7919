"""S1 for salvage: a hostile name is refused, and git never gets it as an argument."""

from __future__ import annotations

import pytest
from support.call_server import Caller
from support.plan_repo import PlanRepo

from guarantees.hostile_values import HOSTILE
from sow.domain.inputs import is_branch_name


@pytest.mark.full
def test_no_hostile_word_reaches_git(plan_repo: PlanRepo):
    """A hostile name or branch name never reaches git, and no ref changes."""
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    pin = next(
        entry["called"] for entry in plan_repo.repo.ok("salvage", "--json").json["kept"] if entry["kind"] == "pin"
    )
    refs = plan_repo.repo.git("for-each-ref")
    with Caller() as caller:
        for value in HOSTILE:
            ways = [["--", value], *([[pin, f"--branch={value}"]] if value and not is_branch_name(value) else [])]
            for item in ways:
                answer = caller.call(
                    "salvage", "restore", *item, cwd=plan_repo.repo.root, environment=plan_repo.repo.environment
                )
                assert answer.code == 2, (item, answer)
                assert not [item for item in answer.started if len(value) > 2 and value in item[1:]], item
    assert plan_repo.repo.git("for-each-ref") == refs
    assert not list(plan_repo.repo.root.parent.rglob("owned"))
