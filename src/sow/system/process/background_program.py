"""Runs a small background program that is polled, and ended when its time is up."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

from sow.system import crash_points, random_ids
from sow.system.process.process_tree import MARK
from sow.system.process.program import ProgramOutput, kill_with_tree

MOST = 4 << 10  # bytes of its output that are kept
MOST_GIVEN = 16 << 10
PIECE = 64 << 10
TICK = 0.02


class BackgroundProgram:
    """A background program, started at once; `poll` never waits, and `end` kills all of it."""

    def __init__(self, arguments: list[str], *, environment: Mapping[str, str], text: str, timeout: float) -> None:
        """Starts the program; the caller handles the OSError of one that cannot be started."""
        crash_points.crash_point(f"start {arguments[0]}")
        self._mark = random_ids.uuid4()
        self._until = time.monotonic() + timeout
        self._said = b""
        stdin, (read, write) = _filled(text), os.pipe()
        try:
            self._process = subprocess.Popen(
                arguments,
                cwd="/",  # not a repository, whose files the program could take for its own
                env={**environment, MARK: self._mark},
                stdin=stdin,
                stdout=write,
                stderr=write,
                process_group=0,  # Ctrl-C must not reach it; in its own session it would look like an orphan
            )
        except (OSError, ValueError):
            os.close(read)
            raise
        finally:
            os.close(stdin)
            os.close(write)
        os.set_blocking(read, False)
        self._pipe = read

    def poll(self) -> ProgramOutput | None:
        """Returns the result, or None while it runs and has time left."""
        self._listen()
        if self._process.poll() is None and time.monotonic() < self._until:
            return None
        code = self._process.returncode
        self.end()
        return ProgramOutput(code=code, text=self._said.decode("utf-8", "replace"))

    def wait(self) -> ProgramOutput:
        """Waits until it has ended or its time is up; returns the result."""
        while True:
            answer = self.poll()
            if answer is not None:
                return answer
            time.sleep(TICK)

    def end(self) -> None:
        """Kills it and all that it started."""
        if self._pipe < 0:
            return
        kill_with_tree(self._process, self._mark)
        self._listen()
        os.close(self._pipe)
        self._pipe = -1

    def _listen(self) -> None:
        """Reads its output, so that it never blocks; keeps the beginning."""
        try:
            while data := os.read(self._pipe, PIECE):
                self._said += data[: MOST - len(self._said)]
        except BlockingIOError:
            return


def _filled(text: str) -> int:
    """Returns the read end of a pipe that holds the text; a pipe has room for all that we send."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.write(write, text.encode("utf-8", "replace")[:MOST_GIVEN])
    os.close(write)
    return read
