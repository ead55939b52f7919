"""S7: only the user can use the dashboard: host, origin, cookie, process and method are checked for every route."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo, fresh_environment
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, script
from support.ui_client import Answer, Dashboard

from sow.dashboard.server import reply
from sow.dashboard.server.access import Access
from sow.dashboard.server.routes import ACTOR, OPEN, ROUTES, TOKEN, VIEWER, Route

# What a person may ask without a cookie: none of it has a fact of the project in it.
WITHOUT_COOKIE = {"GET /", "GET /assets/{name}", "POST /api/session"}
VALUES = {"{id}": "010", "{session}": "1", "{turn}": "1", "{number}": "1", "{run}": "none", "{name}": "approve"}
HOSTS = {
    "127.0.0.1:{port}": True,
    "localhost:{port}": True,
    "LOCALHOST:9999": True,  # the other end of a tunnel has a port of its own
    "[::1]:{port}": True,
    "127.0.0.1": True,
    "[::1]": True,
    "": False,
    None: False,
    "evil.example": False,
    "evil.example:{port}": False,
    "127.0.0.1.evil.example:{port}": False,
    "localhost.evil.example": False,
    "evil.example#127.0.0.1": False,
    "127.0.0.1@evil.example": False,
    "0.0.0.0:{port}": False,
    "127.0.0.2:{port}": False,
    "2130706433:{port}": False,
    "[::ffff:127.0.0.1]:{port}": False,
    "127.0.0.1:": False,
    "127.0.0.1:80:80": False,
    "127.0.0.1:eighty": False,
}
ORIGINS = {
    "http://127.0.0.1:{port}": True,
    "null": False,
    "": False,
    "http://evil.example": False,
    "https://127.0.0.1:{port}": False,
    "http://127.0.0.1": False,
    "http://127.0.0.1:1": False,
    "http://localhost:{port}": False,
    "http://127.0.0.1:{port}/": False,
    "http://127.0.0.1:{port}.evil.example": False,
    "file://": False,
}
SITES = {"same-origin": True, "same-site": False, "cross-site": False, "none": False, "odd": False}
routes = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Repo:
    """A project with a task that waits for approval and one with a question."""
    folder = tmp_path_factory.mktemp("dashboard")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    for task, statuses in {"010": ("in_progress", "needs_review"), "020": ("in_progress", "paused")}.items():
        repo.ok("task", "create", "--name", f"Task {task}", "--agent", "implementer")
        for status in statuses:
            repo.ok("task", "set", "--id", task, "status", status)
    return repo


@pytest.fixture(scope="module")
def dashboard(crowd: Repo) -> Iterator[Dashboard]:
    with Dashboard(crowd) as served:
        yield served.sign_in()


def path_of(route: Route) -> str:
    """Returns an address of this route with existing names."""
    if route.path == "/assets/{name}":
        return "/assets/index.html"
    return "/".join(VALUES.get(part, part) for part in route.path.split("/"))


def tree(*folders: Path) -> dict[str, str]:
    """Returns every file and folder below, with content and times."""
    result = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            facts = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            result[str(path)] = f"{facts.st_mode} {facts.st_mtime_ns} {content}"
    return result


def state_of(repo: Repo) -> dict[str, str]:
    return tree(repo.root / ".sow", repo.root / ".git", Path(repo.environment["HOME"]))


def send(dashboard: Dashboard, route: Route, headers: dict[str, str | None], body: Any = None) -> Answer:
    """Sends a request to this route; a feed is closed at once."""
    body = {} if route.method == "POST" and body is None else body
    if route.path == "/api/feed" and not is_refused(dashboard, headers):
        feed = dashboard.feed(**{n.replace("-", "_"): v for n, v in headers.items() if v is not None})
        feed.close()
        return Answer(feed.status, list(feed.headers.items()), b"{}")
    return dashboard.ask(route.method, path_of(route), body, headers)


def is_refused(dashboard: Dashboard, headers: dict[str, str | None]) -> bool:
    return dashboard.ask("GET", "/api/state", None, headers).status in (400, 401, 403)


def refused(answer: Answer, status: int) -> None:
    """Checks that the reply has an error, a hint and every header, and nothing of the project."""
    assert answer.status == status, answer
    assert set(answer.json) == {"error", "hint"}
    assert "Task 010" not in answer.body.decode()
    assert "set-cookie" not in answer.headers


def let_in(answer: Answer) -> None:
    """Checks that the guard accepted the request, whatever the data are."""
    assert answer.status not in (400, 403, 405, 500), answer
    assert answer.status != 401 or "token" in answer.json["error"], answer


@routes
def test_every_route_has_its_guard(dashboard: Dashboard, route: Route):
    """Without a cookie only the page's own files and the exchange of the token are answered."""
    name = f"{route.method} {route.path}"
    assert route.guard == (OPEN if route.method == "GET" else TOKEN) or name not in WITHOUT_COOKIE
    assert route.guard in ((VIEWER,) if route.method == "GET" else (ACTOR,)) or name in WITHOUT_COOKIE
    for cookie in (None, "", "sow=1"):
        answer = send(dashboard, route, {"Cookie": cookie})
        if name in WITHOUT_COOKIE:
            let_in(answer)
        else:
            refused(answer, 401)


