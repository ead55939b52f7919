"""Measures runs over several hosts: turns that do nothing, home's share of one, and how sleeping turns scale."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from bench.running import executor, independent_tasks, plan
from bench.timing import PYTHON, SOW

TASKS = 100
SLOTS = 4  # turns at once, on one machine or over two hosts
LOCAL = 5.0  # times the local run
SERIAL = 12  # turns one after the other, of which home's share is measured
PROCESS_MS, GIT_MS, CLOCK_MS = 20.0, 80.0, 150.0  # of home, for each turn
SLEEP, ROUNDS = 10, 2  # seconds of a sleeping turn, and how many each host takes one after the other
LINEAR = {4: 1 / 0.9, 8: 1 / 0.8}  # hosts, and times the sleep alone
NAMES = tuple(f"box-{letter}" for letter in "abcdefgh")

# Starts programs in the home of a host, as ssh would. They are no children of the caller, whose processor time counts.
SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$1; shift
exec 3<&0 4>&1
code=$({{
    env -i HOME="{folder}/$host" PATH=/usr/bin:/bin SHELL=/bin/sh GIT_PROTOCOL="$GIT_PROTOCOL" sh -c "$*" <&3 >&4 \\
        3<&- 4>&-
    echo $?
}} &)
exit "$code"
"""


class Share(NamedTuple):
    """What home spends for sending and taking over one turn, in seconds."""

    process: float  # processor time of the process of the run
    git: float  # the same, with the git processes that it starts
    clock: float


def idle_turns(scratch: Path) -> tuple[float, float]:
    """Returns seconds of a run over two hosts by ssh, and of a local run."""
    on = f"box-a:{SLOTS // 2},box-b:{SLOTS // 2}"
    hosts, _ = run(scratch / "hosts", ["true"], TASKS, SLOTS, ["--on", on])
    local, _ = run(scratch / "local", ["true"], TASKS, SLOTS, [])
    return hosts, local


def share(scratch: Path) -> Share:
    """Returns home's share of a turn that is alone."""
    return run(scratch / "share", ["true"], SERIAL, 1, ["--on", "box-a:1,box-b:1"])[1]


def scaling(scratch: Path, hosts: int) -> tuple[float, float]:
    """Returns seconds of sleeping turns over so many hosts, and the sleep of one host."""
    on = ",".join(f"{name}:1" for name in NAMES[:hosts])
    seconds, _ = run(scratch / str(hosts), ["sleep", str(SLEEP)], ROUNDS * hosts, hosts, ["--on", on])
    return seconds, float(SLEEP * ROUNDS)


def run(
    folder: Path, command: list[str], tasks: int, slots: int, options: list[str], settings: str = ""
) -> tuple[float, Share]:
    """Runs a plan of independent tasks; returns its seconds, and home's share of a turn."""
    root = folder / "repository"
    root.mkdir(parents=True)
    for arguments in (["init", "-qb", "work"], ["config", "user.email", "b@b.b"], ["config", "user.name", "b"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    (root / "plan.md").write_text(plan(independent_tasks(tasks)))
    for arguments in (["add", "."], ["commit", "-qm", "plan"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    host_home(folder / "home", command, settings)
    for name in NAMES:
        host_home(folder / name, command, "")
    ssh = folder / "ssh"
    ssh.write_text(SSH.format(folder=folder))
    ssh.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "GIT_SSH_COMMAND": str(ssh)}
    environment |= {"SOW_SANDBOX": "off", "PYTHONPATH": str(Path(__file__).parents[1])}
    result = folder / "result.json"
    fixed = ["run", "plan.md", "--review", "off", "--yes", "--max-concurrency", str(slots)]
    quiet = subprocess.DEVNULL
    start = time.perf_counter()
    subprocess.run(
        [PYTHON, "-m", "bench.home_share", str(result), *fixed, *options],
        cwd=root,
        env=environment,
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        check=True,
    )
    seconds = time.perf_counter() - start
    facts = json.loads(result.read_text())
    if facts["code"] or facts["turns"] not in (0, tasks):
        raise SystemExit(f"sow run in {root}: exit {facts['code']} after {facts['turns']} turns")
    return seconds, Share(*(facts[name] / tasks for name in Share._fields))


def host_home(home: Path, command: list[str], settings: str) -> None:
    """Makes the home of a user, whose login shell finds sow."""
    executor(home, command)
    with (home / ".config/sow/config.yaml").open("a") as file:
        file.write(settings)
    (home / ".profile").write_text(f'export PATH="{Path(SOW).parent}:$PATH" SOW_SANDBOX=off\n')
