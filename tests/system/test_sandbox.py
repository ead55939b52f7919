"""The sandbox is tried once per start of the machine, and again after a failure or a change."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sow.system.process.box_limits import call_without_other_sockets
from sow.system.sandbox import Box

ASK = "import os, sys; from sow.system.sandbox import sandbox_state; "
ASK += "print(sandbox_state('auto', os.environ, afresh=len(sys.argv) > 1).problem)"
WORKS = '#!/bin/sh\necho x >> "$0.calls"\nexit 0\n'
FAILS = '#!/bin/sh\necho x >> "$0.calls"\necho "bwrap: no room" >&2\nexit 1\n'


class Machine:
    """A home folder, and a program in place of bubblewrap that counts its calls."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "bin" / "bwrap"
        self.program.parent.mkdir()
        self.environment = {**os.environ, "HOME": str(folder), "PATH": f"{self.program.parent}:/usr/bin:/bin"}
        self.environment.pop("XDG_CACHE_HOME", None)

    def install(self, text: str) -> None:
        self.program.write_text(text)
        self.program.chmod(0o755)

    def ask(self, *arguments: str) -> str:
        """Returns the problem that a new process sees."""
        command = [sys.executable, "-c", ASK, *arguments]
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return result.stdout.strip()

    def calls(self) -> int:
        path = Path(f"{self.program}.calls")
        return len(path.read_text().split()) if path.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_working_sandbox_is_tried_once(machine: Machine) -> None:
    """The next process relies on the first one, unless it is asked to try again or the program changed."""
    machine.install(WORKS)
    assert [machine.ask(), machine.ask()] == ["", ""]
    assert machine.calls() == 1
    assert machine.ask("afresh") == ""
    assert machine.calls() == 2
    machine.install(FAILS)
    assert "no room" in machine.ask()
    assert machine.calls() == 3


def test_a_failed_sandbox_is_tried_again(machine: Machine) -> None:
    """After a repair the user need not tell sow."""
    machine.install(FAILS)
    assert all("no room" in machine.ask() for _ in range(2))
    assert machine.calls() == 2


def test_without_a_cache_the_sandbox_is_tried_each_time(machine: Machine, tmp_path: Path) -> None:
    """Without a place to remember, it is tried each time."""
    machine.install(WORKS)
    (tmp_path / ".cache").write_text("a file")
    assert [machine.ask(), machine.ask()] == ["", ""]
    assert machine.calls() == 2


def test_what_is_shown_already_is_not_mounted_again(tmp_path: Path) -> None:
    """A folder below a shown one has no mount of its own, unless a link leads there or the folder was opened since."""
    (tmp_path / "tools/bin").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tools/linked").symlink_to(tmp_path / "elsewhere")
    tools, inner, linked = (f"{tmp_path}/{name}" for name in ("tools", "tools/bin", "tools/linked"))
    box = Box({**os.environ, "HOME": str(tmp_path)})
    before = len(box.mounts)
    box.show(tools, inner, tools, linked, f"{tmp_path}/missing")
    assert box.mounts[before:] == [("--ro-bind", tools, tools), ("--ro-bind", linked, linked)]
    box.allow(tools)
    box.show(inner)
    assert box.mounts[-2:] == [("--bind", tools, tools), ("--ro-bind", inner, inner)]


def test_only_what_is_started_in_a_box_loses_other_sockets() -> None:
    """The limit of a box binds the programs that are started with it, and neither this process nor its other ones."""
    name = f"\0sow-test-{os.getpid()}"
    ask = ["import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace('@', chr(0)))"]
    command = [sys.executable, "-c", *ask, name.replace("\0", "@")]

    def code() -> int:
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen(8)
        codes = [call_without_other_sockets(code), code()]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(name)
        with warnings.catch_warnings():  # newer Pythons warn of threads, which a forked process does not have
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            result = 9
            try:
                result = call_without_other_sockets(code)
            finally:
                os._exit(result)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if codes[0] == 0:
        pytest.skip("this Linux has no such limit")
    assert codes == [1, 0, 1]


def test_errors_pass_through_the_thread() -> None:
    """What fails there fails here, and the thread goes on."""
    with pytest.raises(ZeroDivisionError):
        call_without_other_sockets(lambda: 1 / 0)
    assert call_without_other_sockets(os.getpid) == os.getpid()
