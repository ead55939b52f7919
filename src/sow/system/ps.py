"""Reads the processes of a system without /proc, such as macOS, with the program `ps`."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from sow.system import boundary
from sow.system.census import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = ("pid", "ppid", "pgid", "stat", "lstart")
PATIENCE = 10  # seconds
LAYOUT = "%a %b %d %H:%M:%S %Y"


class Ps:
    """The process queries with `ps`: start times in seconds, environments of our own user, and no sessions."""

    __slots__ = ()

    inherits = False
    slack = 2

    def birth(self, pid: int) -> int:
        """Returns zero: the start time is not worth a call of `ps`."""
        return 0

    def everybody(self) -> dict[int, Process]:
        """Returns every live process."""
        options = [word for column in COLUMNS for word in ("-o", f"{column}=")]
        processes = {}
        for line in _output(["ps", "-A", *options]).splitlines():
            pid, parent, group, state, *born = line.split()
            if not state.startswith("Z"):
                numbers = {"parent": int(parent), "group": int(group), "session": 0, "born": _seconds(born)}
                processes[int(pid)] = Process(name="", alive=True, **numbers)
        return processes

    def children(self) -> None:
        """Returns None: orphans of our children do not become ours here."""

    def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]:
        """Returns the live processes, or those among some, that were started with this variable."""
        with_environment = "axEww" if sys.platform == "darwin" else "axeww"
        rows = (line.split() for line in _output(["ps", with_environment, "-o", "pid=", "-o", "command="]).splitlines())
        pids = {int(row[0]) for row in rows if f"{name}={value}" in row[1:]}
        return pids if among is None else pids.intersection(among)


def _seconds(fields: list[str]) -> int:
    return int(time.mktime(time.strptime(" ".join(fields), LAYOUT)))


def _output(arguments: list[str]) -> str:
    """The output of `ps`; empty if it fails or does not end."""
    boundary.cross("start ps")
    try:
        return subprocess.run(
            arguments,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            start_new_session=True,  # Ctrl-C on our terminal is not meant for it
            check=False,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
