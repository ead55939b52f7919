"""A sparse checkout of the user: runs, `sow integrate` and `sow project save` work, and it stays sparse (F51)."""

from __future__ import annotations

import pytest
from support.plan_repo import WORK, PlanRepo


@pytest.fixture
def sparse(plan_repo: PlanRepo) -> PlanRepo:
    """A checkout in cone mode with src and the files at the top."""
    for path in ("src/a.txt", "docs/b.txt", "docs/c.txt"):
        (plan_repo.repo.root / path).parent.mkdir(exist_ok=True)
        (plan_repo.repo.root / path).write_text("old\n")
    plan_repo.repo.git("add", "--all")
    plan_repo.repo.git("commit", "-q", "-m", "files")
    plan_repo.repo.git("sparse-checkout", "set", "--cone", "src")
    assert not (plan_repo.repo.root / "docs").exists()
    return plan_repo


def test_a_run_in_a_sparse_checkout(sparse: PlanRepo) -> None:
    """Work inside and outside of the cone reaches the branch; only the cone is on disk, and the state stays."""
    repo = sparse.repo
    sparse.act("implementer", f"{WORK}echo new > src/a.txt; echo new > docs/b.txt; echo new > docs/new.txt\n")
    sparse.plan("First")
    for _ in range(2):
        result = sparse.run("--yes")
        assert result.code == 0, result
        assert (repo.root / "src/a.txt").read_text() == "new\n"
        assert repo.git("show", "HEAD:docs/b.txt", "HEAD:docs/new.txt") == "new\nnew\n"
        assert not (repo.root / "docs").exists()
        assert sparse.statuses()["010"] == "completed"
        assert "?? " not in repo.git("status", "--porcelain", "--", "src", "docs", ".sow/project")
        sparse.act("implementer", WORK)
        sparse.plan("First", "Second", commit=False)
    assert sparse.statuses() == {"010": "completed", "020": "completed"}


@pytest.mark.full
def test_the_project_is_saved_in_a_sparse_checkout(sparse: PlanRepo) -> None:
    """`sow project save` commits the state although the user's sparse checkout leaves it out."""
    repo = sparse.repo
    sparse.plan("First")
    assert sparse.run().code == 0
    repo.ok("task", "create", "--name", "By hand")
    repo.ok("project", "save")
    assert ".sow/project/phases/implementation/tasks/020/state.yaml" in repo.git("ls-tree", "-r", "--name-only", "HEAD")
    assert sparse.statuses() == {"010": "completed", "020": "pending"}
    assert repo.git("status", "--porcelain", "--", ".sow") == ""
    repo.ok("task", "abandon", "020", "--reason", "not needed")
    repo.ok("project", "save")
    assert sparse.statuses() == {"010": "completed", "020": "abandoned"}
