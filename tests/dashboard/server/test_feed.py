"""The feed: events are sent at once and once, resume after a break, and do not wait for a slow page."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import Repo
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.ui_client import Dashboard, Feed

from sow.dashboard.server import feed
from sow.dashboard.server.server import MOST_FEEDS, Server
from sow.store.files import checkout_home as homes


@pytest.fixture
def dashboard(repo: Repo) -> Iterator[Dashboard]:
    repo.ok("task", "create", "--name", "Login", "--agent", "implementer")
    repo.ok("task", "create", "--name", "Logout", "--agent", "implementer")
    with Dashboard(repo) as served:
        yield served.sign_in()


@contextmanager
def listening(dashboard: Dashboard, after: str = "", **headers: str) -> Iterator[Feed]:
    page = dashboard.feed(after, **headers)
    try:
        assert page.status == 200
        yield page
    finally:
        page.close()


def priorities(page: Feed, count: int) -> list[tuple[str, str]]:
    """Returns the id and priority of the next rows in the feed."""
    rows = [json.loads(page.until("task")["data"]) for _ in range(count)]
    return [(row["id"], row["priority"]) for row in rows]


def test_a_change_is_sent(dashboard: Dashboard):
    """A page gets a greeting, and then any command's change, with an id for a reconnect."""
    with listening(dashboard) as page:
        assert page.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert page.headers["Cache-Control"] == "no-store"
        assert page.next() == {"retry": "1000"}
        hello = page.next()
        assert hello["event"] == "hello"
        assert json.loads(hello["data"])["cursor"] == hello["id"]
        dashboard.repo.ok("task", "set", "--id", "010", "priority", "high")
        messages = page.until("task")
        assert json.loads(messages["data"])["id"] == "010"
        assert json.loads(messages["data"])["priority"] == "high"
        assert messages["id"] != hello["id"]


@few_of("way", ["Last-Event-ID", "after"], 1)
def test_a_disconnected_page_continues(dashboard: Dashboard, way: str):
    """A page that returns with its last id gets what it missed, in order, and nothing else."""
    repo = dashboard.repo
    with listening(dashboard) as page:
        page.until("hello")
        repo.ok("task", "set", "--id", "010", "priority", "high")
        last = page.until("task")["id"]
    repo.ok("task", "set", "--id", "020", "priority", "low")
    with listening(dashboard) as other:  # somebody else looks meanwhile
        other.until("hello")
        repo.ok("task", "set", "--id", "010", "priority", "low")
        other.until("task")
    headers = {"Last_Event_ID": last} if way == "Last-Event-ID" else {}
    with listening(dashboard, last if way == "after" else "", **headers) as page:
        assert json.loads(page.until("hello")["data"])["restarted"] is False
        assert sorted(priorities(page, 2)) == [("010", "low"), ("020", "low")]


def test_the_header_beats_the_address(dashboard: Dashboard):
    """A browser that reconnects has a newer id in its header than in its address."""
    with listening(dashboard) as page:
        first = page.until("hello")["id"]
        dashboard.repo.ok("task", "set", "--id", "010", "priority", "high")
        last = page.until("task")["id"]
    with listening(dashboard, first, Last_Event_ID=last) as page:
        page.until("hello")
        dashboard.repo.ok("task", "set", "--id", "020", "priority", "low")
        assert priorities(page, 1) == [("020", "low")]


def test_no_event_is_lost_before_the_feed(dashboard: Dashboard):
    """A change between the fetch of the state and the start of the feed is sent by the feed."""
    cursor = dashboard.ask("GET", "/api/state").json["cursor"]
    dashboard.repo.ok("task", "set", "--id", "010", "priority", "high")
    with listening(dashboard, cursor) as page:
        page.until("hello")
        assert priorities(page, 1) == [("010", "high")]


def test_a_restarted_server_continues(dashboard: Dashboard):
    """A page of a killed server continues with the next one, and is told to reload."""
    repo = dashboard.repo
    with listening(dashboard) as page:
        last = page.until("hello")["id"]
        dashboard.kill()
        with pytest.raises(AssertionError, match="the feed has ended"):
            page.until("task")
    repo.ok("task", "set", "--id", "010", "priority", "high")
    with Dashboard(repo, port=dashboard.port) as second:
        second.cookie = dashboard.cookie
        with listening(second, Last_Event_ID=last) as page:
            assert json.loads(page.until("hello")["data"])["restarted"] is True
            assert page.until("stale")
            repo.ok("task", "set", "--id", "020", "priority", "low")
            assert priorities(page, 1) == [("020", "low")]


ODD = [
    "0",
    "x",
    "a.b.c.d",
    "....",
    "-1.-1.-1.x",
    "%00",
    "\xff",
    "9" * 15 + "." + "9" * 15,
    "x" * 5000,
    "a.1.1.../..",
    "٣",
]


@few_of("cursor", ODD, 1, ids=range(len(ODD)))
def test_an_unknown_id_starts_anew(dashboard: Dashboard, cursor: str):
    """An unknown id is no error: the page starts from the beginning."""
    sent = cursor.encode("latin-1", "replace").decode("latin-1")
    with listening(dashboard, Last_Event_ID=sent) as page:
        page.until("hello")
        dashboard.repo.ok("task", "set", "--id", "010", "priority", "high")
        assert priorities(page, 1) == [("010", "high")]
    assert "Traceback" not in dashboard.complaints()


