"""sow project: the project of a branch, from its creation to its removal."""

from __future__ import annotations

from pathlib import Path

from conftest import Repo


def test_new_prints_the_project(bare_repo: Repo):
    """`new` prints branch and phases, and the project's log has its beginning."""
    bare_repo.git("switch", "-q", "-c", "feat/shop")
    bare_repo.ok("init")
    result = bare_repo.ok("project", "new", "Shop", "--phase", "design", "--phase", "build")
    assert result.out == "project Shop on branch feat/shop: design, build\n"
    entry = bare_repo.ok("log", "--list", "--json").json["entries"][0]
    assert (entry["agent"], entry["action"]) == ("ada", "project_new")


def test_new_needs_the_folder(bare_repo: Repo):
    """Without a .sow folder the hint says how to make one."""
    bare_repo.git("switch", "-q", "-c", "feat/shop")
    result = bare_repo.sow("project", "new", "Shop")
    assert result.code == 2
    assert "sow init" in result.err


def test_every_project_has_an_id_of_its_own(repo: Repo):
    """A project that is started again has a new id."""
    first = repo.ok("project", "show", "--json").json["project_id"]
    repo.ok("project", "delete")
    repo.ok("project", "new", "Add authentication")
    assert repo.ok("project", "show", "--json").json["project_id"] != first


def test_show_has_a_text_and_a_json_form(repo: Repo):
    """A person reads name, branch and phases; a program gets the whole state."""
    shown = repo.ok("project", "show").out
    assert "name        Add authentication" in shown
    assert "phases      implementation (active)" in shown
    document = repo.ok("project", "show", "--json").json
    assert document["branch"] == "feat/auth"
    assert document["memories"] == []


def test_save_commits_the_project_and_nothing_else(repo: Repo):
    """Staged files stay staged and untracked files untracked."""
    (repo.root / "staged.txt").write_text("staged\n")
    (repo.root / "loose.txt").write_text("loose\n")
    repo.git("add", "staged.txt")
    result = repo.ok("project", "save", "--message", "keep this")
    assert repo.git("rev-parse", "--short", "HEAD").strip() in result.out
    assert repo.git("log", "-1", "--format=%s").strip() == "keep this"
    committed = repo.git("show", "--name-only", "--format=", "HEAD").split()
    assert committed
    assert all(path.startswith(".sow/") for path in committed)
    assert not any(path.startswith(".sow/local") for path in committed)
    assert repo.git("status", "--porcelain").splitlines() == ["A  staged.txt", "?? loose.txt"]


def test_a_clone_shows_empty_phases(repo: Repo, tmp_path: Path):
    """The folder of a phase without a task is there in a clone, too (B18)."""
    repo.ok("phase", "add", "docs", "--reason", "r", "--yes")
    repo.ok("project", "save")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    names = {path.name for path in (tmp_path / "clone/.sow/project/phases").iterdir()}
    assert names == {"implementation", "docs"}


def test_save_without_a_change(repo: Repo):
    """A second save makes no empty commit."""
    repo.ok("project", "save")
    head = repo.git("rev-parse", "HEAD")
    assert "nothing to save" in repo.ok("project", "save").out
    assert repo.git("rev-parse", "HEAD") == head


def test_save_of_a_project_that_git_ignores(repo: Repo):
    """A project that git ignores cannot be saved, and the error says what to change."""
    (repo.root / ".gitignore").write_text(".sow/project/\n")
    result = repo.sow("project", "save")
    assert result.code == 1
    assert ".gitignore" in result.err


def test_save_runs_no_hook(repo: Repo):
    """A hook of the repository neither runs nor stops the commit of the state."""
    hook = repo.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    repo.ok("project", "save")
    assert not (repo.root / "ran").exists()


def test_a_memory_is_shown_later(repo: Repo):
    """A memory is in the context folder, in the status and in the project's document, in order."""
    repo.ok("project", "remember", "We use RS256")
    repo.ok("project", "remember", "-", stdin=b"## Tokens\nlive for an hour\n")
    assert repo.ok("status", "--json").json["memories"] == ["We use RS256", "## Tokens\nlive for an hour"]
    assert "We use RS256" in repo.ok("status").out
    assert repo.ok("project", "show", "--json").json["memories"][0] == "We use RS256"
    assert "ada" in (repo.project / "context/memories.md").read_text()


def test_delete_keeps_a_copy(repo: Repo):
    """Every byte of the deleted project is under .sow/local/removed."""
    before = {path: data for path, data in repo.snapshot().items() if path.startswith(".sow/project/")}
    result = repo.ok("project", "delete")
    copy = result.out.rpartition(" ")[2].strip()
    assert not repo.project.exists()
    after = repo.snapshot()
    assert {path.replace(".sow/project", copy): data for path, data in before.items()}.items() <= after.items()
    assert repo.ok("status", "--json").json["project"] is None


def test_delete_refuses_open_tasks(task_repo: Repo):
    """An open task stops the removal, unless --yes is given."""
    before = task_repo.snapshot()
    result = task_repo.sow("project", "delete")
    assert result.code == 2
    assert "the project has open tasks: 010" in result.err
    assert "--yes" in result.err
    assert task_repo.snapshot() == before
    task_repo.ok("project", "delete", "--yes")
    assert not task_repo.project.exists()


def test_delete_works_on_another_branch(repo: Repo):
    """A project that was moved to another branch can be removed there."""
    repo.git("switch", "-q", "-c", "feat/other")
    repo.ok("project", "delete")
    repo.ok("project", "new", "Other")


def test_delete_without_a_project_is_refused(repo: Repo):
    """Without a project there is nothing to delete."""
    repo.ok("project", "delete")
    result = repo.sow("project", "delete")
    assert result.code == 2
    assert "has no project" in result.err


def test_a_lost_state_file_is_no_missing_project(task_repo: Repo) -> None:
    """Without its state file a project is not started anew over its tasks; the hint names the last good copy."""
    (task_repo.project / "state.yaml").unlink()
    for case in (("status",), ("task", "list"), ("project", "new", "Another")):
        result = task_repo.sow(*case)
        assert result.code == 2, case
    copy = task_repo.sow("task", "list").err.split("cp ")[1].split()
    (task_repo.root / copy[1]).write_text(Path(copy[0]).read_text())
    assert task_repo.ok("status", "--json").json["project"]["name"] == "Add authentication"
