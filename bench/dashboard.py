"""A `sow ui` to measure: started on a free port, entered with its token as a browser does, and ended by its id."""

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
    """One server over one checkout; its user's home lies beside the checkout."""

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
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)

    def ready(self) -> float:
        """Seconds from its start to the first request that is answered."""
        while True:
            try:
                self.get("/")
                return time.perf_counter() - self.started
            except OSError:
                if self.process.poll() is not None or time.perf_counter() > self.started + PATIENCE:
                    raise SystemExit("`sow ui` does not answer") from None
                time.sleep(0.001)

    def address(self) -> str:
        """What it prints for a browser to open."""
        assert self.process.stdout
        said = b""
        while not (found := ADDRESS.search(said)):
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise SystemExit(f"`sow ui` said no address: {said.decode()}")
            said += more
        return found[0].decode()

    def get(self, path: str, cookie: str = "") -> bytes:
        """What stands at an address, read to its end."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            line.request("GET", path, headers={"Cookie": cookie} if cookie else {})
            answer = line.getresponse()
            text = answer.read()
        finally:
            line.close()
        if answer.status != 200:
            raise SystemExit(f"GET {path}: {answer.status} {text.decode()}")
        return text

    def cookie(self) -> str:
        """The cookie for which the printed token is exchanged."""
        token = self.address().partition("#token=")[2]
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json", "X-Sow": "1"}
        line.request("POST", "/api/session", json.dumps({"token": token}), headers)
        found = str(line.getresponse().headers["Set-Cookie"]).partition(";")[0]
        line.close()
        return found

    def feed(self, cookie: str) -> http.client.HTTPConnection:
        """An open feed, of which the first event has been read."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        line.request("GET", "/api/feed", headers={"Cookie": cookie})
        answer = line.getresponse()
        while answer.readline().strip():
            pass
        return line

    def most_memory(self) -> float:
        """The most megabytes that it has ever had."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
