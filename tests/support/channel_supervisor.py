"""A process that supervises a worker: it keeps a channel open until its input ends.

The commands are those of sow, or a few plain ones that show what a command sees.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sow.cli.main import run_forwarded
from sow.domain.task import WORKER, Actor
from sow.system import caller
from sow.system.process.channel_server import Channel

PATIENCE = 60.0


class Supervisor:
    """A running supervisor, with the pid of its server and the folder of its socket."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.folder = folder
        self.path = f"{folder}/channel"
        self.server = int(process.stdout.readline())

    def close(self) -> None:
        """Closes the input, and waits until the process has ended."""
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@contextmanager
def supervisor(
    root: Path, folder: Path, environment: Mapping[str, str], *, task: str = "010", plain: bool = False
) -> Iterator[Supervisor]:
    """Starts a supervisor for a worker on a task, which ends with the block."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(root), str(folder), task, *(["plain"] if plain else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        start_new_session=True,
    )
    try:
        yield Supervisor(process, folder)
    finally:
        if process.returncode is None:
            process.communicate(timeout=PATIENCE)


def has_ended(pid: int) -> bool:
    """Tells whether a process ends soon; a zombie has ended."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def run_plain(words: list[str], environment: Mapping[str, str]) -> int:
    """Runs the plain commands."""
    if not words:
        return 0
    if words[0] == "exit":
        return int(words[1])
    if words[0] == "echo":
        print(*words[1:])
        print("on stderr", file=sys.stderr)
    elif words[0] == "cat":
        sys.stdout.write(sys.stdin.read())
    elif words[0] == "who":
        actor = caller.actor({})
        print(actor.kind, actor.name, actor.task, os.getcwd(), environment["SOW_TASK"], os.environ.get("SOW_CHANNEL"))
    elif words[0] == "descriptors":
        print(sorted(os.listdir("/proc/self/fd")))
    elif words[0] == "wait":
        Path(words[1]).write_text(str(os.getpid()))
        time.sleep(PATIENCE)
    elif words[0] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif words[0] == "fail":
        raise RuntimeError("a bug")
    return 0


def main(root: str, folder: str, task: str, *plain: str) -> None:
    environment = {**os.environ, "SOW_ROOT": root, "SOW_TASK": task, "SOW_AGENT": "implementer"}
    worker = Actor(kind=WORKER, name="implementer", task=task)
    print("not written yet", end="")  # text of the supervisor that no command may write
    held = os.open(root, os.O_RDONLY)
    channel = Channel(folder, environment, worker, run_plain if plain else run_forwarded)
    os.close(held)
    os.write(1, f"{channel.pid}\n".encode())
    sys.stdin.read()
    channel.close()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
