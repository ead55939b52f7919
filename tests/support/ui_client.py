"""A real `sow ui`, and a client that sends it any request of a browser, a stranger or an agent."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from conftest import SOW, Repo

PATIENCE = 30


class Answer:
    """A reply."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"{self.status} {self.headers} {self.body[:500]!r}"


class Dashboard:
    """One server over one repository, in a process of its own."""

    def __init__(self, repo: Repo, *arguments: str, port: int = 0, **environment: str) -> None:
        self.repo = repo
        self.cookie = ""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [SOW, "ui", "--json", "--port", str(port), *arguments],
            cwd=repo.root,
            env={**repo.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,  # a pipe without a reader fills up, and the server would wait for it
            start_new_session=True,
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.end())
        self.said = json.loads(line)
        self.port = int(self.said["port"])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return str(self.said["url"]).partition("#token=")[2]

    def secrets(self) -> dict[str, Any]:
        """Returns the server's secrets from the user's own file."""
        data: dict[str, Any] = json.loads(self.file.read_text())
        return data

    @property
    def file(self) -> Path:
        paths = sorted((Path(self.repo.environment["HOME"]) / ".config/sow/ui").glob("*.json"))
        expected = [path for path in paths if path.name.endswith("-read-only.json") == self.said["read_only"]]
        assert len(expected) == 1
        return expected[0]

    def own_headers(self, method: str = "GET") -> dict[str, str]:
        """Returns the headers of sow's own page."""
        headers = {"Host": self.host, "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            headers |= {"Origin": f"http://{self.host}", "Content-Type": "application/json", "X-Sow": "1"}
        return headers

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str | None] | None = None) -> Answer:
        """Sends one request of sow's own page, with some of its headers changed, or left out if they are None."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent: dict[str, str | None] = {
            **self.own_headers(method),
            **({"Content-Length": str(len(data))} if data else {}),
        }
        sent |= headers or {}
        lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in sent.items() if v is not None)]
        return self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + data, method)

    def raw(self, data: bytes, method: str = "GET") -> Answer:
        """Returns the reply to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            line.sendall(data)
            result = http.client.HTTPResponse(line, method=method)
            result.begin()
            return Answer(result.status, result.getheaders(), result.read())

    def sign_in(self) -> Dashboard:
        """Exchanges the present token for a cookie."""
        answer = self.ask("POST", "/api/session", {"token": self.secrets()["token"]})
        assert answer.status == 204, answer
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def feed(self, after: str = "", **headers: str) -> Feed:
        return Feed(self, after, headers)

    def kill(self) -> None:
        """Kills the server."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> str:
        """Ends the server with SIGTERM; returns its stderr."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
        return self.complaints()

    def complaints(self) -> str:
        """Returns its stderr so far."""
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self.errors.close()


class Feed:
    """A page that listens to the feed."""

    def __init__(self, dashboard: Dashboard, after: str, headers: dict[str, str]) -> None:
        self.line = socket.create_connection(("127.0.0.1", dashboard.port), timeout=PATIENCE)
        sent = {**dashboard.own_headers(), **{name.replace("_", "-"): value for name, value in headers.items()}}
        path = f"/api/feed?after={after}" if after else "/api/feed"
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        self.line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        self.file = self.line.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = http.client.parse_headers(self.file)

    def next(self) -> dict[str, str]:
        """Returns the next event, or comment, as its fields."""
        result: dict[str, str] = {}
        while (line := self.file.readline()) != b"\n":
            assert line.endswith(b"\n"), "the feed has ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            result[name] = value
        return result

    def until(self, event: str) -> dict[str, str]:
        """Returns the next event of a kind."""
        while (result := self.next()).get("event") != event:
            pass
        return result

    def close(self) -> None:
        self.file.close()
        self.line.close()
