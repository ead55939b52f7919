"""A small program on an errand of ours: it runs beside us, is looked at now and then, and is ended in time."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from sow.system import boundary, census, identity, tree
from sow.system.program import Answer
from sow.system.tree import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 4 << 10  # bytes of what it says that are kept
MOST_GIVEN = 16 << 10
PIECE = 64 << 10
TICK = 0.02


class Errand:
    """Started at once; `look` never waits, and after `end` nothing of it is left."""

    __slots__ = ("_mark", "_pipe", "_process", "_said", "_until")

    def __init__(self, arguments: list[str], *, environment: Mapping[str, str], text: str, timeout: float) -> None:
        """An OSError of a program that cannot be started is the caller's to tell."""
        boundary.cross(f"start {arguments[0]}")
        self._mark = identity.uuid4()
        self._until = time.monotonic() + timeout
        self._said = b""
        given, (read, write) = _filled(text), os.pipe()
        try:
            self._process = subprocess.Popen(
                arguments,
                cwd="/",  # nobody's repository, whose files the program could take for its own
                env={**environment, MARK: self._mark},
                stdin=given,
                stdout=write,
                stderr=write,
                process_group=0,  # Ctrl-C is not for it; in a session of its own it would look like an orphan
            )
        except (OSError, ValueError):
            os.close(read)
            raise
        finally:
            os.close(given)
            os.close(write)
        os.set_blocking(read, False)
        self._pipe = read

    def look(self) -> Answer | None:
        """What became of it; None while it has time left and goes on."""
        self._listen()
        if self._process.poll() is None and time.monotonic() < self._until:
            return None
        code = self._process.returncode
        self.end()
        return Answer(code=code, text=self._said.decode("utf-8", "replace"))

    def wait(self) -> Answer:
        """The same, once it has ended or its time is up."""
        while True:
            found = self.look()
            if found is not None:
                return found
            time.sleep(TICK)

    def end(self) -> None:
        """End it and all that it started."""
        if self._pipe < 0:
            return
        below = tree.relatives(self._process.pid, census.here().everybody())
        if self._process.poll() is None:
            tree.signal_one(self._process.pid, signal.SIGKILL, group=True)
        tree.sweep(self._process.pid, self._mark, below)
        self._process.wait()
        self._listen()
        os.close(self._pipe)
        self._pipe = -1

    def _listen(self) -> None:
        """Take what it says, so that it never waits for us; the beginning is kept."""
        try:
            while data := os.read(self._pipe, PIECE):
                self._said += data[: MOST - len(self._said)]
        except BlockingIOError:
            return


def _filled(text: str) -> int:
    """The end of a pipe from which a text can be read; a pipe takes more than an errand has to say."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.write(write, text.encode("utf-8", "replace")[:MOST_GIVEN])
    os.close(write)
    return read
