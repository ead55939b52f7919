"""Fixtures: a terminal on which sow is called, and a project of an older version of sow."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from conftest import SOW, Repo

# A process of its own makes the terminal: a fork in a test runner with threads would be unsafe.
SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
PATIENCE = 30


class Terminal:
    """One call of sow on a terminal, which a test reads and types at."""

    def __init__(self, repo: Repo, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SPAWN, SOW, *arguments],
            cwd=repo.root,
            env={**repo.environment, "TERM": "xterm", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.shown = b""

    def _read(self) -> bytes:
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, f"the terminal is silent after {self.shown!r}"
        data = os.read(self.process.stdout.fileno(), 65536)
        self.shown += data
        return data

    def until(self, text: str) -> Terminal:
        """Wait for a text to be shown."""
        while text.encode() not in self.shown:
            assert self._read(), f"{text!r} was never shown: {self.shown!r}"
        return self

    def type(self, keys: bytes) -> Terminal:
        """Press keys."""
        assert self.process.stdin
        self.process.stdin.write(keys)
        self.process.stdin.flush()
        return self

    def end(self) -> tuple[int, str]:
        """The exit code, and all that was shown."""
        while self._read():
            pass
        return self.process.wait(PATIENCE), self.shown.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()


@pytest.fixture
def on_terminal() -> Iterator[Callable[..., Terminal]]:
    """Calls sow on a terminal."""
    opened: list[Terminal] = []

    def call(repo: Repo, *arguments: str, **environment: str) -> Terminal:
        opened.append(Terminal(repo, *arguments, **environment))
        return opened[-1]

    yield call
    for item in opened:
        item.close()


@pytest.fixture
def old_repo(task_repo: Repo) -> Repo:
    """The project of task_repo as version 0.9.0 wrote it: another name of a field, and one field less."""
    for path in (task_repo.project / "state.yaml", task_repo.task_folder("010") / "state.yaml"):
        text = path.read_text().replace('schema_version: "1.2.0"', 'schema_version: "0.9.0"')
        path.write_text(text.replace("assigned_agent:", "assignee:").replace("  priority: medium\n", ""))
    return task_repo
