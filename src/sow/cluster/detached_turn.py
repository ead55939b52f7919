"""Starts a turn that outlives the connection of its sender, follows it, and stops it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from sow.cluster.host_folder import HostFolder
from sow.errors import SowError
from sow.store.files import disk
from sow.system import plain_file
from sow.system.process import process_tree
from sow.system.process.child_process import GrowingLines
from sow.system.process.program import start_detached

BEATS, ERRORS, PID, STOP = "beats", "errors", "pid", "stop"
PAUSE, LONGEST_PAUSE = 0.01, 0.05
MOST_STARTS = 2  # the second one packs what a killed one left
START_SECONDS = 30.0
MOST_ERRORS = 20_000
LEAST_SPACE = 1 << 20


class DetachedTurn:
    """The process of one turn, which holds a lock on the turn's folder for as long as it lives."""

    def __init__(self, host: HostFolder, token: str) -> None:
        self.host = host
        self.token = token
        self.folder = host.turn_folder(token)

    def hold(self) -> int:
        """Makes this process the one that takes the turn. Raises if there is another one."""
        descriptor = self._open_lock()
        if not disk.try_lock(descriptor, self.folder):
            os.close(descriptor)
            raise SowError(f"the turn {self.token} is taken by another process", "wait for its end")
        plain_file.write(f"{self.folder}/{PID}", str(os.getpid()))
        return descriptor

    def is_alive(self) -> bool:
        """Tells whether a process takes the turn now."""
        descriptor = self._open_lock()
        try:
            return disk.is_locked(descriptor)
        finally:
            os.close(descriptor)

    def follow(self, tell: Callable[[str], None]) -> bool:
        """Starts the turn unless it runs, passes its lines on until it ends, and returns whether it has a result."""
        starts = 0
        while not self._has_result():
            if not self.is_alive():
                if starts == MOST_STARTS:
                    return False
                self._start()
                starts += 1
            self._pass_lines(tell)
        return True

    def stop(self, patience: float = 0.0) -> str:
        """Interrupts the process of the turn, also one that has not begun yet; returns an event that says how it is."""
        plain_file.write(f"{self.folder}/{STOP}", "")
        if not self.is_alive():
            return "not_running"
        with suppress(OSError, ValueError):  # it looks for the file before it begins
            process_tree.signal_one(int(plain_file.read_text(f"{self.folder}/{PID}", 20)), signal.SIGINT)
        give_up = time.monotonic() + patience
        while self.is_alive():
            if time.monotonic() >= give_up:
                return "stopping"
            time.sleep(LONGEST_PAUSE)
        return "stopped"

    def errors(self) -> str:
        """Returns the last line of the errors of the turn's process."""
        path = f"{self.folder}/{ERRORS}"
        text = plain_file.read_text(path, MOST_ERRORS) if os.path.exists(path) else ""
        state = os.statvfs(self.folder)
        if not text and not state.f_bavail * state.f_frsize // LEAST_SPACE:  # too full to say so
            return f"no space left on device, at {self.folder}"
        return next((line for line in text.splitlines() if line.startswith("error: ")), text.strip()[-300:])

    def _has_result(self) -> bool:
        return bool(self.host.find(f"refs/sow/turns/{self.token}/result"))

    def _open_lock(self) -> int:
        return disk.open_lock(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def _start(self) -> None:
        command = [sys.executable, "-m", "sow", "turn", "run", self.token]
        plain_file.write(f"{self.folder}/{ERRORS}", "")
        process = start_detached(command, out=f"{self.folder}/{BEATS}", err=f"{self.folder}/{ERRORS}")
        give_up = time.monotonic() + START_SECONDS
        while process.poll() is None and not self.is_alive() and time.monotonic() < give_up:
            time.sleep(PAUSE)

    def _pass_lines(self, tell: Callable[[str], None]) -> None:
        lines, pause = GrowingLines(f"{self.folder}/{BEATS}"), PAUSE
        try:
            while self.is_alive():
                new = lines.read()
                for line in new:
                    tell(line)
                pause = PAUSE if new else min(pause * 1.5, LONGEST_PAUSE)
                time.sleep(pause)
            for line in lines.rest():
                tell(line)
        finally:
            lines.close()
