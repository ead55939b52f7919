"""Measures `sow sinks update --check` with slow remotes, which it asks all at once."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from bench.timing import SOW

SINKS = 20
LATENCY = 0.5  # seconds before a remote answers
LIMIT = 3.0  # times one question to one remote

# Replaces ssh: runs the remote command on this machine, after a delay.
FAR = '#!/bin/sh\nsleep {latency}\nshift\nexec sh -c "$*"\n'


def checked(scratch: Path, rounds: int = 3) -> tuple[float, float]:
    """Returns seconds of the best check of all sinks, and of the best single `git ls-remote`."""
    root, environment = scratch / "far", _environment(scratch)
    root.mkdir()
    source = _source(scratch / "far-source", environment)
    for command in (["git", "init", "-q"], [SOW, "init"]):
        _run(command, root, environment)
    fast_environment = {**environment, "GIT_SSH_COMMAND": str(_program(scratch / "near-ssh", 0))}
    for number in range(SINKS):
        arguments = ["sinks", "install", f"bench:{source}", "docs", "--ref", f"v{number}", "--name", f"sink-{number}"]
        _run([SOW, *arguments], root, fast_environment)
    mine = min(_run([SOW, "sinks", "update", "--check"], root, environment) for _ in range(rounds))
    single = min(_run(["git", "ls-remote", f"bench:{source}", "HEAD"], root, environment) for _ in range(rounds))
    return mine, single


def _environment(scratch: Path) -> dict[str, str]:
    home = scratch / "far-home"
    home.mkdir()
    names = {
        f"GIT_{person}_{field}": "bench@example.org"
        for person in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    }
    ssh = {"GIT_SSH_COMMAND": str(_program(scratch / "far-ssh", LATENCY)), "GIT_SSH_VARIANT": "simple"}
    return {**os.environ, **names, **ssh, "HOME": str(home)}


def _program(path: Path, latency: float) -> Path:
    path.write_text(FAR.format(latency=latency))
    path.chmod(0o755)
    return path


def _source(root: Path, environment: dict[str, str]) -> Path:
    """Makes a repository with a tag for each sink, so that each needs its own question."""
    (root / "docs").mkdir(parents=True)
    (root / "docs/guide.md").write_text("# Guide\n\nWords.\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        _run(["git", *arguments], root, environment)
    for number in range(SINKS):
        _run(["git", "tag", f"v{number}"], root, environment)
    return root


def _run(command: list[str], cwd: Path, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    process = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{process.stderr.decode()}")
    return seconds
