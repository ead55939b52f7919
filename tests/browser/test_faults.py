"""Faults while a page is open: the server dies, the run is deleted, a line is torn, a file is broken."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.failing_checkout_view import FailingView
from support.journals import home_of

from browser.dashboard import free_port
from browser.paused_run import Gated, card
from browser.shop_run import ShopRun
from browser.tabs import Tabs
from sow.dashboard.server.server import Server
from sow.reports.next_steps import ANY_FOLDER

GONE = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONNECTION_RESET")
GONE += ("net::ERR_EMPTY_RESPONSE", "net::ERR_ABORTED")


@pytest.fixture
def gated(plan_repo: Any) -> Gated:
    return Gated(plan_repo)


@pytest.fixture
def stumbling(task_repo: Repo) -> Iterator[tuple[FailingView, str]]:
    """Returns the address of a server in this process whose reads a test can make fail."""
    home = home_of(task_repo)
    server = Server(home, task_repo.environment, person="ada", port=free_port())
    picture = server.listener.facts.watch.view = FailingView(home, ANY_FOLDER)
    server.start()
    yield picture, server.address
    server.stop()


def newest_run(root: Path) -> Path:
    return max((root / ".sow/local/runs").iterdir())


def test_a_restarted_server_is_found_again(gated: Gated, serve: Any, tabs: Tabs):
    """The page reports the lost connection, and shows the missed events when the server is back."""
    from playwright.sync_api import expect

    tabs.allow(*GONE)
    gated.start("First", "Second < 1")
    gated.says("010", "in_progress")
    server = serve(gated.repo)
    page = tabs.open(server.address)
    card(page, "010", "in_progress").wait_for()
    server.kill()
    expect(page.get_by_test_id("lost")).to_be_visible()
    gated.open("010")
    gated.says("010", "completed")
    server.start()
    card(page, "010", "completed").wait_for()
    expect(page.get_by_test_id("lost")).to_have_count(0)
    card(page, "020", "in_progress").wait_for()
    gated.open("020")
    card(page, "020", "completed").wait_for()
    assert gated.ended() == 0
    page.get_by_test_id("live").click()
    log = page.locator(".live-log li")
    log.first.wait_for()
    lines = log.all_inner_texts()
    assert sum("010" in line and "merged" in line for line in lines) == 1, lines
    assert page.get_by_test_id("sign-in").count() == 0


def test_a_deleted_run_does_not_break_the_page(shop_run: ShopRun, serve: Any, tabs: Tabs):
    """If the folder of the shown run is deleted, the page says so and everything else works."""
    from playwright.sync_api import expect

    tabs.allow("status of 404")
    server = serve(shop_run.repo)
    run = shop_run.id
    page = tabs.visit(server, f"runs/{run}")
    board = tabs.visit(server, "board")
    timeline = tabs.visit(server, "timeline")
    shutil.rmtree(shop_run.folder)
    expect(board.get_by_test_id("run")).to_have_count(0)
    expect(board.get_by_test_id("count-completed")).to_have_text("8")
    page.reload()
    page.get_by_test_id("problem").wait_for()
    timeline.reload()
    timeline.get_by_test_id("page-timeline").get_by_test_id("empty").wait_for()


def test_a_torn_journal_line_is_shown_when_it_is_complete(shop_run: ShopRun, serve: Any, tabs: Tabs):
    """Half a line at the end of a journal is not shown until its rest is written, and an invalid line never."""
    from playwright.sync_api import expect

    run = shop_run
    server = serve(run.repo)
    page = tabs.visit(server)
    line = page.get_by_test_id("live-line")
    line.wait_for()
    expect(line).to_contain_text("the run has ended")  # the page has got the event
    before = line.inner_text()
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entry = json.dumps({"at": at, "event": "sent_back", "t": 99.0, "task": "010", "reason": "torn asunder"})
    with (run.folder / "journal.jsonl").open("ab", buffering=0) as journal:
        journal.write(entry[:40].encode())
        page.wait_for_timeout(600)
        assert line.inner_text() == before
        journal.write(f"{entry[40:]}\n".encode())
        expect(line).to_contain_text("torn asunder")
        journal.write(b'{"at": "2026-01-31T09:00:00Z", "event": "st\xff\n[1, 2]\nnull\n')
        journal.write(entry.replace("asunder", "and fixed").encode() + b"\n")
        expect(line).to_contain_text("torn and fixed")
    late = tabs.visit(server, f"runs/{run.id}")
    late.get_by_test_id("page-run").wait_for()
    assert late.get_by_test_id("problem").count() == 0


def test_a_broken_task_is_shown_as_broken(task_repo: Any, serve: Any, tabs: Tabs):
    """An unreadable state file is reported, and the other tasks are shown."""
    from playwright.sync_api import expect

    task_repo.ok("task", "create", "--name", "Another", "--agent", "implementer")
    server = serve(task_repo)
    page = tabs.open(server.address)
    card(page, "020").wait_for()
    (task_repo.task_folder("010") / "state.yaml").write_text("task: [")
    expect(page.get_by_test_id("strip")).to_contain_text("unreadable")
    card(page, "020").wait_for()


def test_a_port_in_use_is_skipped(repo: Any, serve: Any, tabs: Tabs):
    """If the port is taken, the next one serves the page."""
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        server = serve(repo, port=port)
        assert server.port != port
        tabs.open(server.address).get_by_test_id("page-board").wait_for()


def test_a_server_that_cannot_read_says_so(stumbling: tuple[FailingView, str], task_repo: Repo, tabs: Tabs):
    """While sow cannot read the state, the page says that it may be old; afterwards it shows what it missed."""
    from playwright.sync_api import expect

    picture, address = stumbling
    page = tabs.open(address)
    card(page, "010", "in_progress").wait_for()
    picture.broken = True
    expect(page.get_by_test_id("old")).to_contain_text("may be out of date")
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    late = page.context.new_page()
    late.goto(page.url)
    expect(late.get_by_test_id("old")).to_be_visible()
    picture.broken = False
    card(page, "010", "needs_review").wait_for()
    expect(page.get_by_test_id("old")).to_have_count(0)
    card(late, "010", "needs_review").wait_for()