def test_a_route_needs_a_guard():
    """A route without a guard is an error when the table is read."""
    for guard in ("", "anybody"):
        with pytest.raises(ValueError, match="has no guard"):
            Route("GET", "/api/new", guard)


@routes
def test_only_local_hosts_are_accepted(dashboard: Dashboard, route: Route):
    """Every other host is refused before any data are read."""
    before = state_of(dashboard.repo)
    for host, good in HOSTS.items():
        shown = host and host.format(port=dashboard.port)
        headers: dict[str, str | None] = {"Host": shown}
        if route.method == "POST":
            headers["Origin"] = f"http://{shown}"
        answer = send(dashboard, route, headers)
        let_in(answer) if good else refused(answer, 403)
    assert state_of(dashboard.repo) == before


@routes
def test_foreign_origins_are_refused(dashboard: Dashboard, route: Route):
    """A request with another origin is refused, also with a valid cookie."""
    before = state_of(dashboard.repo)
    for origin, good in ORIGINS.items():
        answer = send(dashboard, route, {"Origin": origin.format(port=dashboard.port)})
        let_in(answer) if good else refused(answer, 403)
    answer = send(dashboard, route, {"Origin": None})
    refused(answer, 403) if route.method == "POST" else let_in(answer)
    assert state_of(dashboard.repo) == before


@routes
def test_cross_site_requests_are_refused(dashboard: Dashboard, route: Route):
    """A request for another site is refused; the page itself, which has no data, can be opened by a link."""
    visit = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for site, good in SITES.items():
        plain = good or (route.path == "/" and site == "none")
        answer = send(dashboard, route, {"Sec-Fetch-Site": site})
        let_in(answer) if plain else refused(answer, 403)
        answer = send(dashboard, route, {"Sec-Fetch-Site": site, **visit})
        let_in(answer) if good or route.path == "/" else refused(answer, 403)
        framed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
        answer = send(dashboard, route, framed)
        let_in(answer) if plain else refused(answer, 403)


def cookies(dashboard: Dashboard, other: Access) -> dict[str, str]:
    """Returns invalid and expired cookies."""
    name, _, value = dashboard.cookie.partition("=")
    until, _, signature = value.partition(".")
    signed = other.cookie().partition(";")[0].partition("=")[2]
    return {
        "of another key": f"{name}={signed}",
        "of another checkout": other.cookie().partition(";")[0],
        "with a longer life": f"{name}={int(until) + 1}.{signature}",
        "with another signature": f"{name}={until}.{signature[:-1]}{'0' if signature[-1] != '0' else '1'}",
        "without a signature": f"{name}={until}",
        "with an empty signature": f"{name}={until}.",
        "with another name": f"sow_00000000={value}",
        "with a part of its name": f"x{name}={value}",
        "of a token": f"{name}={dashboard.secrets()['token']}",
        "of odd digits": f"{name}=\u00b2.{signature}",
        "of a long number": f"{name}={'9' * 5000}.{signature}",
        "empty": f"{name}=",
    }


@routes
def test_foreign_cookies_are_refused(dashboard: Dashboard, tmp_path: Path, route: Route):
    """A cookie that this server did not sign is refused."""
    if f"{route.method} {route.path}" in WITHOUT_COOKIE:
        assert route.guard in (OPEN, TOKEN)
        return
    other = Access({"HOME": str(tmp_path)}, str(tmp_path), read_only=False)
    for name, cookie in cookies(dashboard, other).items():
        answer = send(dashboard, route, {"Cookie": cookie})
        assert answer.status == 401, name
    let_in(send(dashboard, route, {"Cookie": f"a=b; {dashboard.cookie}; c=d"}))


