"""A task's state during a run is compared with its last copy: only sow's own changes count."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Repo

from sow.engine.runs.loop import StateGuard
from sow.store.files import checkout_home as homes
from sow.store.files.disk import Disk
from sow.store.projects import project as projects
from sow.store.projects import restore, task_folder, task_updates
from sow.store.projects.task_folder import TaskFolder


class NoCopies(Disk):
    """A disk that refuses to keep copies."""

    def replace(self, source: str, target: str) -> None:
        if "/.git/sow/" in target:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
        super().replace(source, target)


def opened(repo: Repo, disk: Disk | None = None) -> tuple[TaskFolder, projects.ProjectState]:
    home = homes.find(option=str(repo.root), environment={}, cwd=str(repo.root))
    home.disk = disk or home.disk
    project = projects.load(home)
    return task_folder.find(home, project, "010"), project


def copy_of(folder: TaskFolder, project: projects.ProjectState) -> Path:
    return Path(folder.home.checkout.common, "sow", project["project_id"], "010.yaml")


def test_a_state_without_a_copy_stays_valid(task_repo: Repo) -> None:
    """A state that is newer than its copy because the copy failed is valid for the process that wrote it."""
    folder, project = opened(task_repo, NoCopies())
    task_updates.set_fields(folder, project, name="Written")
    assert "Written" not in copy_of(folder, project).read_text()
    assert restore.reconcile(folder, project["project_id"]) == ("", False)
    assert task_updates.load_trusted(folder, project)["name"] == "Written"
    folder.home.disk = Disk()
    task_updates.set_fields(folder, project, name="Written again")
    Path(folder.state_path).write_text(Path(folder.state_path).read_text().replace("again", "by hand"))
    assert task_updates.load_trusted(folder, project)["name"] == "Written again"


@pytest.mark.parametrize("copy", ["", "schema_version: 1\nrevi", None], ids=["empty", "torn", "missing"])
def test_a_run_begins_with_a_copy(task_repo: Repo, copy: str | None) -> None:
    """If a power cut or another machine left no copy, the state at the start of a run counts."""
    folder, project = opened(task_repo)
    path, good = copy_of(folder, project), Path(folder.state_path).read_text()
    path.unlink()
    if copy is not None:
        path.write_text(copy)
    StateGuard(folder.home, project, [folder])
    Path(folder.state_path).write_text(good.replace("revision: ", "revision: 9").replace("Add login", "Forged"))
    assert task_updates.load_trusted(folder, project)["name"] == "Add login"
    assert (path.read_text(), Path(folder.state_path).read_text()) == (good, good)


def test_a_task_of_another_process_is_left_alone(task_repo: Repo) -> None:
    """Edits of its worker are judged at the end of that turn, and not by a run beside it."""
    folder, project = opened(task_repo)
    edited = Path(folder.state_path).read_text().replace("Add login", "Edited")
    Path(folder.state_path).write_text(edited)
    script = "from sow.store.files.checkout_home import find; import sys\n"
    script += "home = find(option=sys.argv[1], environment={}, cwd='/')\n"
    script += "with home.claim('task-010', purpose='x'):\n    print(flush=True)\n    input()"
    text = [sys.executable, "-c", script, str(task_repo.root)]
    with subprocess.Popen(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        assert restore.reconcile(folder, project["project_id"]) == ("", False)
        other.communicate(b"\n", timeout=300)
    where, _ = restore.reconcile(folder, project["project_id"])
    assert (task_repo.root / where).read_text() == edited
