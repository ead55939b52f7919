"""Signing in: an address works once, for one browser; others are told how to get one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

REFUSED = "status of 401"


def signed_in(page: Page) -> None:
    page.get_by_test_id("page-board").wait_for()


def asked(page: Page) -> None:
    page.get_by_test_id("sign-in").wait_for()


@pytest.fixture
def server(repo: Any, serve: Any) -> Any:
    return serve(repo)


def test_an_address_works_once(server: Any, tabs: Tabs):
    """The token is exchanged for a cookie, leaves the address at once, and does not work for a second browser."""
    page = tabs.open(server.address)
    signed_in(page)
    assert "token" not in page.url
    page.reload()
    signed_in(page)
    tabs.allow(REFUSED)
    second = tabs.open(server.address)
    asked(second)


@pytest.mark.parametrize("fragment", ["", "#token=", "#token=0123456789abcdef", "#token=%00%ff<b>", "#/task/010"])
def test_a_wrong_or_missing_token_shows_how_to_sign_in(server: Any, tabs: Tabs, fragment: str):
    """Without a valid token the page has no data, only the command that prints a new address."""
    tabs.allow(REFUSED)
    page = tabs.open(server.base + fragment)
    asked(page)
    assert "sow ui" in page.inner_text("main")
    assert "Add authentication" not in page.content()


def test_a_new_address_can_be_pasted(server: Any, tabs: Tabs):
    """A second `sow ui` prints a new address of the same server, which works after a wrong one was refused."""
    tabs.allow(REFUSED)
    page = tabs.open(server.base)
    field = page.get_by_label("Address or token")
    field.fill("not a token")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_test_id("problem").wait_for()
    result = server.repo.sow("ui")
    assert result.code == 0, result
    match = re.search(r"http://127\.0\.0\.1:(\d+)/#token=\S+", result.out)
    assert match and int(match[1]) == server.port
    field.fill(match[0])
    page.get_by_role("button", name="Sign in").click()
    signed_in(page)


def test_an_empty_project_says_what_to_do(server: Any, tabs: Tabs):
    """A project without a task shows an empty board with the next step, and no page of it is broken."""
    page = tabs.open(server.address)
    signed_in(page)
    page.get_by_test_id("empty").first.wait_for()
    for route in ("graph", "timeline", "inbox", "cost", "runs", "library"):
        page.get_by_role("navigation").locator(f"a[href='#/{route}']").click()
        page.get_by_test_id(f"page-{route}").wait_for()
        page.locator(".skeleton").first.wait_for(state="detached")
        assert page.get_by_test_id("problem").count() == 0
        assert page.get_by_test_id(f"page-{route}").inner_text().strip()


def test_a_read_only_page_has_no_actions(task_repo: Any, serve: Any, tabs: Tabs):
    """With --read-only the page says so and offers nothing that changes anything."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    server = serve(task_repo, "--read-only")
    page = tabs.open(server.address)
    page.get_by_test_id("read-only").wait_for()
    page.goto(server.at("task/010"))
    page.get_by_test_id("page-task").get_by_text("Add login").first.wait_for()
    assert page.get_by_role("button", name=re.compile("approve|send back|abandon|retry", re.I)).count() == 0
