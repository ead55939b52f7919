"""Measures what `sow plan new` adds to the time that its planner needs."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from bench.timing import SOW, in_memory

FILES = 1000
ADDED = 0.3  # seconds
# A planner that works for a while and answers with a plan of one task.
PLANNER = """\
#!/bin/sh
date +%s%N > {folder}/began
NONCE=$(sed -n 's/^BEGIN PLAN //p' | tail -1)
sleep 0.2
printf 'BEGIN PLAN %s\\n# Crane\\n\\n## Task 1: Lift\\nLift it.\\nEND PLAN %s\\n' $NONCE $NONCE
date +%s%N > {folder}/ended
"""
SETTINGS = "agents: {{executors: {{hand: {{type: command, settings: {{command: [{program}]}}}}}}}}\n"


def added(scratch: Path, rounds: int = 5) -> float:
    """Returns the best difference between the whole call and its planner, in seconds, in a repository of many files."""
    with in_memory(scratch) as folder:
        return _added(folder, rounds)


def _added(scratch: Path, rounds: int) -> float:
    root, program = scratch / "planning", scratch / "planner"
    (root / "src").mkdir(parents=True)
    for number in range(FILES):
        (root / "src" / f"part_{number}.py").write_text(f"PART = {number}\n")
    for item in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *item], cwd=root, check=True)
    program.write_text(PLANNER.format(folder=scratch))
    program.chmod(0o755)
    config = scratch / "config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(SETTINGS.format(program=program))
    environment = {**os.environ, "XDG_CONFIG_HOME": str(scratch / "config")}
    best = float("inf")
    for _ in range(rounds):
        start = time.time_ns()
        command = [SOW, "plan", "new", "Add a crane", "--executor", "hand", "--headless"]
        subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
        whole = time.time_ns() - start
        own = int((scratch / "ended").read_text()) - int((scratch / "began").read_text())
        best = min(best, (whole - own) / 1e9)
    return best
