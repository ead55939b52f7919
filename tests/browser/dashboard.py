"""A real `sow ui` on a free port, which can be killed and started again."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from typing import Any

from conftest import SOW, Repo

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=\S+")
PATIENCE = 60  # seconds until it must be ready, or gone


class Dashboard:
    """One server over one repository."""

    def __init__(self, repo: Repo, *arguments: str, port: int = 0) -> None:
        self.repo = repo
        self.words = arguments
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.entered: dict[str, Any] | None = None

    def start(self) -> Dashboard:
        """Start it, and wait for the address that it prints."""
        self.process = subprocess.Popen(
            [SOW, "ui", "--port", str(self.port), *self.words],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.address = self._said_address()
        return self

    def _said_address(self) -> str:
        assert self.process and self.process.stdout
        output, end = b"", time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                output += os.read(self.process.stdout.fileno(), 1 << 16)
            match = ADDRESS.search(output.decode("utf-8", "replace"))
            if match and output.endswith(b"\n"):
                self.port = int(match[1])
                return match[0]
            if self.process.poll() is not None:
                break
        raise AssertionError(f"`sow ui` said no address: {output.decode('utf-8', 'replace')}")

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def at(self, route: str) -> str:
        """Returns the address of a page for a browser that has the cookie already."""
        return f"{self.base}#/{route}"

    def key(self) -> dict[str, Any]:
        """Returns the cookie for which one token was exchanged."""
        if self.entered is None:
            token = self.repo.ok("ui", "--json", *self.words).json["url"].partition("#token=")[2]
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            headers = {"Origin": self.base.rstrip("/"), "Content-Type": "application/json", "X-Sow": "1"}
            line.request("POST", "/api/session", json.dumps({"token": token}), headers)
            answer = line.getresponse()
            output = answer.read()
            line.close()
            assert answer.status == 204, output
            name, _, value = str(answer.headers["Set-Cookie"]).partition(";")[0].partition("=")
            cookie = {"name": name, "value": value, "domain": "127.0.0.1", "path": "/", "expires": -1}
            self.entered = {**cookie, "httpOnly": True, "secure": False, "sameSite": "Strict"}
        return {"cookies": [self.entered], "origins": []}

    def kill(self) -> None:
        """Kill it."""
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def close(self) -> None:
        """End it with SIGTERM; it must end."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self._reap()

    def _reap(self) -> None:
        assert self.process and self.process.stdout
        try:
            self.process.wait(timeout=PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()
        self.process = None


def free_port() -> int:
    """Returns a port without a listener."""
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        port: int = result.getsockname()[1]
        return port
