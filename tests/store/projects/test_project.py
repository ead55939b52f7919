"""The project of a branch on disk: its files, its place, and how it is found."""

from __future__ import annotations

import shutil

import pytest
from conftest import Repo
from support.samples import NOW, phase

from sow.errors import InvalidFile, SowError
from sow.store.files.checkout_home import Home, find
from sow.store.projects import project as projects
from sow.store.projects import task_folder

UUID = "0b5f1c7e-4f0a-4d7b-9a51-6f1f2f3c9d10"


def home_of(repo) -> Home:
    return find(option=str(repo.root), environment={}, cwd="/")


def create(home: Home, **changes):
    given = {"project_id": UUID, "name": "Auth", "description": "", "phases": [phase("design", "active")], "now": NOW}
    return projects.create(home, **{**given, **changes})


@pytest.fixture
def empty(bare_repo):
    """A repository on a feature branch with .sow and no project."""
    bare_repo.git("switch", "-q", "-c", "feat/auth")
    bare_repo.ok("init")
    return bare_repo


def test_a_project_is_made_with_its_folders(empty):
    """The state file has all given values, each phase has its folder, and a copy is in the git folder."""
    home = home_of(empty)
    create(home, phases=[phase("design", "active"), phase("test")])
    text = (empty.project / "state.yaml").read_text()
    assert text == (
        'schema_version: "1.2.0"\n'
        "revision: 1\n"
        f'project_id: "{UUID}"\n'
        "name: Auth\n"
        'description: ""\n'
        "branch: feat/auth\n"
        "phases:\n"
        "  - name: design\n"
        "    status: active\n"
        '    created_at: "2026-01-30T08:00:00Z"\n'
        "  - name: test\n"
        "    status: pending\n"
        '    created_at: "2026-01-30T08:00:00Z"\n'
        "questions: 0\n"
        f'created_at: "{NOW}"\n'
        f'updated_at: "{NOW}"\n'
    )
    assert all((empty.project / place).is_dir() for place in ("phases/design/tasks", "phases/test/tasks", "context"))
    assert (empty.root / ".git" / "sow" / UUID / "project.yaml").read_text() == text


def test_a_project_reads_back(empty):
    """Loading gives what was created, and saving increments the revision."""
    home = home_of(empty)
    made = create(home, description="line one\nline two: \x07 'quoted' \u2028 ✓")
    loaded = projects.load(home)
    assert loaded == made
    projects.save(home, loaded)
    assert projects.load(home)["revision"] == 2


@pytest.mark.parametrize("branch", ["main", "master"])
def test_no_project_on_the_main_branch(bare_repo, branch):
    """main and master have no project, and the hint is a feature branch."""
    bare_repo.git("branch", "-m", branch)
    bare_repo.ok("init")
    with pytest.raises(SowError, match=f"no project on {branch}") as refused:
        create(home_of(bare_repo))
    assert refused.value.hint == "git switch -c feature/NAME"
    assert not bare_repo.project.exists()


def test_no_project_on_a_detached_head(empty):
    """Without a branch there is no project."""
    empty.git("switch", "-q", "--detach")
    with pytest.raises(SowError, match="HEAD is detached"):
        create(home_of(empty))
    assert not empty.project.exists()


def test_one_project_per_branch(repo):
    """A second project on a branch is refused, and the first stays."""
    before = repo.snapshot()
    with pytest.raises(SowError, match="one project per branch"):
        create(home_of(repo))
    assert repo.snapshot() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"name": "two\nlines"},
        {"phases": []},
        {"project_id": "not-a-uuid"},
        {"description": "x" * 20_001},
        {"now": "yesterday"},
        {"phases": [phase("../x", "active")]},
    ],
)
def test_an_invalid_project_is_never_written(empty, changes):
    """A project that breaks a rule of the schema is refused before a folder is made."""
    with pytest.raises(InvalidFile):
        create(home_of(empty), **changes)
    assert not empty.project.exists()


def test_a_project_belongs_to_its_branch(repo):
    """With another branch checked out the project is refused with both names; without the check it can be read."""
    repo.git("switch", "-q", "-c", "feat/other")
    home = home_of(repo)
    with pytest.raises(SowError) as refused:
        projects.load(home)
    assert refused.value.message == (
        ".sow/project/state.yaml belongs to branch feat/auth, but feat/other is checked out"
    )
    assert projects.load_anywhere(home)["branch"] == "feat/auth"
    repo.git("switch", "-q", "--detach")
    with pytest.raises(SowError, match="but a detached HEAD is checked out"):
        projects.load(home)


