"""The census of a system without /proc, such as macOS: what the program `ps` tells of the processes."""

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
    """What `ps` tells: births to the second, environments of our own user's processes, and no sessions."""

    __slots__ = ()

    inherits = False
    slack = 2

    def birth(self, pid: int) -> int:
        """Zero: it is not worth a call of `ps`."""
        return 0

    def everybody(self) -> dict[int, Process]:
        """Every live process."""
        wanted = [word for column in COLUMNS for word in ("-o", f"{column}=")]
        found = {}
        for line in _output(["ps", "-A", *wanted]).splitlines():
            pid, parent, group, state, *born = line.split()
            if not state.startswith("Z"):
                numbers = {"parent": int(parent), "group": int(group), "session": 0, "born": _seconds(born)}
                found[int(pid)] = Process(name="", alive=True, **numbers)
        return found

    def children(self) -> None:
        """Of no use here: orphans of our children do not become ours."""

    def marked(self, name: str, value: str, among: Iterable[int] | None = None) -> set[int]:
        """Every live process, or each of some, that was started with this variable."""
        with_environment = "axEww" if sys.platform == "darwin" else "axeww"
        rows = (line.split() for line in _output(["ps", with_environment, "-o", "pid=", "-o", "command="]).splitlines())
        found = {int(row[0]) for row in rows if f"{name}={value}" in row[1:]}
        return found if among is None else found.intersection(among)


def _seconds(words: list[str]) -> int:
    return int(time.mktime(time.strptime(" ".join(words), LAYOUT)))


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
