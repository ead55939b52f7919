"""How long `sow sinks update --check` takes when every remote answers slowly: all of them are asked at once."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from bench.timing import SOW

SINKS = 20
LATENCY = 0.5  # seconds before a remote says a word
LIMIT = 3.0  # times one question to one remote

# In the place of ssh: what is meant for the other machine is run on this one, after a while.
FAR = '#!/bin/sh\nsleep {latency}\nshift\nexec sh -c "$*"\n'


def checked(scratch: Path, rounds: int = 3) -> tuple[float, float]:
    """Seconds of the best check of all sinks, and of the best single `git ls-remote`."""
    root, environment = scratch / "far", _environment(scratch)
    root.mkdir()
    source = _source(scratch / "far-source", environment)
    for words in (["git", "init", "-q"], [SOW, "init"]):
        _run(words, root, environment)
    near = {**environment, "GIT_SSH_COMMAND": str(_program(scratch / "near-ssh", 0))}
    for number in range(SINKS):
        where = ["sinks", "install", f"bench:{source}", "docs", "--ref", f"v{number}", "--name", f"sink-{number}"]
        _run([SOW, *where], root, near)
    mine = min(_run([SOW, "sinks", "update", "--check"], root, environment) for _ in range(rounds))
    one = min(_run(["git", "ls-remote", f"bench:{source}", "HEAD"], root, environment) for _ in range(rounds))
    return mine, one


def _environment(scratch: Path) -> dict[str, str]:
    home = scratch / "far-home"
    home.mkdir()
    names = {f"GIT_{who}_{what}": "bench@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    ssh = {"GIT_SSH_COMMAND": str(_program(scratch / "far-ssh", LATENCY)), "GIT_SSH_VARIANT": "simple"}
    return {**os.environ, **names, **ssh, "HOME": str(home)}


def _program(path: Path, latency: float) -> Path:
    path.write_text(FAR.format(latency=latency))
    path.chmod(0o755)
    return path


def _source(root: Path, environment: dict[str, str]) -> Path:
    """A repository with a tag for each sink, so that each is a question of its own."""
    (root / "docs").mkdir(parents=True)
    (root / "docs/guide.md").write_text("# Guide\n\nWords.\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        _run(["git", *words], root, environment)
    for number in range(SINKS):
        _run(["git", "tag", f"v{number}"], root, environment)
    return root


def _run(words: list[str], cwd: Path, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr.decode()}")
    return taken
