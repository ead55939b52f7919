"""Measures a command that a worker sends to the supervising sow, against the same command that it runs itself."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from bench.command_line import repository
from bench.timing import SOW
from sow.cli.main import run_forwarded
from sow.domain.task import WORKER, Actor
from sow.system.process.channel_server import Channel

LIMIT = 1.2
COMMAND = [SOW, "log", "--file", "a.py", "--action", "edit", "--result", "success", "did it"]


def sent(scratch: Path, rounds: int) -> tuple[float, float]:
    """Returns the best time of a command through the channel, and without it, in seconds."""
    root = repository(scratch / "channel")
    environment = {**os.environ, "HOME": str(scratch), "SOW_ROOT": str(root), "SOW_TASK": "010"}
    worker = Actor(kind=WORKER, name="implementer", task="010")
    channel = Channel(str(scratch / "socket"), environment, worker, run_forwarded)
    best, own = float("inf"), float("inf")
    try:
        for _ in range(rounds):
            best = min(best, _seconds({**environment, "SOW_CHANNEL": f"{channel.folder}/channel"}, root))
            own = min(own, _seconds(environment, root))
    finally:
        channel.close()
    return best, own


def _seconds(environment: dict[str, str], root: Path) -> float:
    start = time.perf_counter()
    subprocess.run(COMMAND, cwd=root, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start
