"""The sandbox is tried once per start of the machine, and again after a failure or a change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
