"""Gives us back the permissions of files that a worker or a test has changed."""

from __future__ import annotations

import os
import stat

from sow.system import boundary


def loosen(folder: str) -> None:
    """Make everything below our folder readable and every folder enterable. Links are not followed."""
    for parent, folders, names in os.walk(folder, onerror=None):
        for name in folders:
            _permit(f"{parent}/{name}", 0o700)
        for name in names:
            _permit(f"{parent}/{name}", 0o600)


def _permit(path: str, needed: int) -> None:
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and mode & needed != needed:
        boundary.cross(f"permit {path}")
        os.chmod(path, stat.S_IMODE(mode) | needed)
