"""Files of interrupted writes are removed, and no others."""

from __future__ import annotations

import os
from pathlib import Path

from sow.store.files import temp_files

GONE = 999_999_999  # no process has this number


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path) -> None:
    """Files and folders of a dead process are removed, at every depth; those of a live one stay."""
    folder = tmp_path / "tasks/010"
    folder.mkdir(parents=True)
    (folder / f".state.yaml.{GONE}.0123abcd.tmp").write_text("half")
    half = tmp_path / f"tasks/.new.{GONE}.0123abcd.tmp"
    half.mkdir()
    (half / "state.yaml").write_text("")
    alive = tmp_path / f"tasks/.new.{os.getpid()}.0123abcd.tmp"
    alive.mkdir()
    assert temp_files.remove_temporary_files(str(tmp_path)) == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["tasks", "010", alive.name])


def test_other_files_stay(tmp_path: Path) -> None:
    """Other names, and files in folders of agents, are no leftovers."""
    (tmp_path / "task_output").mkdir()
    names = [f"task_output/.x.{GONE}.0123abcd.tmp", "notes.tmp", f".x.{GONE}.zzzzzzzz.tmp", f"x.{GONE}.0123abcd.tmp"]
    for name in names:
        (tmp_path / name).write_text("theirs")
    assert temp_files.remove_temporary_files(str(tmp_path)) == 0
    assert all((tmp_path / name).exists() for name in names)
