"""Removing a project loses nothing, and is refused while an agent works."""

from __future__ import annotations

import errno
import os

import pytest
from support.claim_holder import hold_claim
from support.old_projects import digest

from sow.errors import SowError, SystemFailure
from sow.store.files.checkout_home import Home, find
from sow.store.files.disk import Disk
from sow.store.projects.removal import remove

COMMANDS = [["cleanup"], ["cleanup", "--yes"], ["project", "delete"], ["project", "delete", "--yes"]]


def home_of(repo, disk: Disk | None = None) -> Home:
    home = find(option=str(repo.root), environment={}, cwd="/")
    return Home(home.checkout, disk)


def finish(repo) -> None:
    for status in ("needs_review", "completed"):
        repo.ok("task", "set", "--id", "010", "status", status)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_copy_with_every_byte_is_kept(task_repo, words):
    """All files are in .sow/local/removed: states, logs, notes, outputs, odd files and links."""
    finish(task_repo)
    output = task_repo.task_folder("010") / "task_output"
    output.mkdir()
    (output / "binary").write_bytes(bytes(range(256)))
    (output / "link").symlink_to("binary")
    before = digest(task_repo.project)
    place = task_repo.ok(*words).out.splitlines()[0].rpartition("copy: ")[2]
    assert not task_repo.project.exists()
    assert place.startswith(".sow/local/removed/")
    assert digest(task_repo.root / place) == before
    assert os.readlink(task_repo.root / place / "phases/implementation/tasks/010/task_output/link") == "binary"


def test_a_removed_project_can_be_restored(task_repo):
    """The copy, moved back, is the project again."""
    place = task_repo.ok("project", "delete", "--yes").out.strip().rpartition("copy: ")[2]
    (task_repo.root / place).rename(task_repo.project)
    assert task_repo.task("010")["status"] == "in_progress"


def test_two_removals_keep_two_copies(repo):
    """A second project on the same branch does not overwrite the copy of the first."""
    for name in ("One", "Two"):
        if name == "Two":
            repo.ok("project", "new", name)
        repo.ok("project", "delete")
    assert len(list((repo.root / ".sow" / "local" / "removed").iterdir())) == 2


def test_knowledge_and_settings_stay(repo):
    """The branch can be merged with them."""
    repo.git("add", ".sow/config.yaml")
    repo.ok("cleanup")
    assert sorted(path.name for path in (repo.root / ".sow").iterdir()) == [
        ".gitignore",
        "config.yaml",
        "knowledge",
        "local",
        "sinks",
    ]
    repo.ok("check")


@pytest.mark.parametrize("own", ["", ".sow/knowledge/adrs/0001-signing.md", ".sow/config.yaml"])
def test_unchanged_files_of_a_new_sow_folder_are_removed(repo, own):
    """Files that sow made, and that were neither changed nor committed, are removed with the project."""
    if own:
        with (repo.root / own).open("a") as file:
            file.write("# mine\n")
    repo.ok("cleanup")
    left = repo.git("status", "--porcelain", "--untracked-files=all", "--", ".sow").split()
    assert (own in left) if own else left == []
    repo.ok("project", "new", "Next")
    assert (repo.root / ".sow/config.yaml").is_file() and (repo.root / ".sow/.gitignore").is_file()
    assert repo.ok("doctor").code == 0


@pytest.mark.parametrize("words", COMMANDS)
def test_a_project_in_use_is_not_removed(task_repo, words):
    """While another process has the project, every removal is refused with its name, also with --yes."""
    before = task_repo.snapshot()
    with hold_claim(task_repo) as pid:
        result = task_repo.sow(*words)
        assert result.code == 4
        assert f"error: project is claimed by pid {pid} on {os.uname().nodename} since " in result.err
        assert "(running a plan)" in result.err
        assert task_repo.snapshot() == before
    task_repo.ok("project", "delete", "--yes")


@pytest.mark.parametrize("words", [["cleanup"], ["project", "delete"]])
def test_open_tasks_need_consent(task_repo, words):
    """A project with open tasks stays unless --yes is given."""
    before = task_repo.snapshot()
    result = task_repo.sow(*words)
    assert (result.code, result.err) == (
        2,
        "error: the project has open tasks: 010\nhint: complete or abandon them, or remove it with --yes\n",
    )
    assert task_repo.snapshot() == before
    task_repo.ok(*words, "--yes")


@pytest.mark.parametrize("words", [["cleanup"], ["project", "delete"]])
def test_unreadable_tasks_need_consent(task_repo, words):
    """A task that cannot be read may be open: it stays unless --yes is given, and then it is in the copy."""
    finish(task_repo)
    (task_repo.task_folder("010") / "state.yaml").write_text("task: [\n")
    before = task_repo.snapshot()
    result = task_repo.sow(*words)
    assert (result.code, result.err.startswith("error: task 010 cannot be read: ")) == (2, True)
    assert task_repo.snapshot() == before
    place = task_repo.ok(*words, "--yes").out.splitlines()[0].rpartition("copy: ")[2]
    assert (task_repo.root / place / "phases/implementation/tasks/010/state.yaml").read_text() == "task: [\n"


@pytest.mark.parametrize("words", [["cleanup"], ["cleanup", "--yes"]])
def test_cleanup_leaves_the_project_of_another_branch(repo, words):
    """On another branch than the project's, cleanup is refused, and the hint is delete."""
    repo.git("switch", "-q", "-c", "feat/other")
    before = repo.snapshot()
    result = repo.sow(*words)
    assert result.code == 2
    assert "belongs to branch feat/auth, but feat/other is checked out" in result.err
    assert repo.snapshot() == before
    repo.ok("project", "delete")


def test_an_unreadable_project_can_be_deleted(repo):
    """`sow project delete --yes` moves away what no command can open."""
    (repo.project / "state.yaml").write_text("\0")
    assert repo.sow("project", "delete").code == 2
    place = repo.ok("project", "delete", "--yes").out.strip().rpartition("copy: ")[2]
    assert (repo.root / place / "state.yaml").read_text() == "\0"


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_project_removal_is_an_error(bare_repo, words):
    """No project is an error, not a silence."""
    bare_repo.ok("init")
    result = bare_repo.sow(*words)
    assert (result.code, result.err) == (
        2,
        f"error: {bare_repo.root} has no project\nhint: there is nothing to remove\n",
    )


class Full(Disk):
    """A disk that cannot rename."""

    def replace(self, source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_failed_removal_changes_nothing(repo):
    """If the folder cannot be moved, it stays, and the error has the reason."""
    before = digest(repo.project)
    with pytest.raises(SystemFailure, match=r"cannot move .*/\.sow/project: the disk is full"):
        remove(home_of(repo, Full()), force=True, any_branch=True)
    assert digest(repo.project) == before


def test_a_link_in_place_of_the_copies_is_refused(repo, tmp_path):
    """The copy never leaves the repository through a link."""
    (tmp_path / "elsewhere").mkdir()
    (repo.root / ".sow" / "local").mkdir(exist_ok=True)
    (repo.root / ".sow" / "local" / "removed").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SowError, match="symbolic link"):
        remove(home_of(repo), force=True, any_branch=True)
    assert repo.project.is_dir()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("words", COMMANDS)
def test_a_worker_may_not_remove_the_project(repo, words):
    """A worker cannot take the project away."""
    result = repo.sow(*words, SOW_TASK="010")
    assert (result.code, "error: a worker may not " in result.err) == (2, True)
    assert repo.project.is_dir()
