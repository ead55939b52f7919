"""The proxy of a sandbox: what it connects, what it refuses, and what it records."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sow.domain.network import Hosts
from sow.system.process.network_proxy import MOST_LINES, NetworkProxy

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """A server that keeps the first data of each connection, and replies."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(1 << 16))
                connection.sendall(HELLO)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


class Box:
    """Does what the launcher does in a sandbox: it hands over listening sockets of this machine's loopback device."""

    def __init__(self, log: Path, hosts: Hosts, **environment: str) -> None:
        self.proxy = NetworkProxy(hosts, str(log), environment)
        self.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in self.proxy.ports]
        socket.send_fds(self.proxy.handle, [b"."], [listener.fileno() for listener in self.listeners])
        self.log = log

    def ask(self, request: str, port: int = 0) -> bytes:
        """Returns the reply to a request; the first port is the proxy's, the others are those of this machine."""
        address = self.listeners[port].getsockname()
        with socket.create_connection(address, 20) as client:
            client.sendall(request.encode("latin-1"))
            answer = b""
            while piece := client.recv(1 << 16):
                answer += piece
                if request.startswith("CONNECT") and b" 200 " in answer:
                    client.sendall(b"inside")
                    request = ""
        return answer

    def lines(self) -> list[str]:
        return [line.partition(" ")[2] for line in self.log.read_text().splitlines()]

    def close(self) -> None:
        self.proxy.close()
        for listener in self.listeners:
            listener.close()


@pytest.fixture
def boxes() -> Iterator[list[Box]]:
    made: list[Box] = []
    yield made
    for box in made:
        box.close()


