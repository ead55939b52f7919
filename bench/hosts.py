"""Measures runs over several hosts: turns that do nothing against a local run, and how turns scale with hosts."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from bench.running import executor, independent_tasks, plan
from bench.timing import PYTHON, SOW

TASKS = 24
SLOTS = 4  # turns at once, on one machine or over two hosts
LOCAL = 5.0  # times the local run
HOME_MS = 20.0  # milliseconds of processor time in the process of the run, for each turn
TURNS, SECONDS = 8, 6  # turns that only sleep, one after the other on each host
LINEAR = 1 / 0.9  # times the ideal
NAMES = ("box-a", "box-b", "box-c", "box-d")

# Starts programs in the home of a host, as ssh would.
SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$1; shift
exec env -i HOME="{folder}/$host" PATH=/usr/bin:/bin SHELL=/bin/sh GIT_PROTOCOL="$GIT_PROTOCOL" sh -c "$*"
"""
# The processor time of the run's own process, without git and the hosts.
RUN = """
import json, resource, sys
from sow.cli.main import main
code = main(sys.argv[2:])
usage = resource.getrusage(resource.RUSAGE_SELF)
json.dump([code, usage.ru_utime + usage.ru_stime], open(sys.argv[1], "w"))
"""


def idle_turns(scratch: Path) -> tuple[float, float, float]:
    """Returns seconds of a run over two hosts and of a local run, and milliseconds of the run's process for a turn."""
    hosts, home = _run(scratch / "hosts", ["true"], TASKS, f"box-a:{SLOTS // 2},box-b:{SLOTS // 2}")
    local, _ = _run(scratch / "local", ["true"], TASKS, "")
    return hosts, local, home / TASKS * 1000


def scaling(scratch: Path) -> tuple[float, float]:
    """Returns seconds of sleeping turns over four hosts, and the ideal: those of one host, divided by four."""
    one, _ = _run(scratch / "one", ["sleep", str(SECONDS)], TURNS // 4, "box-a:1")
    four, _ = _run(scratch / "four", ["sleep", str(SECONDS)], TURNS, ",".join(f"{name}:1" for name in NAMES))
    return four, one


def _run(folder: Path, command: list[str], tasks: int, on: str) -> tuple[float, float]:
    """Runs a plan of independent tasks; returns its seconds, and the processor time of its own process."""
    root = folder / "repository"
    root.mkdir(parents=True)
    for arguments in (["init", "-qb", "work"], ["config", "user.email", "b@b.b"], ["config", "user.name", "b"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    (root / "plan.md").write_text(plan(independent_tasks(tasks)))
    for arguments in (["add", "."], ["commit", "-qm", "plan"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    executor(folder / "home", command)
    for name in NAMES:
        executor(folder / name, command)
        (folder / name / ".profile").write_text(f'export PATH="{Path(SOW).parent}:$PATH" SOW_SANDBOX=off\n')
    ssh = folder / "ssh"
    ssh.write_text(SSH.format(folder=folder))
    ssh.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "GIT_SSH_COMMAND": str(ssh)}
    environment["SOW_SANDBOX"] = "off"
    options = [
        "run",
        "plan.md",
        "--review",
        "off",
        "--yes",
        "--max-concurrency",
        str(SLOTS),
        *(["--on", on] if on else []),
    ]
    quiet = subprocess.DEVNULL
    start = time.perf_counter()
    result = folder / "result.json"
    command_line = [PYTHON, "-c", RUN, str(result), *options]
    subprocess.run(command_line, cwd=root, env=environment, stdin=quiet, stdout=quiet, stderr=quiet, check=True)
    seconds = time.perf_counter() - start
    code, own = json.loads(result.read_text())
    if code:
        raise SystemExit(f"sow run in {root}: exit {code}")
    return seconds, own