def test_a_renamed_branch_is_adopted(repo):
    """After git branch -m the hint has one command, after which the project works on its new branch (B13)."""
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    repo.git("branch", "-m", "feat/renamed")
    refused = repo.sow("status")
    assert refused.code == 2
    assert "if you renamed it to this one: sow project adopt" in refused.err
    assert repo.ok("project", "adopt").out == "moved the project from feat/auth to feat/renamed\n"
    repo.ok("status")
    assert repo.ok("project", "show", "--json").json["branch"] == "feat/renamed"
    assert repo.ok("log", "--list", "--json").json["entries"][-1]["action"] == "project_adopt"
    assert "belongs to feat/renamed already" in repo.sow("project", "adopt").err


def test_a_project_of_an_existing_branch_is_not_adopted(repo):
    """Two branches never have the same project."""
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    repo.git("switch", "-q", "-c", "feat/other")
    refused = repo.sow("project", "adopt")
    assert refused.code == 2
    assert "the project belongs to feat/auth, which is there" in refused.err
    assert "git switch feat/auth" in refused.err
    repo.git("branch", "-q", "-D", "feat/auth")
    repo.git("switch", "-q", "-C", "main")
    assert "no project on main" in repo.sow("project", "adopt").err


def test_switching_branches_switches_projects(repo):
    """A project that is committed on its branch follows the switch of branches."""
    repo.ok("project", "save")
    repo.git("switch", "-q", "main")
    assert not projects.exists(home_of(repo))
    repo.git("switch", "-q", "-c", "feat/other")
    repo.ok("project", "new", "Other")
    repo.ok("project", "save")
    repo.git("switch", "-q", "feat/auth")
    assert projects.load(home_of(repo))["name"] == "Add authentication"


def test_each_worktree_has_its_own_project(repo, tmp_path):
    """Linked worktrees have different projects, and their copies are in the shared git folder."""
    repo.git("worktree", "add", "-q", "-b", "feat/linked", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked", repo.environment)
    linked.ok("init", "--project", "Linked")
    assert repo.ok("project", "show", "--json").json["name"] == "Add authentication"
    ident = linked.ok("project", "show", "--json").json["project_id"]
    assert (repo.root / ".git" / "sow" / ident / "project.yaml").is_file()


def test_no_project_is_an_error_with_a_hint(empty):
    """Without a project the message says how to start one."""
    with pytest.raises(SowError, match="has no project") as refused:
        projects.load(home_of(empty))
    assert refused.value.hint == 'begin with a plan: sow run PLAN; or without one: sow init --project "NAME"'


def test_question_numbers_are_unique(repo):
    """Each question gets the next number, which is on disk before it is used."""
    home = home_of(repo)
    assert [projects.next_question(home, projects.load(home), NOW) for _ in range(3)] == [1, 2, 3]
    assert projects.load(home)["questions"] == 3


def test_tasks_are_sorted_by_number(repo):
    """Tasks of all phases are listed by number, also past three digits; an empty folder or another name is none."""
    repo.ok("phase", "add", "test", "--reason", "needed", "--yes")
    for ident, where in (("1000", "implementation"), ("020", "test"), ("990", "implementation"), ("011", "test")):
        (repo.project / "phases" / where / "tasks" / ident).mkdir()
        (repo.project / "phases" / where / "tasks" / ident / "state.yaml").touch()
    for odd in (".new-ab.tmp", "0010", "notes", "1e3", "٠١٠", "030"):  # 030 is left behind: it has no file
        (repo.project / "phases" / "test" / "tasks" / odd).mkdir()
    home = home_of(repo)
    assert [folder.id for folder in task_folder.all_folders(home, projects.load(home))] == ["011", "020", "990", "1000"]


def test_a_phase_without_a_folder_has_no_tasks(repo):
    """Git keeps no empty folders: a phase without its folder is an empty one."""
    shutil.rmtree(repo.project / "phases")
    home = home_of(repo)
    assert task_folder.all_folders(home, projects.load(home)) == []
    assert repo.ok("task", "create", "--name", "First").out.startswith("created task 010 in phase implementation")


def test_a_rejected_phase_leaves_nothing_behind(repo):
    """A proposed phase gets its folder when it is approved, and takes no task before that."""
    repo.ok("phase", "add", "discovery", "--reason", "a race")
    assert not (repo.project / "phases" / "discovery").exists()
    result = repo.sow("task", "create", "--phase", "discovery", "--name", "Look")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: phase discovery is only proposed")
    repo.ok("answer", "1", "no")
    assert not (repo.project / "phases" / "discovery").exists()
    repo.ok("phase", "add", "discovery", "--reason", "a race", "--yes")
    assert (repo.project / "phases" / "discovery" / "tasks").is_dir()
