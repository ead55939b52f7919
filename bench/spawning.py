"""Measures how soon a worker runs after `sow agent spawn`, and what it costs to read a hundred workers' output."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.command_line import repository
from bench.timing import PYTHON, SOW
from sow.executors.adapter import TurnSummary
from sow.executors.clis.claude import Claude
from sow.system.process.child_process import TICK, Child, ProcessLimits

CHILDREN = 100
LINES = 1000
SANDBOX = 0.03  # seconds that the sandbox adds to the start of a turn
LIMIT = 4  # times bare Python, from the call to the worker's first instruction
SHARE = 1.0  # of a core, for all of them
MEGABYTES = 100


def first_instruction(scratch: Path, rounds: int) -> tuple[float, float, float]:
    """Returns the best times in seconds from the call to the worker's first instruction, without and in the sandbox,
    and that of bare Python."""
    root = repository(scratch / "spawn")
    program = scratch / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ndate +%s%N > "$SOW_ROOT/first"\nexit 1\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(scratch)}
    best, bare = {"off": float("inf"), "bwrap": float("inf")}, float("inf")
    command = [SOW, "agent", "spawn", "implementer", "010", "--fresh"]
    for _ in range(rounds):
        for mode in best:
            start = time.time_ns()
            subprocess.run(
                command, cwd=root, env={**environment, "SOW_SANDBOX": mode}, capture_output=True, check=False
            )
            best[mode] = min(best[mode], (int((root / "first").read_text()) - start) / 1e9)
        start = time.time_ns()
        subprocess.run([PYTHON, "-c", "pass"], check=True)
        bare = min(bare, (time.time_ns() - start) / 1e9)
    return best["off"], best["bwrap"], bare


def listening(scratch: Path) -> tuple[float, float]:
    """Returns the share of a core and the megabytes needed to read the output of a hundred workers at once."""
    part = {"type": "text", "text": "Some words of a worker that is busy with its task."}
    line = json.dumps({"type": "assistant", "session_id": "s", "message": {"content": [part]}})
    source = scratch / "stream.jsonl"
    source.write_text(f"{line}\n" * (LINES // 10))
    (scratch / "empty").touch()
    script = f"for i in 1 2 3 4 5 6 7 8 9 10; do cat {source}; sleep 0.3; done"
    adapter = Claude()
    summaries = [TurnSummary() for _ in range(CHILDREN)]
    limits = ProcessLimits(wall=60, silence=60, linger=10, size=1 << 28, grace=5)
    children = [_child(["sh", "-c", script], scratch, number, limits) for number in range(CHILDREN)]
    start, used = time.perf_counter(), time.process_time()
    running = list(zip(children, summaries, strict=True))
    while running:
        running = [(child, summary) for child, summary in running if child.step(_line_handler(adapter, summary))]
        time.sleep(TICK)
    share = (time.process_time() - used) / (time.perf_counter() - start)
    for child in children:
        child.close()
    assert all(summary.last_text for summary in summaries)
    return share, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _line_handler(adapter: Claude, summary: TurnSummary) -> Callable[[str], None]:
    def take(text: str) -> None:
        for event in adapter.read(text):
            summary.add(event)

    return take


def _child(command: list[str], scratch: Path, number: int, limits: ProcessLimits) -> Child:
    return Child(
        command,
        cwd=str(scratch),
        environment={"PATH": os.environ["PATH"]},
        stdin_path=str(scratch / "empty"),
        stdout_path=str(scratch / f"{number}.out"),
        stderr_path=str(scratch / f"{number}.err"),
        mark=f"bench{number}",
        limits=limits,
    )
