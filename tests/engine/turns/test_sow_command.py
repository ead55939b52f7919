"""An installed layer does not prevent the use of a worker's CLI, and hides no file of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo

from sow.engine.turns.allowed_commands import holds_only_installed_files


@pytest.fixture
def root(bare_repo: Repo) -> Path:
    """A repository with Gemini's layer."""
    bare_repo.ok("install", "gemini")
    return bare_repo.root


def test_files_of_this_sow_are_recognised(root: Path) -> None:
    """A folder with only sow's own files counts as sow's."""
    assert holds_only_installed_files(str(root), ".gemini")
    assert not holds_only_installed_files(str(root), ".qwen") and not holds_only_installed_files(str(root), "GEMINI.md")


@pytest.mark.parametrize(
    "path", ["settings.json", "commands/mine.toml", "commands/sow/run.toml", "commands/project/.env"]
)
def test_other_files_make_the_folder_the_repositorys(root: Path, path: str) -> None:
    """One more file, or a changed one, and the folder counts as the repository's."""
    (root / ".gemini" / path).write_text("x")
    assert not holds_only_installed_files(str(root), ".gemini")


def test_a_link_is_not_trusted(root: Path, tmp_path: Path) -> None:
    """A linked folder or file may change, so it is not sow's."""
    (root / ".gemini/more").symlink_to(tmp_path)
    assert not holds_only_installed_files(str(root), ".gemini")
    (root / ".gemini/more").unlink()
    run = root / ".gemini/commands/sow/run.toml"
    run.rename(tmp_path / "run.toml")
    run.symlink_to(tmp_path / "run.toml")
    assert not holds_only_installed_files(str(root), ".gemini")


def test_a_worker_starts_beside_the_layer(task_repo: Repo, tmp_path: Path) -> None:
    """With the layer installed a Gemini worker starts; with settings of the repository it is refused."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gemini").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin/gemini").chmod(0o755)
    path = f"{tmp_path}/bin:{task_repo.environment['PATH']}"
    spawn = ("agent", "spawn", "implementer", "010", "--executor", "gemini")
    task_repo.ok("install", "gemini")
    assert "would obey" not in task_repo.sow(*spawn, PATH=path).err
    (task_repo.root / ".gemini/settings.json").write_text("{}")
    refused = task_repo.sow(*spawn, "--fresh", PATH=path)
    assert refused.code == 2 and "gemini would obey .gemini of this repository" in refused.err
