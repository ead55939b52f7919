"""A run's report after a final check failed: its counts, results and next steps agree with each other."""

from __future__ import annotations

import pytest
from support.plan_repo import PlanRepo


@pytest.fixture
def asking(plan_repo: PlanRepo) -> PlanRepo:
    """A run that waits with the question about a final check."""
    journal = f"{plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl"
    wait = f'until grep -q \'"merged", .*"010"\' {journal}; do sleep 0.05; done\n'
    plan_repo.act("implementer-020", f"{wait}touch bad.txt\n")
    plan_repo.plan({"test_commands": ["test ! -e bad.txt"]}, "Second")
    result = plan_repo.run("--yes", "--retries", "0")
    assert result.code == 4, result
    return plan_repo


def test_counts_and_results_agree(asking: PlanRepo) -> None:
    """The failed final check is counted, its task is RED, and the question is no second iteration."""
    document = asking.repo.ok("runs", "report", "--format", "json").json
    rows = {row["id"]: row for row in document["tasks"]}
    assert [(rows[ident]["result"], rows[ident]["tries"]) for ident in ("010", "020")] == [("GREEN", 1), ("RED", 1)]
    assert document["totals"]["checks"]["failed"] == 1
    assert "1 failed" in asking.repo.ok("runs", "show").out


@pytest.mark.full
def test_an_iteration_after_a_question_is_no_retry(asking: PlanRepo) -> None:
    """After a question and one more turn, the report has two iterations, and none of `--retries` is used (C6)."""
    asking.act("implementer-020", "rm bad.txt\ntouch good.txt\n")
    asking.repo.ok("answer", "020", "send back")
    result = asking.run("--yes", "--retries", "0")
    assert result.code == 0, result
    document = asking.repo.ok("runs", "report", "--format", "json").json
    row = next(row for row in document["tasks"] if row["id"] == "020")
    assert (row["result"], row["tries"], row["retries"]) == ("GREEN", 2, 0)
