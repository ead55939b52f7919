"""sow doctor: every finding is a fact with the next step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Repo


def findings(repo: Repo, state: str, **options: Any) -> list[dict[str, str]]:
    result = repo.sow("doctor", "--json", **options)
    return [finding for finding in result.json["findings"] if finding["state"] == state]


def test_a_healthy_project(task_repo: Repo):
    """In a healthy project every checked item is named, and the exit code is 0."""
    result = task_repo.ok("doctor")
    for fact in ("Python 3.", "git 2.", f"repository {task_repo.root}", "project Add authentication", "1 task can be"):
        assert f"✓ {fact}" in result.out, fact
    assert "0 problems" in result.out.splitlines()[-1]
    assert task_repo.ok("doctor", "--json").json["healthy"] is True


BROKEN = {
    "task state": ("phases/implementation/tasks/010/state.yaml", "task: 1\n"),
    "project state": ("state.yaml", "name: 1\n"),
    "notes": ("phases/implementation/tasks/010/completion_drive/session_current.json", "{"),
    "log": ("log.md", "word\n"),
    "repository config": ("../config.yaml", "agents: {}\n"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_a_problem(task_repo: Repo, what: str):
    """A file that does not follow its schema is a problem with its path and a hint, and the exit code is 1."""
    name, content = BROKEN[what]
    path = (task_repo.project / name).resolve()
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    result = task_repo.sow("doctor")
    assert result.code == 1
    assert result.err == ""
    (problem,) = findings(task_repo, "problem")
    assert str(path.relative_to(task_repo.root)) in problem["what"]
    assert problem["hint"]
    assert result.out.count(problem["what"]) == 1  # no warning repeats it


def test_warnings_do_not_fail(task_repo: Repo):
    """Leftovers, strange folders, missing descriptions and ignored state are warnings with exit code 0."""
    (task_repo.task_folder("010") / ".state.yaml.1.ab.tmp").write_text("")
    (task_repo.task_folder("010") / "state.broken-20260101_000000.yaml").write_text("")
    (task_repo.task_folder("010") / "description.md").unlink()
    (task_repo.project / "phases/strange").mkdir()
    (task_repo.root / ".sow/config.yaml").unlink()
    (task_repo.root / ".gitignore").write_text(".sow/project\n")
    task_repo.ok("doctor")
    text = " | ".join(finding["what"] for finding in findings(task_repo, "warning"))
    for fact in (
        "1 left-overs",
        "state.broken-20260101_000000.yaml",
        "description.md is missing",
        "phases/strange is not a phase",
        ".sow/config.yaml is missing",
        ".sow/project is ignored by git",
    ):
        assert fact in text, fact


def test_without_git(task_repo: Repo):
    """Without git that is one problem among the other findings."""
    (problem,) = findings(task_repo, "problem", PATH="/nonexistent")
    assert problem["what"] == "git is not installed"
    assert findings(task_repo, "ok", PATH="/nonexistent")


def test_outside_of_a_repository(repo: Repo, tmp_path: Path):
    """Outside of a repository the machine is still examined."""
    (problem,) = findings(repo, "problem", cwd=tmp_path / "home")
    assert "is not in a git repository" in problem["what"]
    assert findings(repo, "ok", cwd=tmp_path / "home")


def test_on_another_branch(repo: Repo):
    """A project that belongs to another branch is a problem."""
    repo.git("switch", "-q", "-c", "feat/other")
    (problem,) = findings(repo, "problem")
    assert "belongs to branch feat/auth" in problem["what"]


def test_a_repository_without_a_commit(bare_repo: Repo):
    """A repository without a commit is a problem, because a run refuses it; the hint is the command that helps."""
    bare_repo.git("update-ref", "-d", "HEAD")
    for command in ("version", "init"):
        bare_repo.ok(command)
        result = bare_repo.sow("doctor")
        assert result.code == 1
        assert "has no commit yet, and runs begin at one\n" in result.out
        assert "    make the first one: git commit --allow-empty -m first\n" in result.out


def test_without_a_project(bare_repo: Repo):
    """A repository without a project is healthy, also before `sow init` (D16)."""
    assert (
        "has no .sow folder yet\n    begin with a plan: sow run PLAN; or without one: "
        'git switch -c feature/NAME && sow init --project "NAME"' in bare_repo.ok("doctor").out
    )
    bare_repo.ok("init")
    assert "no project on branch main" in bare_repo.ok("doctor").out