FORMS = {
    "no mark": {"X-Sow": None},
    "another mark": {"X-Sow": "2"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "a file": {"Content-Type": "multipart/form-data; boundary=x"},
    "a text": {"Content-Type": "text/plain"},
    "no type": {"Content-Type": None},
}


@pytest.mark.parametrize("form", FORMS)
@routes
def test_foreign_forms(dashboard: Dashboard, route: Route, form: str):
    """A POST that another page's form could send is refused, and changes nothing."""
    before = state_of(dashboard.repo)
    if route.method == "POST":
        answer = dashboard.ask(
            "POST", path_of(route), {"task": "010", "token": dashboard.secrets()["token"]}, FORMS[form]
        )
        assert answer.status in (400, 403), answer
        assert set(answer.json) == {"error", "hint"}
    assert state_of(dashboard.repo) == before


@routes
def test_a_get_changes_nothing(dashboard: Dashboard, route: Route):
    """A GET or HEAD of any address changes no file of the project, of git or of the user."""
    before = state_of(dashboard.repo)
    for method in ("GET", "HEAD"):
        for path in (path_of(route), f"{path_of(route)}?token={dashboard.secrets()['token']}&text=yes&task=010"):
            if route.path == "/api/feed" and method == "GET":
                feed = dashboard.feed()
                assert feed.next()
                feed.close()
            else:
                dashboard.ask(method, path)
    assert state_of(dashboard.repo) == before


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW", "get"])
@routes
def test_other_methods_are_refused(dashboard: Dashboard, route: Route, method: str):
    """A method that a route does not have is refused; HEAD is GET without a body; CORS allows no foreign page."""
    before = state_of(dashboard.repo)
    answer = dashboard.ask(method, path_of(route))
    assert not any(name.startswith("access-control") for name in answer.headers)
    if method == "HEAD" and route.method == "GET" and route.path != "/api/feed":
        assert answer.status not in (403, 405, 500)
        assert answer.body == b""
        whole = dashboard.ask("GET", path_of(route))
        assert answer.headers["content-type"] == whole.headers["content-type"]
    else:
        assert answer.status == 405, answer
        assert route.method in answer.headers["allow"]
    assert state_of(dashboard.repo) == before


@routes
def test_security_headers(dashboard: Dashboard, route: Route):
    """Every reply forbids foreign scripts, frames, type guessing, and referrers."""
    answers = [
        send(dashboard, route, {}),
        send(dashboard, route, {"Cookie": ""}),
        send(dashboard, route, {"Host": "x"}),
    ]
    answers += [dashboard.ask("BREW", path_of(route)), dashboard.ask("GET", f"{path_of(route)}/none")]
    for answer in answers:
        for name, value in reply.ALWAYS:
            assert answer.headers[name.lower()] == value, answer
        stored = "no-cache" if answer.status in (200, 304) and route.guard == OPEN else "no-store"
        assert answer.headers["cache-control"] == stored


def test_the_policy_allows_no_foreign_content(dashboard: Dashboard):
    """No foreign script, style, frame, form or connection is allowed, and no inline script."""
    policy = dict(part.strip().partition(" ")[::2] for part in reply.POLICY.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in reply.POLICY


def test_an_unknown_address_is_refused_after_its_host(dashboard: Dashboard):
    """An unknown address has its host checked like any other, and then it is a 404."""
    for path in (
        "/api",
        "/api/none",
        "/favicon.ico",
        "/api//state",
        "/assets/",
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
    ):
        refused(dashboard.ask("GET", path, None, {"Host": "evil.example"}), 403)
        refused(dashboard.ask("GET", path), 404)


def test_the_server_listens_on_loopback_only(dashboard: Dashboard):
    """The port is open at 127.0.0.1, and at no other address of this machine."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    port = f":{dashboard.port:04X}"
    assert [row[1] for row in rows if row[1].endswith(port) and row[3] == "0A"] == [f"0100007F{port}"]
    for address in other_addresses():
        with pytest.raises(OSError), socket.create_connection((address, dashboard.port), timeout=5):
            pass


def other_addresses() -> set[str]:
    """Returns the other addresses of this machine."""
    result = {"127.0.0.2"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # nothing is sent: the system only says where it would go out
            result.add(asking.getsockname()[0])
        except OSError:
            pass
    return result - {"127.0.0.1"}


TOKENS = {
    "wrong": lambda token: "0" * len(token),
    "shorter": lambda token: token[:-1],
    "longer": lambda token: token + "0",
    "empty": lambda token: "",
    "other letters": lambda token: token.upper() + "é",
    "a number": lambda token: 1,
    "nothing": lambda token: None,
    "a list": lambda token: [token],
    "true": lambda token: True,
}


@pytest.mark.parametrize("kind", TOKENS)
def test_wrong_tokens_are_refused(dashboard: Dashboard, kind: str):
    """A wrong token gives no cookie, and the right one stays valid."""
    token = dashboard.secrets()["token"]
    refused(dashboard.ask("POST", "/api/session", {"token": TOKENS[kind](token)}), 401)
    assert dashboard.secrets()["token"] == token


def test_a_token_works_once(dashboard: Dashboard):
    """After its use the token is invalid, and another one is in the private file."""
    first = dashboard.secrets()["token"]
    answer = dashboard.ask("POST", "/api/session", {"token": first}, {"Cookie": None})
    assert answer.status == 204
    cookie = answer.headers["set-cookie"]
    assert all(f"; {word}" in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert "Domain" not in cookie
    assert first not in cookie
    refused(dashboard.ask("POST", "/api/session", {"token": first}), 401)
    assert dashboard.secrets()["token"] != first
    assert dashboard.file.stat().st_mode & 0o777 == 0o600
    assert dashboard.file.parent.stat().st_mode & 0o777 == 0o700


def test_a_page_address_has_no_secret(dashboard: Dashboard):
    """No reply and no line on stderr has the token or the key."""
    secrets = dashboard.secrets()["token"], dashboard.secrets()["key"]
    for route in ROUTES:
        if route.method == "GET" and route.path != "/api/feed":
            answer = dashboard.ask("GET", path_of(route))
            assert not any(secret.encode() in answer.body or secret in str(answer.headers) for secret in secrets)


AGENT = """
import encodings.idna, http.client, json, os, sys
if len(sys.argv) > 6:
    os.setuid(int(sys.argv[6]))
port, token, act = int(sys.argv[1]), sys.argv[2], sys.argv[3]
headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json", "X-Sow": "1"}
headers |= {"Cookie": sys.argv[4], "Host": f"127.0.0.1:{port}"}
line = http.client.HTTPConnection(sys.argv[5], port, timeout=30)
path = "/api/acts/approve" if act == "act" else "/api/session"
line.request("POST", path, json.dumps({"task": "010", "token": token}), headers)
answer = line.getresponse()
print(answer.status, answer.read().decode())
"""
MARKS = {"SOW_TASK": "020", "SOW_AGENT": "implementer"}
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "openly": ([], MARKS),
    "without its marks": (["env", "-u", "SOW_TASK", "-u", "SOW_AGENT"], MARKS),
    "two shells down": (["env", "-i", "sh", "-c", '"$@"; exit $?', "sh"], MARKS),
    "by another address": (["env", "-u", "SOW_TASK", "-u", "SOW_AGENT"], MARKS),
    "as the orchestrator": ([], {"SOW_AGENT": "orchestrator"}),
    "below the orchestrator": (["env", "-u", "SOW_AGENT"], {"SOW_AGENT": "orchestrator"}),
}


def program(dashboard: Dashboard, act: str, address: str = "127.0.0.1") -> list[str]:
    """Returns a program that has read the token and has a valid cookie."""
    kept = dashboard.secrets()
    return [sys.executable, "-c", AGENT, str(kept["port"]), kept["token"], act, dashboard.cookie, address]


def as_agent(dashboard: Dashboard, act: str, way: str) -> str:
    """Returns the reply that an agent gets."""
    prefix, marks = WAYS[way]
    arguments = program(dashboard, act, "::ffff:127.0.0.1" if way == "by another address" else "127.0.0.1")
    result = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", *prefix, *arguments],
        env={**dashboard.repo.environment, **marks},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("act", ["act", "session"])
@few_of("way", WAYS, 6)
def test_an_agent_with_the_token_cannot_act(dashboard: Dashboard, way: str, act: str):
    """A process with a mark of sow, or below one, gets neither an act nor a cookie, whatever it sends."""
    before = state_of(dashboard.repo)
    output = as_agent(dashboard, act, way)
    assert output.startswith("403 "), output
    assert "an agent sent it" in output
    assert state_of(dashboard.repo) == before


SCRIPT = """
import http.client, json, sys
from pathlib import Path
out = Path(sys.argv[1])
kept = json.loads(next((Path(sys.argv[2]) / ".config/sow/ui").glob("*.json")).read_text())
port = kept["port"]
head = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json", "X-Sow": "1", "Cookie": sys.argv[3]}
found = []
for path, body in (("/api/session", {"token": kept["token"]}), ("/api/acts/approve", {"task": "010"})):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request("POST", path, json.dumps(body), head)
    answer = line.getresponse()
    found.append([answer.status, json.loads(answer.read() or b"{}")])
    line.close()
out.write_text(json.dumps(found))
"""


def test_a_worker_of_a_run_cannot_act(repo: Repo, tmp_path: Path):
    """A supervised worker that removes its marks, leaves its process tree and reads the token file is still refused."""
    worker = WorkerRepo(repo, tmp_path)
    repo.ok("task", "create", "--name", "Login", "--agent", "implementer")
    (tmp_path / "act.py").write_text(SCRIPT)
    with Dashboard(repo) as served:
        served.sign_in()
        text = f"{sys.executable} {tmp_path}/act.py {tmp_path}/said {repo.environment['HOME']} '{served.cookie}'"
        script(
            worker,
            f"#!/bin/sh\nsetsid env -i {text} &\nwhile [ ! -s {tmp_path}/said ]; do sleep 0.05; done\n",
            allow_empty=True,
        )
        turn = worker.spawn("--executor", "script")
        assert turn.code == 0, turn
        data = json.loads((tmp_path / "said").read_text())
    assert [status for status, _ in data] == [403, 403], data
    assert repo.task("010")["status"] != "completed"


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_the_same_program_of_a_person_is_accepted(dashboard: Dashboard, address: str):
    """Without marks the guard accepts the same program, so the refusal was about the agent."""
    text = program(dashboard, "session", address)
    result = subprocess.run(text, env=dashboard.repo.environment, capture_output=True, text=True, timeout=60)
    assert result.stdout.startswith("204"), result


def test_another_user_is_refused(dashboard: Dashboard):
    """A process of another user is refused with the right token."""
    other = ["65534"] if os.geteuid() == 0 else []
    text = [*program(dashboard, "session"), *other]
    result = subprocess.run(text, env=dashboard.repo.environment, capture_output=True, text=True, timeout=60)
    assert result.stdout.startswith("403" if other else "204"), result
    assert not other or "another user of this machine" in result.stdout


def test_a_closed_connection_is_not_obeyed(dashboard: Dashboard):
    """A request whose sender is gone before it can be identified does nothing."""
    before = state_of(dashboard.repo)
    body = b'{"task": "010"}'
    head = {**dashboard.own_headers("POST"), "Content-Length": str(len(body))}
    lines = ["POST /api/acts/approve HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    dashboard.process.send_signal(signal.SIGSTOP)  # it must not be quicker than we are
    try:
        with socket.create_connection(("127.0.0.1", dashboard.port), timeout=30) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    finally:
        dashboard.process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    assert state_of(dashboard.repo) == before
    assert dashboard.ask("GET", "/").status == 200


@routes
def test_read_only(crowd: Repo, route: Route, looking: Dashboard):
    """With --read-only all data are shown, and every act is refused."""
    before = state_of(crowd)
    answer = send(looking, route, {}, {"task": "010"} if route.guard == ACTOR else None)
    if route.guard == ACTOR:
        refused(answer, 403)
        assert "looking only" in answer.json["error"]
    else:
        let_in(answer)
    assert state_of(crowd) == before


@pytest.fixture(scope="module")
def looking(crowd: Repo) -> Iterator[Dashboard]:
    with Dashboard(crowd, "--read-only") as served:
        yield served.sign_in()


def test_a_read_only_cookie_allows_no_act(dashboard: Dashboard, looking: Dashboard):
    """The two dashboards of one checkout do not accept each other's cookies, under any name."""
    for one, other in ((dashboard, looking), (looking, dashboard)):
        assert other.ask("GET", "/api/state", None, {"Cookie": one.cookie}).status == 401
        name, value = other.cookie.partition("=")[0], one.cookie.partition("=")[2]
        assert other.ask("GET", "/api/state", None, {"Cookie": f"{name}={value}"}).status == 401


def test_a_workers_dashboard_is_read_only(repo: Repo):
    """A dashboard that a worker starts refuses every act."""
    with Dashboard(repo, **MARKS) as served:
        assert served.said["read_only"] is True
        assert "this dashboard is read-only" in served.end()


def test_the_user_of_a_connection_is_found(dashboard: Dashboard):
    """The peer's user is read from the tables of the system, for both forms of an address."""
    from sow.system.process import socket_owner

    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        with socket.socket(family) as line:
            line.connect((address, dashboard.port))
            port = line.getsockname()[1]
            row = socket_owner._find_connection(("127.0.0.1", port), ("127.0.0.1", dashboard.port))
            assert row
            assert row[0] == os.getuid()
            assert os.getpid() in socket_owner._holders(row[1], row[0])
        assert socket_owner._find_connection(("127.0.0.1", port), ("127.0.0.1", dashboard.port)) is None