def test_many_pages_get_the_same(dashboard: Dashboard):
    """Ten pages get the same events with the same ids."""
    pages = [dashboard.feed() for _ in range(10)]
    try:
        for page in pages:
            page.until("hello")
        dashboard.repo.ok("task", "set", "--id", "010", "priority", "high")
        messages = [page.until("task") for page in pages]
        assert all(message == messages[0] for message in messages)
    finally:
        for page in pages:
            page.close()


@pytest.mark.full
def test_a_run_that_is_removed_while_it_is_watched(plan_repo: PlanRepo):
    """If the folder of a run is deleted, a listening page is told to reload, and gets the next run."""
    repo = plan_repo.repo
    plan_repo.plan("Keel", "Mast < 1")
    assert plan_repo.run().code == 0
    with Dashboard(repo) as served:
        run = served.sign_in().ask("GET", "/api/state").json["run"]["id"]
        with listening(served) as page:
            page.until("hello")
            shutil.rmtree(repo.root / ".sow/local/runs" / run)
            page.until("stale")
            assert served.ask("GET", f"/api/runs/{run}").status == 404
            assert served.ask("GET", f"/api/runs/{run}/timeline").status == 404
            assert served.ask("GET", "/api/state").json["run"] is None
            repo.ok("task", "create", "--name", "After")
            assert page.next()
        assert "Traceback" not in served.complaints()


@pytest.mark.full
def test_a_torn_journal_line_is_sent_once(plan_repo: PlanRepo):
    """A partial last line is sent when the rest is written, and once."""
    repo = plan_repo.repo
    plan_repo.plan("Keel", "Mast < 1")
    assert plan_repo.run().code == 0
    journal = next((repo.root / ".sow/local/runs").glob("*/journal.jsonl"))
    line = {**json.loads(journal.read_text().splitlines()[-1]), "text": "once more"}
    data = json.dumps(line).encode() + b"\n"
    with Dashboard(repo) as served, listening(served.sign_in()) as page:
        page.until("hello")
        with journal.open("ab", buffering=0) as file:
            file.write(data[:20])
            time.sleep(0.5)
            file.write(data[20:])
        assert json.loads(page.until("line")["data"])["event"] == line["event"]
        assert "Traceback" not in served.complaints()


class Source:
    """A source whose events are always available."""

    def __init__(self, *events: Any) -> None:
        self.events = list(events)

    def next(self, seconds: float) -> list[Any]:
        if not self.events:
            time.sleep(0.01)
        return self.events


def served(source: Source, stopping: threading.Event, **limits: float) -> tuple[socket.socket, threading.Thread]:
    """Returns a page's end of a connection, and the thread that sends to it."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        try:
            feed.serve(ours, source, stopping, **limits)  # type: ignore[arg-type]
        except OSError:
            pass
        finally:
            ours.close()

    thread = threading.Thread(target=send)
    thread.start()
    theirs.settimeout(30)
    return theirs, thread


def test_a_page_that_reads_nothing_is_closed():
    """A page that does not read loses its connection after a while; no data piles up."""
    page, thread = served(Source(("1", "line", {"text": "x" * 100_000})), threading.Event(), patience=0.5)
    thread.join(30)
    assert not thread.is_alive()
    page.close()


def test_a_quiet_feed_sends_heartbeats():
    """Without events a comment is sent regularly, so that both ends notice a lost connection."""
    stopping = threading.Event()
    page, thread = served(Source(), stopping, beat=0.1)
    output = b""
    while output.count(b": still here\n\n") < 3:
        output += page.recv(1 << 16)
    stopping.set()
    thread.join(30)
    assert not thread.is_alive()
    assert b"event: " not in output
    page.close()


def test_a_closed_page_is_noticed():
    """The thread of a page that closed its end stops, also without events."""
    page, thread = served(Source(), threading.Event(), beat=1000)
    page.close()
    thread.join(30)
    assert not thread.is_alive()


def wait(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_number_of_pages_is_limited(repo: Repo):
    """The server counts its pages, has a limit, and has room again when they leave."""
    server = Server(homes.find(option=str(repo.root), environment={}, cwd="/"), repo.environment, person="ada", port=0)
    server.start()
    request = f"GET /api/feed HTTP/1.1\r\nHost: localhost\r\nCookie: {server.access.cookie().partition(';')[0]}\r\n\r\n"

    def come() -> tuple[socket.socket, bytes]:
        line = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        line.sendall(request.encode())
        return line, line.recv(1 << 16)

    try:
        pages = [come() for _ in range(MOST_FEEDS)]
        assert all(said.startswith(b"HTTP/1.1 200 ") for _, said in pages)
        assert server.pages == MOST_FEEDS
        late, output = come()
        assert output.startswith(b"HTTP/1.1 503 ")
        assert server.pages == MOST_FEEDS
        for line in (late, *(page for page, _ in pages)):
            line.close()
        wait(lambda: server.pages == 0)
        again, output = come()
        assert output.startswith(b"HTTP/1.1 200 ")
        again.close()
    finally:
        server.stop()
