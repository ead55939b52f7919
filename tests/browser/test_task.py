"""The page of a task: description, turns, changes, evidence and cost; its transcript grows during a turn."""

from __future__ import annotations

from typing import Any

import pytest

from browser.dashboard import Dashboard
from browser.navigation import go
from browser.paused_run import Gated, done
from browser.shop_run import ShopRun
from browser.tabs import Tabs, shifted

Stage = tuple[ShopRun, Dashboard]


@pytest.fixture
def gated(plan_repo: Any) -> Gated:
    return Gated(plan_repo)


def test_a_task_page_shows_everything(finished: Stage, tabs: Tabs):
    """The page has description, criteria, feedback, changes, evidence, findings, notes, log and cost."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "task/040")
    body = page.get_by_test_id("page-task")
    for text in ("Cart", "Articles and how many of each", "a cart never holds less than one", "$"):
        expect(body).to_contain_text(text)
    messages = {
        "transcript": "less than one must be refused",
        "changes": "cannot buy",
        "checks": "python3 -m unittest -q tests.test_cart",
        "reviews": "Cart.add takes -1 of an article",
    }
    for tab, text in messages.items():
        body.get_by_role("link", name=tab, exact=False).or_(body.get_by_role("tab", name=tab)).first.click()
        if tab == "transcript":
            body.get_by_role("button", name="Iteration 2, resumed").click()
        expect(body).to_contain_text(text)
    go(page, "task/010/log")
    expect(body).to_contain_text("Wrote prices with their test")
    go(page, "task/050/notes")
    expect(body).to_contain_text("How is half a cent rounded")
    expect(body).to_contain_text("Up: half a cent")


def test_a_transcript_shows_results_as_they_were_printed(finished: Stage, tabs: Tabs):
    """The result of a tool call is below the call, in a fixed width and with its own indentation."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "task/040/transcript")
    result = page.locator(".said.by-output", has_text="Ran 2 tests")
    expect(result).to_contain_text("-----")
    text = result.locator(".said-text")
    assert "\nRan 2 tests" in text.inner_text()
    assert "mono" in text.evaluate("(node) => getComputedStyle(node).fontFamily").lower()


def test_each_iteration_has_its_own_changes(finished: Stage, tabs: Tabs):
    """The diff of the first iteration lacks what the second added."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "task/040/diff")
    pane = page.get_by_test_id("diff")
    expect(pane).to_contain_text("cannot buy")
    pane.get_by_role("button", name="Iteration 1").click()
    expect(pane).not_to_contain_text("cannot buy")
    expect(pane).to_contain_text("class Cart")


def test_the_transcript_grows_during_a_turn(gated: Gated, serve: Any, tabs: Tabs):
    """The worker's output appears in the page without a reload."""
    from playwright.sync_api import expect

    later = [{"say": "At first this"}, gated.waiting("010"), {"say": "And then that"}, gated.waiting("end"), *done()]
    gated.work("{task}", t010=[later])
    gated.start("First")
    gated.says("010", "in_progress")
    server = serve(gated.repo)
    page = tabs.visit(server, "task/010/transcript")
    pane = page.get_by_test_id("transcript")
    expect(pane).to_contain_text("At first this")
    expect(pane).to_contain_text("following")
    assert "And then that" not in pane.inner_text()
    gated.open("010")
    expect(pane).to_contain_text("And then that")
    gated.open("end")
    assert gated.ended() == 0
    expect(page.get_by_test_id("page-task")).to_contain_text("Completed")


@pytest.mark.parametrize("tab", ["overview", "transcript"])
def test_the_task_page_does_not_jump(gated: Gated, serve: Any, tabs: Tabs, tab: str):
    """While the worker prints and hands in, nothing on the page moves."""
    from playwright.sync_api import expect

    numbers = [{"say": f"Sentence {number}"} for number in range(20)]
    gated.work("{task}", t010=[[*numbers, gated.waiting("010"), *numbers, gated.waiting("end"), *done()]])
    gated.start("First", "Second")
    gated.says("010", "in_progress")
    page = tabs.visit(serve(gated.repo), f"task/010/{tab}")
    body = page.get_by_test_id("page-task")
    expect(body).to_contain_text("In progress")
    gated.open("010", "020")
    gated.says("020", "completed")
    gated.open("end")
    assert gated.ended() == 0
    expect(body).to_contain_text("Completed")
    expect(page.get_by_test_id("run")).not_to_contain_text("Live")
    assert shifted(page) < 0.1, page.evaluate("window.__shifts")


def test_an_unknown_task_says_so(finished: Stage, tabs: Tabs):
    """The address of a task that does not exist shows an error and a way out, not an empty page."""
    tabs.allow("status of 404")
    page = tabs.visit(finished[1], "task/999")
    page.get_by_test_id("problem").wait_for()
