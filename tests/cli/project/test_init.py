"""sow init: the .sow folder of a repository, and its first project."""

from __future__ import annotations

import pytest
from conftest import Repo

MADE = {
    ".sow/.gitignore",
    ".sow/config.yaml",
    ".sow/knowledge/adrs/README.md",
    ".sow/knowledge/designs/README.md",
}
OWN = {".sow/local/.gitignore"}  # of this machine alone


def test_init_makes_the_folder(bare_repo: Repo):
    """Each file that init makes is named."""
    result = bare_repo.ok("init")
    assert set(bare_repo.snapshot()) == MADE | OWN
    assert {line.removeprefix("created ") for line in result.out.splitlines()} >= MADE | {".sow/sinks/"}
    assert (bare_repo.root / ".sow/sinks").is_dir()  # (B18)
    assert result.err == ""


@pytest.mark.parametrize("words", [("stash", "--include-untracked"), ("clean", "--force", "-d")])
def test_git_ignores_local_files(bare_repo: Repo, words: tuple[str, ...]):
    """Local files stay in place even after git removed the file that ignores them."""
    bare_repo.ok("init")
    mine = bare_repo.root / ".sow/local/runs/1/journal.jsonl"
    mine.parent.mkdir(parents=True)
    mine.write_text("{}\n")
    bare_repo.git("commit", "--allow-empty", "-qm", "first")
    for _ in range(2):
        bare_repo.git(*words)
    assert not (bare_repo.root / ".sow/.gitignore").exists()
    assert mine.read_text() == "{}\n"


def test_init_can_be_repeated(bare_repo: Repo):
    """A second call changes nothing and says that all is there."""
    bare_repo.ok("init")
    before = bare_repo.snapshot()
    result = bare_repo.ok("init")
    assert "exists already" in result.out
    assert bare_repo.snapshot() == before


def test_init_overwrites_nothing(bare_repo: Repo):
    """A changed file stays as it is, and a missing one is written again."""
    bare_repo.ok("init")
    (bare_repo.root / ".sow/.gitignore").write_text("/local/\n# mine\n")
    (bare_repo.root / ".sow/config.yaml").unlink()
    result = bare_repo.ok("init")
    assert result.out == "created .sow/config.yaml\n"
    assert (bare_repo.root / ".sow/.gitignore").read_text() == "/local/\n# mine\n"


def test_only_committed_files_are_visible_to_git(bare_repo: Repo):
    """Git ignores the files of this machine."""
    bare_repo.ok("init")
    shown = bare_repo.git("status", "--porcelain", "--untracked-files=all")
    assert {line[3:] for line in shown.splitlines()} == MADE


def test_a_project_with_phases_and_a_description(bare_repo: Repo):
    """The phases come in the given order, the first of them active, and the description may come from a file."""
    bare_repo.git("switch", "-q", "-c", "feat/auth")
    (bare_repo.root / "about.md").write_text("Users sign in.\n")
    bare_repo.ok(
        "init", "--project", "Auth", "--phase", "discovery", "--phase", "implement", "--description", "@about.md"
    )
    project = bare_repo.ok("project", "show", "--json").json
    assert [(phase["name"], phase["status"]) for phase in project["phases"]] == [
        ("discovery", "active"),
        ("implementation", "pending"),
    ]
    assert project["description"] == "Users sign in.\n"
    assert (bare_repo.project / "phases/discovery/tasks").is_dir()


def test_a_project_with_all_defaults(repo: Repo):
    """The state of a new project holds every field of the schema, from the project's id to its times."""
    project = repo.ok("project", "show", "--json").json
    assert project["schema_version"] == "1.2.0"
    assert project["name"] == "Add authentication"
    assert project["branch"] == "feat/auth"
    assert project["created_at"] == project["updated_at"]
    assert project["created_at"].endswith("Z")
    assert [(phase["name"], phase["status"]) for phase in project["phases"]] == [("implementation", "active")]
    repo.ok("validate", ".sow/project/state.yaml")


@pytest.mark.parametrize("branch", ["main", "master"])
def test_no_project_on_the_main_branch(bare_repo: Repo, branch: str):
    """On main and master a project is refused before anything is written."""
    bare_repo.git("branch", "-M", branch)
    result = bare_repo.sow("init", "--project", "Auth")
    assert result.code == 2
    assert f"error: no project on {branch}" in result.err
    assert not (bare_repo.root / ".sow").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--project", "a\nb"),
        ("--project", "x" * 101),
        ("--project", "Auth", "--phase", "No Such"),
        ("--project", "Auth", "--phase", "design", "--phase", "design"),
        ("--project", "Auth", "--description", "@missing.md"),
        ("--description", "for whom?"),
        ("--phase", "design"),
        ("--project", ""),
    ],
)
def test_bad_arguments_write_nothing(bare_repo: Repo, words: tuple[str, ...]):
    """A bad argument is refused before the folder is made."""
    bare_repo.git("switch", "-q", "-c", "feat/auth")
    result = bare_repo.sow("init", *words)
    assert result.code == 2, result
    assert not (bare_repo.root / ".sow").exists()


def test_one_project_per_branch(repo: Repo):
    """A second project on the same branch is refused, and the first stays as it is."""
    before = repo.snapshot()
    result = repo.sow("init", "--project", "Another")
    assert result.code == 2
    assert "one project per branch" in result.err
    assert repo.snapshot() == before


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_sow_path_that_is_no_folder_is_refused(bare_repo: Repo, kind: str):
    """If .sow is a link or a file, it is left alone, and nothing is written through it."""
    elsewhere = bare_repo.root.parent / "elsewhere"
    elsewhere.mkdir()
    place = bare_repo.root / ".sow"
    if kind == "link":
        place.symlink_to(elsewhere)
    else:
        place.write_text("mine\n")
    result = bare_repo.sow("init")
    assert result.code == 2
    assert str(place) in result.err
    assert list(elsewhere.iterdir()) == []


def test_a_folder_in_place_of_a_file_is_an_error(bare_repo: Repo):
    """A folder called config.yaml is an error that names it."""
    (bare_repo.root / ".sow/config.yaml").mkdir(parents=True)
    result = bare_repo.sow("init")
    assert result.code == 2
    assert ".sow/config.yaml is not a regular file" in result.err