def test_requests_and_tunnels_reach_allowed_hosts(tmp_path: Path, server: Server, boxes: list[Box]) -> None:
    """A request is passed on without the proxy's headers, a tunnel unchanged, and a named port without a proxy."""
    host = f"127.0.0.1:{server.port}"
    boxes.append(box := Box(tmp_path / "log", Hosts([host])))
    head = f"Host: {host}\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive\r\n\r\n"
    assert box.ask(f"GET http://{host}/path?q=1 HTTP/1.1\r\n{head}") == HELLO
    assert server.asked == [f"GET /path?q=1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()]
    assert box.ask(f"CONNECT {host} HTTP/1.1\r\n\r\n").endswith(HELLO)
    assert server.asked[1] == b"inside"
    assert box.ask("as it is", port=1) == HELLO
    assert server.asked[2] == b"as it is"
    assert box.lines() == [f"allowed {host}"] * 3


REFUSED = {
    "another host": "GET http://example.org/ HTTP/1.1",
    "another port": "CONNECT model.example:80 HTTP/1.1",
    "the end of a name": "CONNECT evilmodel.example:443 HTTP/1.1",
    "below a name": "CONNECT x.model.example:443 HTTP/1.1",
    "an address": "CONNECT 8.8.8.8:443 HTTP/1.1",
    "this machine": "GET http://127.0.0.1:{port}/ HTTP/1.1",
    "this machine by its name": "GET http://localhost:{port}/ HTTP/1.1",
    "this machine in other digits": "GET http://2130706433:{port}/ HTTP/1.1",
    "this machine by IPv6": "GET http://[::1]:{port}/ HTTP/1.1",
    "another scheme": "GET ftp://model.example/ HTTP/1.1",
    "a user in front": "GET http://model.example@127.0.0.1:{port}/ HTTP/1.1",
    "no host": "GET /path HTTP/1.1",
    "no request": "hello",
    "a line break in a name": "CONNECT model.example\rx:443 HTTP/1.1",
    "other letters": "CONNECT mod\xe9l.example:443 HTTP/1.1",
}


def test_everything_else_is_refused(tmp_path: Path, server: Server, boxes: list[Box]) -> None:
    """No other host is reached under any name; anything that is no request is closed."""
    boxes.append(box := Box(tmp_path / "log", Hosts(["model.example", "*.models.example"])))
    answers = {name: box.ask(f"{line.format(port=server.port)}\r\n\r\n") for name, line in REFUSED.items()}
    assert {name for name, answer in answers.items() if answer and b" 403 " not in answer} == set()
    assert server.asked == []
    assert {line.split()[0] for line in box.lines()} == {"refused"}


def test_a_name_of_this_machine_is_refused(tmp_path: Path, boxes: list[Box]) -> None:
    """An allowed name counts only if it resolves to another machine."""
    names = ("ip6-localhost", "ip6-loopback", "localhost.localdomain", socket.gethostname())
    result = {name: address_of(name) for name in names}
    name = next((name for name, address in result.items() if address in ("::1", "127.0.0.1", "127.0.1.1")), "")
    if not name:
        pytest.skip("this machine has no other name")
    family = socket.AF_INET6 if ":" in result[name] else socket.AF_INET
    with socket.create_server((result[name], 0), family=family) as listener:
        port = listener.getsockname()[1]
        boxes.append(box := Box(tmp_path / "log", Hosts([f"{name}:{port}"])))
        assert b" 403 " in box.ask(f"GET http://{name}:{port}/ HTTP/1.1\r\n\r\n")
    assert box.lines() == [f"refused {name}:{port}"]


def address_of(name: str) -> str:
    try:
        return str(socket.getaddrinfo(name, 1, type=socket.SOCK_STREAM)[0][4][0])
    except socket.gaierror:
        return ""


def test_telemetry_is_refused_quietly(tmp_path: Path, boxes: list[Box]) -> None:
    """A host of the CLI's telemetry is refused, and the log has another word for it."""
    boxes.append(box := Box(tmp_path / "log", Hosts(["model.example"], silent=["*.telemetry.example"])))
    assert b" 403 " in box.ask("CONNECT a.telemetry.example:443 HTTP/1.1\r\n\r\n")
    assert box.lines() == ["ignored a.telemetry.example:443"]


def test_the_users_own_proxy_is_used(tmp_path: Path, server: Server, boxes: list[Box]) -> None:
    """A user's proxy with a login gets requests for allowed hosts, but not those for this machine."""
    own = f"http://ada:secret@127.0.0.1:{server.port}"
    hosts = Hosts(["model.example", "model.example:80"])
    boxes.append(box := Box(tmp_path / "log", hosts, HTTP_PROXY=own, HTTPS_PROXY=own))
    box.ask("GET http://model.example/x HTTP/1.1\r\nHost: model.example\r\n\r\n")
    box.ask("CONNECT model.example:443 HTTP/1.1\r\nHost: model.example:443\r\n\r\n")
    login = b"Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n"
    assert server.asked[0].startswith(b"GET http://model.example/x HTTP/1.1\r\n") and login in server.asked[0]
    assert server.asked[1].startswith(b"CONNECT model.example:443 HTTP/1.1\r\n") and login in server.asked[1]


@pytest.mark.parametrize(
    "request_text",
    [
        "CONNECT model.example:443 HTTP/1.1\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n",
        "GET http://model.example/ HTTP/1.1\r\nX: y\n\nGET http://evil.example/ HTTP/1.1\r\n\r\n",
        "GET http://model.example/ HTTP/1.1\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n",
        "POST http://model.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        "GET http://evil.example/ HTTP/1.1\r\n\r\n",
    ],
    ids=["second tunnel", "lone line ends", "second request", "chunks"],
)
def test_no_second_request_reaches_the_users_own_proxy(tmp_path: Path, boxes: list[Box], request_text: str) -> None:
    """If a proxy refuses a tunnel and keeps the connection, it never sees further data of the sandbox."""
    seen = b""
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        own = f"http://127.0.0.1:{upstream.getsockname()[1]}"
        hosts = Hosts(["model.example", "model.example:80"])
        boxes.append(box := Box(tmp_path / "log", hosts, HTTP_PROXY=own, HTTPS_PROXY=own))
        with socket.create_connection(box.listeners[0].getsockname(), 20) as client:
            client.sendall(request_text.encode())
            client.shutdown(socket.SHUT_WR)
            upstream.settimeout(2)
            with suppress(TimeoutError):
                connection, _ = upstream.accept()
                with connection:
                    connection.settimeout(2)
                    seen = connection.recv(1 << 16)
                    connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                    with suppress(TimeoutError, ConnectionError):
                        while piece := connection.recv(1 << 16):
                            seen += piece
    assert b"evil" not in seen


def test_the_log_is_limited(tmp_path: Path, boxes: list[Box]) -> None:
    """With any number of refused connections the log stays small, and later allowed ones still have a line."""
    boxes.append(box := Box(tmp_path / "log", Hosts(["127.0.0.1:9999"])))
    for _ in range(MOST_LINES + 20):
        box.ask("CONNECT example.org:443 HTTP/1.1\r\n\r\n")
    assert len(box.lines()) == MOST_LINES


def test_the_proxy_ends_with_its_supervisor(tmp_path: Path) -> None:
    """After it is closed no process and no connection is left."""
    box = Box(tmp_path / "log", Hosts([]))
    pid = box.proxy.pid
    box.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
