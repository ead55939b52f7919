"""Writes the commit of the checkout into each wheel and sdist, for `sow --version`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds commit.txt to the package. An sdist has the file already, and an editable install reads git's files."""

    folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        commit = "" if version == "editable" else commit_of(self.root)
        if commit:
            self.folder = tempfile.mkdtemp()
            path = Path(self.folder, "commit.txt")
            path.write_text(f"{commit}\n")
            place = "sow/commit.txt" if self.target_name == "wheel" else "src/sow/commit.txt"
            build_data["force_include"][str(path)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.folder:
            shutil.rmtree(self.folder)


def commit_of(root: str) -> str:
    """Returns the commit of a checkout, with `-dirty` if tracked files differ; nothing where git knows no commit."""
    if not Path(root, ".git").exists():
        return ""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
