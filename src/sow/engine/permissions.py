"""Permissions of files in folders that are ours: a worker or a test may have taken them away."""

from __future__ import annotations

import os
import stat

from sow.system import boundary


def loosen(folder: str) -> None:
    """Let us read everything below a folder that is ours, and enter every folder; no link is followed."""
    for place, folders, names in os.walk(folder, onerror=None):
        for name in folders:
            _permit(f"{place}/{name}", 0o700)
        for name in names:
            _permit(f"{place}/{name}", 0o600)


def _permit(path: str, needed: int) -> None:
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and mode & needed != needed:
        boundary.cross(f"permit {path}")
        os.chmod(path, stat.S_IMODE(mode) | needed)
