"""sow called from sub-folders, worktrees, unusual branches and repositories, and without git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import SOW, Repo


def test_a_sub_folder_works_like_the_root(task_repo: Repo):
    """In a sub-folder the project above is found and used."""
    below = task_repo.root / "src" / "deep"
    below.mkdir(parents=True)
    task_repo.ok("log", "--task", "010", "from below", cwd=below)
    assert task_repo.task("010")["log"][-1]["text"] == "from below"
    assert not (below / ".sow").exists()


@pytest.mark.parametrize("how", ["option", "option before the command", "relative option", "environment"])
def test_the_root_can_be_named(task_repo: Repo, tmp_path: Path, how: str):
    """--root and SOW_ROOT name the checkout from any folder."""
    root = str(task_repo.root)
    call = {
        "option": (("task", "list", "--json", "--root", root), {}),
        "option before the command": ((f"--root={root}", "task", "list", "--json"), {}),
        "relative option": (("--root", "../repo", "task", "list", "--json"), {}),
        "environment": (("task", "list", "--json"), {"SOW_ROOT": root}),
    }
    arguments, environment = call[how]
    result = task_repo.ok(*arguments, cwd=tmp_path / "home", **environment)
    assert [task["id"] for task in result.json["tasks"]] == ["010"]


def test_the_option_beats_the_environment(task_repo: Repo, tmp_path: Path):
    """--root goes before SOW_ROOT."""
    result = task_repo.ok("--root", str(task_repo.root), "status", "--json", SOW_ROOT=str(tmp_path / "nowhere"))
    assert result.json["root"] == str(task_repo.root)


@pytest.mark.parametrize(
    "words",
    [("init",), ("status",), ("check",), ("doctor",), ("cleanup", "--yes"), ("validate", ".sow/project/state.yaml")],
)
def test_every_kind_of_command_obeys_sow_root(repo: Repo, tmp_path: Path, words: tuple[str, ...]):
    """Commands with their own way of finding the checkout obey SOW_ROOT, too."""
    result = repo.sow(*words, cwd=tmp_path / "home", SOW_ROOT=str(repo.root))
    expected = 1 if words == ("check",) else 0
    assert result.code == expected, result


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_root_that_is_no_repository_is_refused(repo: Repo, tmp_path: Path, how: str):
    """A wrong root is an error that names it; the current folder is not used instead."""
    nowhere = str(tmp_path / "home")
    result = repo.sow("--root", nowhere, "status") if how == "option" else repo.sow("status", SOW_ROOT=nowhere)
    assert result.code == 2
    assert nowhere in result.err


def test_a_linked_worktree_has_a_project_of_its_own(repo: Repo, tmp_path: Path):
    """A linked worktree has its own branch, root and project."""
    repo.git("worktree", "add", "-q", "-b", "feat/other", str(tmp_path / "tree"))
    tree = Repo(tmp_path / "tree", repo.environment)
    tree.ok("init", "--project", "Other")
    tree.ok("task", "create", "--name", "Elsewhere")
    status = tree.ok("status", "--json", cwd=tree.root).json
    assert (status["project"]["name"], status["root"]) == ("Other", str(tree.root))
    assert repo.ok("task", "list", "--json").json["tasks"] == []
    tree.ok("project", "save")
    assert "feat/other" in tree.git("log", "-1", "--format=%D")


def test_a_submodule_is_a_checkout(bare_repo: Repo, tmp_path: Path):
    """If .git is a file that points into another repository, sow works in that folder."""
    bare_repo.git("clone", "-q", ".", str(tmp_path / "library"))
    bare_repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "library"), "lib")
    library = Repo(bare_repo.root / "lib", bare_repo.environment)
    assert (library.root / ".git").is_file()
    library.git("switch", "-q", "-c", "feat/lib")
    library.ok("init", "--project", "Library")
    assert library.ok("status", "--json").json["root"] == str(library.root)
    assert not (bare_repo.root / ".sow").exists()


def test_a_broken_git_file_is_an_error(bare_repo: Repo, tmp_path: Path):
    """A broken pointer to the git folder is an error with its path; the next repository above is not used."""
    folder = bare_repo.root / "broken"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {tmp_path}/gone\n")
    result = bare_repo.sow("init", "--project", "X", cwd=folder)
    assert result.code == 1
    assert f"{tmp_path}/gone/HEAD" in result.err
    (folder / ".git").write_text("what is this?\n")
    result = bare_repo.sow("status", cwd=folder)
    assert result.code == 2
    assert f"{folder}/.git" in result.err


def test_outside_of_any_repository(repo: Repo, tmp_path: Path):
    """Outside of any repository the error names the folder and says how to make one."""
    result = repo.sow("status", cwd=tmp_path / "home")
    assert result.code == 2
    assert f"{tmp_path}/home is not in a git repository" in result.err
    assert "git init" in result.err


@pytest.mark.parametrize("folder", ["bare.git", "repo/.git", "repo/.git/refs"])
def test_init_in_a_bare_repository_is_refused(bare_repo: Repo, tmp_path: Path, folder: str):
    """In a bare repository or a git folder, init is refused and writes nothing."""
    bare_repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    result = bare_repo.sow("init", cwd=tmp_path / folder)
    assert result.code == 2
    assert "is a bare repository or a git folder" in result.err
    assert not (tmp_path / folder / ".sow").exists()


def test_an_unborn_branch_works(tmp_path: Path, environment: dict[str, str]):
    """Before the first commit a project can begin and be saved."""
    root = tmp_path / "young"
    root.mkdir()
    young = Repo(root, environment)
    young.git("init", "-q", "-b", "feat/first")
    young.ok("init", "--project", "First")
    assert young.ok("status", "--json").json["project"]["branch"] == "feat/first"
    assert young.ok("project", "save").out.startswith("saved as ")
    assert young.git("show", "--name-only", "--format=", "HEAD").splitlines()


@pytest.mark.parametrize("branch", ["a/b/c/d", "feat/naïve-ünïcode", "功能/登录", "fix/#12", "user@host"])
def test_odd_branch_names(bare_repo: Repo, branch: str):
    """A branch with slashes, marks or letters of any script can have a project."""
    bare_repo.git("switch", "-q", "-c", branch)
    bare_repo.ok("init", "--project", "Odd")
    bare_repo.ok("task", "create", "--name", "One")
    assert bare_repo.ok("status", "--json").json["project"]["branch"] == branch
    bare_repo.ok("validate", ".sow/project/state.yaml")


def test_a_branch_name_that_is_not_utf8_is_refused(bare_repo: Repo):
    """A branch whose name is not UTF-8 cannot have a project, and nothing is written."""
    subprocess.run(
        [b"git", b"switch", b"-q", b"-c", b"feat/\xff"], cwd=bare_repo.root, env=bare_repo.environment, check=True
    )
    result = bare_repo.sow("init", "--project", "X")
    assert result.code == 2
    assert "the name of the branch is not UTF-8" in result.err
    assert not (bare_repo.root / ".sow").exists()


def test_a_branch_name_cannot_draw_on_the_terminal(bare_repo: Repo):
    """A control sequence in the branch's name is shown escaped, and refused for a project."""
    bare_repo.ok("init")
    bare_repo.git("switch", "-q", "-c", "feat/\x9b31mred")
    assert "\x9b" not in bare_repo.ok("status").out
    assert bare_repo.sow("project", "new", "X").code == 2


