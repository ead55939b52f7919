"""Measures runs through a Temporal server: turns against a local run and plain activities, and a host's memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench import hosts
from bench.timing import PYTHON, SOW

HOSTS = hosts.NAMES[:2]
ACTIVITIES = 60.0  # times the plain activities
MEGABYTES = 80  # of one `sow host serve`, after its turns
PATIENCE = 60.0
QUEUE = "bench"
# The same number of activities that do nothing, with as many at once, on as many processes.
WORKER = """
import asyncio, sys
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

@activity.defn(name="nothing")
async def nothing():
    return None

async def main(address, queue, slots):
    client = await Client.connect(address)
    await Worker(client, task_queue=queue, activities=[nothing], max_concurrent_activities=int(slots)).run()

asyncio.run(main(*sys.argv[1:]))
"""
CLIENT = """
import asyncio, os, sys, time
from datetime import timedelta
from temporalio.client import Client

async def main(address, queue, tasks, slots):
    client, limit = await Client.connect(address), asyncio.Semaphore(int(slots))
    async def one(name):
        async with limit:
            await client.execute_activity(
                "nothing", id=name, task_queue=queue, start_to_close_timeout=timedelta(seconds=60))
    await one("first")
    start = time.perf_counter()
    await asyncio.gather(*(one(f"nothing-{number}") for number in range(int(tasks))))
    print(time.perf_counter() - start, flush=True)
    os._exit(0)  # the library can crash the end of a process

asyncio.run(main(*sys.argv[1:]))
"""


class Measured(NamedTuple):
    """Seconds of the turns and of plain activities, home's share of a turn, and megabytes of a host's process."""

    turns: float
    activities: float
    share: hosts.Share
    megabytes: float


def missing() -> str:
    """Returns what the measurements lack, or an empty text."""
    if find_spec("temporalio") is None:
        return "the package temporalio is not installed"
    found = shutil.which("temporal") or os.access(Path(PYTHON).with_name("temporal"), os.X_OK)
    return "" if found else "the program temporal is not installed"


def measured(scratch: Path) -> Measured:
    """Runs turns that do nothing over two hosts of a cluster, then plain activities on the same server."""
    folder = scratch / "cluster"
    transfer, address = folder / "transfer.git", f"127.0.0.1:{_free_port()}"
    settings = f"cluster: {{address: '{address}', transfer: {transfer}}}\n"
    with ExitStack() as running:
        port = address.rpartition(":")[2]
        serve = ["cluster", "dev", "--port", port, "--transfer", str(transfer)]
        running.enter_context(_started([SOW, *serve], folder / "server", settings, "The cluster is ready"))
        processes = []
        for name in HOSTS:
            own = f"{settings}host: {{name: {name}, capacity: {{bench: {hosts.SLOTS // len(HOSTS)}}}}}\n"
            words = [SOW, "host", "serve"]
            processes.append(running.enter_context(_started(words, folder / name, own, "serves the cluster")))
        run = hosts.run(folder / "run", ["true"], hosts.TASKS, hosts.SLOTS, [f"--cluster={address}"], settings)
        megabytes = max(_megabytes(process.pid) for process in processes)
        return Measured(run[0], _activities(address), run[1], megabytes)


def _activities(address: str) -> float:
    """Returns seconds of activities that do nothing, with as many at once as the turns."""
    slots = str(hosts.SLOTS // len(HOSTS))
    workers = [subprocess.Popen([PYTHON, "-c", WORKER, address, QUEUE, slots]) for _ in HOSTS]
    try:
        words = [PYTHON, "-c", CLIENT, address, QUEUE, str(hosts.TASKS), str(hosts.SLOTS)]
        return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


@contextmanager
def _started(command: list[str], home: Path, settings: str, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program of a user with a home of its own, and waits until it says that it is ready."""
    hosts.host_home(home, ["true"], settings)
    environment = {"PATH": f"{Path(SOW).parent}:{os.environ['PATH']}", "HOME": str(home), "SOW_SANDBOX": "off"}
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _until(lambda: ready in log.read_text() or process.poll() is not None)
        if process.poll() is not None:
            raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{log.read_text()}")
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        process.wait()


def _until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit("a program of the cluster did not start in time")
        time.sleep(0.05)


def _megabytes(pid: int) -> float:
    """Returns the memory of one process, without its children; what it shares with others counts in full."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) / 1024


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
