"""What a working folder looks like to git: two looks tell whether a turn changed something."""

from __future__ import annotations

import os

from sow.system import git

# State files are no work, nor are the notes that aider keeps beside the code.
LOOK = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"]
LOOK += [".", ":(exclude).sow", ":(exclude).aider*"]


def look(folder: str) -> str:
    """The commit, every path that differs from it, and when each of those was last written."""
    head = git.run(["rev-parse", "HEAD"], cwd=folder, check=False).strip()
    entries = git.run(LOOK, cwd=folder, check=False).split("\0")
    return "\n".join([head, *(f"{entry} {_stamp(os.path.join(folder, entry[3:]))}" for entry in entries if entry)])


def _stamp(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return "gone"
    return f"{facts.st_mtime_ns} {facts.st_size}"
