"""Puts the projects of older versions of sow into a repository."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from conftest import Repo

from support.paths import FIXTURES

KEPT = FIXTURES / "projects"


def released() -> list[str]:
    """Returns the versions with a kept project."""
    return sorted(path.name.removeprefix("v") for path in KEPT.glob("v*"))


def put(repo: Repo, version: str) -> Repo:
    """Returns the repository with the kept project of that version on its branch."""
    repo.git("switch", "-q", "-c", "feat/auth")
    shutil.copytree(KEPT / f"v{version}", repo.root / ".sow")
    return repo


def digest(folder: Path) -> str:
    """Returns one digest of all names and bytes below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = path.relative_to(folder).as_posix(), path.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()
