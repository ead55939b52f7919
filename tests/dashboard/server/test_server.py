"""The server: its port, its files, its shutdown, and malformed requests."""

from __future__ import annotations

import errno
import gzip
import inspect
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SOW, Repo, fresh_environment
from support.claim_holder import hold_claim
from support.journals import MadeUpRun
from support.ui_client import Dashboard

from sow.dashboard.data.dashboard_data import DashboardData
from sow.dashboard.server import assets, reply
from sow.dashboard.server.routes import ROUTES, Route
from sow.dashboard.server.server import Listener, Server, _bind
from sow.errors import SowError
from sow.store.files import checkout_home as homes

GET = "GET / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("server")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    with Dashboard(Repo(folder / "repo", fresh_environment(folder / "home"))) as served:
        yield served.sign_in()


def test_every_file_of_the_page_is_served(dashboard: Dashboard):
    """A packaged file is sent unchanged with its type, and compressed for a browser that accepts it."""
    names = sorted(assets.load())
    assert "index.html" in names
    for name in names:
        plain = dashboard.ask("GET", f"/assets/{name}")
        data = Path(assets.FOLDER, name).read_bytes()
        assert plain.body == data
        assert plain.headers["content-type"] == assets.KINDS[Path(name).suffix]
        packed = dashboard.ask("GET", f"/assets/{name}", None, {"Accept-Encoding": "br, gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == data
    assert dashboard.ask("GET", "/").body == Path(assets.FOLDER, "index.html").read_bytes()


def test_no_other_file_is_served(tmp_path: Path):
    """A file that belongs to no page is not served."""
    for name in ("a.js", "b.py", "c", "d.js.map", ".html"):
        (tmp_path / name).write_text("x")
    assert list(assets.load(str(tmp_path))) == ["a.js"]


def test_too_many_values_are_refused(dashboard: Dashboard):
    """An address with too many values is refused, and the server logs no error."""
    answer = dashboard.ask("GET", "/api/state?" + "&".join(f"a{number}=1" for number in range(30)))
    assert (answer.status, set(answer.json)) == (400, {"error", "hint"})
    assert dashboard.complaints() == ""


def test_an_unreadable_file_is_an_error_reply(repo: Repo):
    """An error of a file is a reply to the page, not a broken connection."""
    with Dashboard(repo) as server:
        server.sign_in()
        (repo.root / ".sow/local/runs").write_text("")
        answer = server.ask("GET", "/api/runs")
        assert answer.status == 500
        assert answer.json["error"] == f"cannot read {repo.root}/.sow/local/runs: Not a directory"
        assert "sow doctor" in answer.json["hint"]


def test_a_report_is_cached_until_a_change(repo: Repo):
    """The report and the timeline of a run stay until its journal, its tasks or its process change."""
    repo.ok("task", "create", "--name", "First")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    path = f"/api/runs/{journal.folder.id}"
    with Dashboard(repo) as server:
        server.sign_in()

        def rows() -> tuple[str, int]:
            status = server.ask("GET", path).json["tasks"][0]["status"]
            return status, len(server.ask("GET", f"{path}/timeline").json["spans"])

        assert (rows(), rows()) == (("pending", 0), ("pending", 0))
        repo.ok("task", "set", "--id", "010", "status", "in_progress")
        assert rows() == ("in_progress", 0)
        journal.work(1, 5, "010")
        assert rows()[1] > 0
        assert server.ask("GET", path).json["run"]["live"] is False
        with hold_claim(repo, "run", journal.folder.id):
            assert server.ask("GET", path).json["run"]["live"] is True


def test_an_unchanged_document_is_not_sent_again(dashboard: Dashboard):
    """A file or a document with the same tag is a 304 without a body, and the connection continues."""
    for path in ("/assets/index.html", "/api/runs"):
        first = dashboard.ask("GET", path)
        again = dashboard.ask("GET", path, None, {"If-None-Match": first.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert "content-length" not in again.headers


def test_a_long_document_is_compressed(dashboard: Dashboard):
    """A long document is sent as gzip to a browser that accepts it, with the same content."""
    for number in range(10):
        dashboard.repo.ok("task", "create", "--name", f"A task with a long name {number}")
    packed = dashboard.ask("GET", "/api/state", None, {"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(packed.body))["tasks"]) == 10


@pytest.mark.full
def test_an_act_is_a_command(repo: Repo):
    """An act on the page runs as a command in the person's name; a refusal has its reason."""
    repo.ok("task", "create", "--name", "Login")
    with Dashboard(repo) as served:
        served.sign_in()
        early = served.ask("POST", "/api/acts/approve", {"task": "010"})
        assert early.status in (409, 422), early
        assert set(early.json) == {"error", "hint"}
        for status in ("in_progress", "needs_review"):
            repo.ok("task", "set", "--id", "010", "status", status)
        done = served.ask("POST", "/api/acts/approve", {"task": "010"})
        assert (done.status, done.json["ok"]) == (200, True), done
        assert served.ask("POST", "/api/acts/explode", {}).status == 404
    task = repo.task("010")
    assert task["status"] == "completed"
    assert task["approval"]["by"] == "ada"


def test_the_server_imports_little_before_a_page():
    """Modules for pages are imported when a page asks for them."""
    code = "import sys, sow.cli.serve.ui, sow.dashboard.server.server; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert "sow.dashboard.server.handler" in loaded
    heavy = {"asyncio", "ctypes", "logging", "subprocess", "yaml", "yaml12", "webbrowser", "inspect", "sow.config"}
    heavy |= {
        "sow.dashboard.data.dashboard_data",
        "sow.dashboard.server.feed",
        "sow.system.process.socket_owner",
        "dataclasses",
        "typing",
    }
    assert loaded & heavy == set()


BAD = {
    "nonsense": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nothing but lines": b"\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "another version": b"GET / HTTP/2.0\r\n\r\n",
    "an old version": b"GET / HTTP/0.9\r\n\r\n",
    "too many words": b"GET / / HTTP/1.1\r\n\r\n",
    "a long line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    "a long header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nnonsense\r\nOrigin: http://evil.example\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    "two hosts, the good one last": b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n evil\r\n\r\n",
    "two lengths": b"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}",
    "pieces": b"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    "a GET with a body": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
    "an expectation": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    "a proxy's request": b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a NUL": b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "bytes that are no text": b"GET /api/tasks/\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_requests(dashboard: Dashboard, kind: str):
    """A bad request is refused with a reason, or closed; others are not affected, and the server logs no error."""
    with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
        line.sendall(BAD[kind])
        line.shutdown(socket.SHUT_WR)
        output = b"".join(iter(lambda: line.recv(1 << 16), b""))
    if output:
        head, _, body = output.partition(b"\r\n\r\n")
        assert head.split()[1][:1] == b"4" or head.split()[1] == b"505", output
        assert set(json.loads(body)) == {"error", "hint"}
        assert reply.POLICY.encode() in head
    assert dashboard.ask("GET", "/").status == 200
    assert "Traceback" not in dashboard.complaints()


BODIES = {
    "no JSON": (b"{", 400),
    "a list": (b"[]", 400),
    "a number": (b"1", 400),
    "deep": (b"[" * 100_000, 400),
    "not UTF-8": (b'{"token": "\xff"}', 400),
    "empty": (b"", 400),
    "too large": (b'{"token": "' + b"x" * (256 << 10) + b'"}', 413),
    "much too large": (b"x" * (8 << 20), 413),
    "as large as may be": (b'{"token": "' + b"x" * ((256 << 10) - 13) + b'"}', 401),
}


@pytest.mark.parametrize("kind", BODIES)
def test_bad_bodies(dashboard: Dashboard, kind: str):
    """A body that is no object, or too large, is refused with a reason, and the server continues."""
    body, status = BODIES[kind]
    with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
        head = {**dashboard.own_headers("POST"), "Content-Length": str(len(body))}
        lines = ["POST /api/session HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        sending = threading.Thread(target=_pour, args=(line, body))
        sending.start()
        output = line.recv(1 << 16)
        sending.join()
    assert output.split()[1] == str(status).encode(), output
    assert dashboard.ask("GET", "/").status == 200


def _pour(line: socket.socket, body: bytes) -> None:
    try:
        line.sendall(body)
    except OSError:  # the server closed the connection
        return


def test_pipelined_requests(dashboard: Dashboard):
    """Several requests that are sent at once are answered one after the other."""
    good = GET.format(host=dashboard.host, more="")
    bad = GET.format(host="evil.example", more="")
    last = GET.format(host=dashboard.host, more="Connection: close\r\n")
    with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
        line.sendall((good + bad + good + last).encode())
        output = b"".join(iter(lambda: line.recv(1 << 16), b""))
    index = Path(assets.FOLDER, "index.html").read_bytes()
    assert [part.split()[0] for part in output.split(b"HTTP/1.1 ")[1:]] == [b"200", b"403", b"200", b"200"]
    assert output.count(index) == 3


def test_a_body_is_never_a_request(dashboard: Dashboard):
    """Data after a refused request on its connection is not read as another request."""
    inner = GET.format(host=dashboard.host, more="").encode()
    head = f"POST /api/session HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {len(inner)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
        line.sendall(head + inner)
        output = b"".join(iter(lambda: line.recv(1 << 16), b""))
    assert output.startswith(b"HTTP/1.1 403 ")
    assert output.count(b"HTTP/1.1 ") == 1


@pytest.mark.full
def test_a_slow_request_is_closed(dashboard: Dashboard):
    """A request of single bytes does not hold a connection forever, and others are answered meanwhile."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
        try:
            while time.monotonic() - began < 40:
                line.sendall(b"G")
                line.settimeout(0.5)
                try:
                    if not line.recv(1):
                        break
                except TimeoutError:
                    assert dashboard.ask("GET", "/").status == 200
        except OSError:
            pass
    assert time.monotonic() - began < 35


@pytest.mark.full
def test_the_number_of_connections_is_limited(dashboard: Dashboard):
    """More connections than the limit are closed, and when they end there is room again."""
    lines = []
    for _ in range(230):
        lines.append(socket.create_connection(("127.0.0.1", dashboard.port), timeout=30))
    for line in lines:
        line.close()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            assert dashboard.ask("GET", "/").status == 200
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise AssertionError("there is no room any more")


def test_a_port_in_use(repo: Repo):
    """The next free port is used, and the output says so."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with Dashboard(repo, port=taken) as served:
            assert taken < served.port <= taken + 49
            assert f"port {taken} is in use, so this is port {served.port}" in served.end()


def test_the_last_port_is_used_again(repo: Repo):
    """Without --port a restarted server uses its last port, so that an open page finds it."""
    with Dashboard(repo) as first:
        first.end()
        process = subprocess.Popen([SOW, "ui", "--json"], cwd=repo.root, env=repo.environment, stdout=subprocess.PIPE)
        assert process.stdout
        data = json.loads(process.stdout.readline())
        process.terminate()
        assert process.wait(timeout=30) == 0
        process.stdout.close()
        assert data["port"] == first.port


def test_unavailable_ports():
    """A reserved port, and fifty ports in use, are errors with a hint."""
    tried = []

    def forbidden(port: int) -> Listener:
        raise PermissionError(errno.EACCES, "Permission denied")

    def taken(port: int) -> Listener:
        tried.append(port)
        raise OSError(errno.EADDRINUSE, "Address already in use")

    with pytest.raises(SowError, match="cannot listen on port 80: Permission denied"):
        _bind(80, forbidden)
    with pytest.raises(SowError, match="the ports 7690 to 7739 are all in use"):
        _bind(7690, taken)
    assert tried == list(range(7690, 7740))
    with pytest.raises(SowError, match="the ports 65530 to 65535 are all in use"):
        _bind(65530, taken)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_server(repo: Repo, number: int):
    """Ctrl-C and SIGTERM end the server at once with exit code 0, also with open pages."""
    with Dashboard(repo) as served:
        served.sign_in()
        feed = served.feed()
        assert feed.until("hello")
        served.process.send_signal(number)
        assert served.process.wait(timeout=30) == 0
        feed.close()
        assert "stopped" in served.end()
        assert not repo.sow("ui", "--port", "x").out


def test_a_server_in_a_thread(repo: Repo):
    """A program can serve from a thread, count its pages and stop it; then the port is free."""
    home = homes.find(option=str(repo.root), environment={}, cwd="/")
    server = Server(home, repo.environment, person="ada", port=0)
    server.start()
    try:
        assert server.address == f"http://127.0.0.1:{server.port}/#token={server.access.token}"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(GET.format(host="localhost", more="").encode())
            assert line.recv(100).startswith(b"HTTP/1.1 200 ")
        assert server.pages == 0
    finally:
        server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


def test_open_starts_the_browser(repo: Repo, tmp_path: Path):
    """--open gives the address to the browser that BROWSER names, once the server answers."""
    got = tmp_path / "got"
    browser = tmp_path / "browser"
    browser.write_text(f'#!{sys.executable}\nimport sys\nopen("{got}", "w").write(sys.argv[1] + "\\n")\n')
    browser.chmod(0o755)
    with Dashboard(repo, "--open", BROWSER=str(browser)) as served:
        end = time.monotonic() + 60
        while not (got.exists() and got.read_text().endswith("\n")):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert got.read_text().strip() == served.said["url"]


def test_open_without_a_browser(repo: Repo):
    """If no browser can be opened, the output says so, with the address."""
    with Dashboard(repo, "--open", PATH="/nowhere", DISPLAY="", WAYLAND_DISPLAY="", BROWSER="") as served:
        end = time.monotonic() + 60
        while "no browser could be opened" not in served.complaints():
            assert time.monotonic() < end
            time.sleep(0.02)
        assert served.ask("GET", "/").status == 200


def test_without_a_project(bare_repo: Repo):
    """Without .sow the hint is `sow init`; with it, a page can be shown before any project."""
    result = bare_repo.sow("ui")
    assert result.code == 2
    assert "sow init" in result.err
    bare_repo.ok("init")
    with Dashboard(bare_repo) as served:
        state = served.sign_in().ask("GET", "/api/state")
        assert state.status == 200
        assert state.json["project"] is None


def test_a_deleted_checkout(repo: Repo):
    """If the checkout is deleted, the dashboard says so and continues."""
    with Dashboard(repo) as served:
        served.sign_in()
        os.rename(repo.root, f"{repo.root}-gone")
        answer = served.ask("GET", "/api/state")
        assert answer.status != 500 or "itself failed" not in answer.json["error"], answer
        assert served.ask("GET", "/").status == 200
        assert "Traceback" not in served.complaints()
        os.rename(f"{repo.root}-gone", repo.root)
        assert served.ask("GET", "/api/state").status == 200


@pytest.mark.parametrize("route", [route for route in ROUTES if route.view], ids=lambda route: route.path)
def test_every_address_has_its_view(route: Route):
    """A route names a method of the data, and one value for each of its parameters."""
    for name in filter(None, (route.view, route.mark)):
        assert len(inspect.signature(getattr(DashboardData, name)).parameters) == 1 + len(route.values)
    assert {part[1:-1] for part in route.parts if part[:1] == "{"} <= set(route.values)