def test_a_detached_head_has_no_project(repo: Repo):
    """With a detached HEAD neither an existing nor a new project is possible."""
    repo.git("switch", "-q", "--detach")
    result = repo.sow("status")
    assert result.code == 2
    assert "belongs to branch feat/auth, but a detached HEAD is checked out" in result.err
    (repo.project / "state.yaml").unlink()
    result = repo.sow("project", "new", "X")
    assert result.code == 2
    assert "HEAD is detached" in result.err


@pytest.mark.parametrize("words", [("task", "list"), ("log", "x"), ("task", "create", "--name", "x"), ("cleanup",)])
def test_a_branch_that_does_not_match_is_refused(repo: Repo, words: tuple[str, ...]):
    """On another branch the project is neither read nor changed."""
    repo.git("switch", "-q", "-c", "feat/other")
    before = repo.snapshot()
    result = repo.sow(*words)
    assert result.code == 2
    assert "belongs to branch feat/auth, but feat/other is checked out" in result.err
    assert "git switch feat/auth" in result.err
    assert repo.snapshot() == before


def test_the_reftable_format(tmp_path: Path, environment: dict[str, str]):
    """With refs in tables sow asks git for the branch; a git that cannot read them reports that itself."""
    root = tmp_path / "tables"
    made = subprocess.run(
        ["git", "init", "-q", "-b", "feat/tables", "--ref-format=reftable", str(root)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        assert "ref-format" in made.stderr
        root.mkdir()
        Repo(root, environment).git("init", "-q", "-b", "feat/tables")
    tables = Repo(root, environment)
    tables.ok("init", "--project", "Tables")
    tables.ok("task", "create", "--name", "One")
    assert tables.ok("status", "--json").json["project"]["branch"] == "feat/tables"


@pytest.mark.parametrize(
    "words",
    [
        ("log", "--task", "010", "no git here"),
        ("task", "set", "--id", "010", "status", "needs_review"),
        ("note", "add", "--task", "010", "--description", "d", "--context", "c"),
        ("task", "create", "--name", "Another"),
        ("status", "--json"),
        ("init",),
        ("check",),
    ],
)
def test_work_without_the_git_program(task_repo: Repo, words: tuple[str, ...]):
    """Commands without a commit work on a machine without git, since sow reads the branch from git's files."""
    result = task_repo.sow(*words, PATH="/nonexistent")
    assert result.code == (1 if words == ("check",) else 0), result


def test_a_commit_without_git_fails_clearly(task_repo: Repo):
    """A command that needs git says that it is missing, and changes nothing."""
    before = task_repo.snapshot()
    result = task_repo.sow("project", "save", PATH="/nonexistent")
    assert result.code == 1
    assert "error: git is not installed" in result.err
    assert task_repo.snapshot() == before


def test_a_deleted_folder(repo: Repo, tmp_path: Path):
    """In a deleted folder sow says so; commands that need no folder still work."""
    gone = tmp_path / "gone"
    gone.mkdir()

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        script = 'cd "$1" && rmdir "$1" && shift && "$@"; code=$?; mkdir -p "$GONE"; exit $code'
        environment = {**repo.environment, "GONE": str(gone)}
        command = ["sh", "-c", script, "sh", str(gone), SOW, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    result = call("status")
    assert result.returncode == 1
    assert "error: the current folder does not exist any more" in result.stderr
    assert call("--version").returncode == 0
    assert call("task", "--help").returncode == 0


def test_git_variables_of_a_hook_are_ignored(repo: Repo, tmp_path: Path):
    """GIT_DIR of a hook that calls sow does not send the commit into another repository."""
    other = tmp_path / "other"
    other.mkdir()
    outer = Repo(other, repo.environment)
    outer.git("init", "-q", "-b", "main")
    repo.ok("project", "save", GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_INDEX_FILE=str(other / "i"))
    assert ".sow/project/state.yaml" in repo.git("ls-files")
    assert outer.git("ls-files") == ""
    assert not os.path.exists(other / "i")
