"""Starts a `sow ui` to measure on a free port, signs in with its token as a browser does, and stops it."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

from bench.timing import SOW

PATIENCE = 30  # seconds
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/#token=([^\s\"]+)")


class Dashboard:
    """One server for one checkout; its user's home is next to the checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(root.with_name(f"{root.name}-home"))}
        self.port = free_port()
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [SOW, "ui", "--port", str(self.port)],
            cwd=root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)

    def ready(self) -> float:
        """Returns the seconds from its start to the first answered request."""
        while True:
            try:
                self.get("/")
                return time.perf_counter() - self.started
            except OSError:
                if self.process.poll() is not None or time.perf_counter() > self.started + PATIENCE:
                    raise SystemExit("`sow ui` does not answer") from None
                time.sleep(0.001)

    def address(self) -> str:
        """Returns the address that it prints for a browser."""
        assert self.process.stdout
        output = b""
        while not (match := ADDRESS.search(output)):
            block = os.read(self.process.stdout.fileno(), 1 << 16)
            if not block:
                raise SystemExit(f"`sow ui` said no address: {output.decode()}")
            output += block
        return match[0].decode()

    def get(self, path: str, cookie: str = "") -> bytes:
        """Returns the body of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise SystemExit(f"GET {path}: {answer.status} {text.decode()}")
        return text

    def cookie(self) -> str:
        """Exchanges the printed token for a cookie."""
        token = self.address().partition("#token=")[2]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json", "X-Sow": "1"}
        connection.request("POST", "/api/session", json.dumps({"token": token}), headers)
        cookie = str(connection.getresponse().headers["Set-Cookie"]).partition(";")[0]
        connection.close()
        return cookie

    def feed(self, cookie: str) -> http.client.HTTPConnection:
        """Returns an open feed whose first event has been read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/api/feed", headers={"Cookie": cookie})
        answer = connection.getresponse()
        while answer.readline().strip():
            pass
        return connection

    def most_memory(self) -> float:
        """Returns its peak memory in megabytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def free_port() -> int:
    """Returns a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
