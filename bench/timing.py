"""Times commands: the best of many runs, interleaved so that noise affects all alike."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = sys.executable
SOW = str(Path(PYTHON).parent / "sow")
MEMORY = "/dev/shm"  # noqa: S108 (contains only new folders of sow)
MIN_FREE_BYTES = 4 << 30  # bytes

# One durable replacement of a file, or one durable append, with only `os`: the minimum for every command that writes.
SYNCED = """
import os
def replace(n):
    f = os.open(f'{n}.tmp', os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(f, b'x' * 700); os.fsync(f); os.close(f)
    os.replace(f'{n}.tmp', f'{n}.bench'); d = os.open('.', os.O_RDONLY); os.fsync(d); os.close(d)
def append(n):
    f = os.open(f'{n}.bench', os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.write(f, b'x' * 200); os.fsync(f); os.close(f)
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One command, what it is measured against, and the ratio that it should stay under."""

    name: str
    command: list[str]
    limit: float
    baseline: str = "pass"
    cwd: Path = Path()
    before: list[list[str]] = field(default_factory=list)


def best_times(cases: list[Case], rounds: int) -> list[tuple[float, float]]:
    """Returns the best time of each case's command and of its baseline, in seconds."""
    best = [(float("inf"), float("inf")) for _ in cases]
    for _ in range(rounds):
        for index, case in enumerate(cases):
            for command in case.before:
                _run(command, case.cwd)
            mine = _run(case.command, case.cwd)
            bare = _run([PYTHON, "-c", case.baseline], case.cwd)
            best[index] = (min(best[index][0], mine), min(best[index][1], bare))
    return best


@contextmanager
def in_memory(scratch: Path) -> Iterator[Path]:
    """Yields a folder in memory if it has room, else in the scratch folder; for work that only a disk makes slow."""
    space = os.statvfs(MEMORY) if os.access(MEMORY, os.W_OK) else None
    fits = space is not None and space.f_bavail * space.f_frsize >= MIN_FREE_BYTES and not space.f_flag & os.ST_NOEXEC
    with tempfile.TemporaryDirectory(dir=MEMORY if fits else scratch) as folder:
        yield Path(folder)


def _run(command: list[str], cwd: Path) -> float:
    start = time.perf_counter()
    process = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{process.stderr.decode()}")
    return seconds
