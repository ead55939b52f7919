"""The door to the git program."""

from __future__ import annotations

import os
import subprocess

from sow.errors import Failed

TIMEOUT = 60
# Our calls never ask, never page, never run a hook, and see only the repository that they are given.
SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "core.quotePath=false",
)
HIDDEN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)


def run(arguments: list[str], *, cwd: str, check: bool = True) -> str:
    """The output of one git command; a failure is our error, with git's own words."""
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *SETTINGS, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=TIMEOUT,
            check=False,
        )
    except FileNotFoundError:
        raise Failed("git is not installed", "install git 2.38 or newer and put it on PATH") from None
    except subprocess.TimeoutExpired:
        raise Failed(
            f"git {arguments[0]} did not end within {TIMEOUT} seconds", "look for a hanging git process"
        ) from None
    if check and done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()
        raise Failed(
            f"git {arguments[0]} failed: {words[0].removeprefix('fatal: ')}", "see 'git status' in this repository"
        )
    return done.stdout
