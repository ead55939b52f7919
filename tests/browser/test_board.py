"""The board shows every task by status during a run, no matter when the page is opened."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from browser.accessibility import focused
from browser.dashboard import Dashboard
from browser.navigation import settled
from browser.paused_run import Gated, card
from browser.shop_run import ShopRun
from browser.tabs import Tabs, shifted

# Where every card stood whenever the browser laid the page out, from the first time on.
TRACE = """
window.__places = [];
const look = () => {
  const found = [...document.querySelectorAll('.board [data-row]')].map((card) => {
    const place = card.getBoundingClientRect();
    return [card.dataset.testid, Math.round(place.top), Math.round(place.height)];
  });
  const places = JSON.stringify(found.sort((one, other) => one[1] - other[1]));
  if (found.length && window.__places.at(-1) !== places) window.__places.push(places);
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


@pytest.fixture
def gated(plan_repo: Any) -> Gated:
    return Gated(plan_repo)


def test_the_board_follows_a_run(gated: Gated, serve: Any, tabs: Tabs):
    """Cards change columns by themselves until all tasks are done, nothing jumps, and a page opened late shows all."""
    from playwright.sync_api import expect

    gated.start("First", "Second < 1", "Third")
    gated.says("010", "in_progress")
    server = serve(gated.repo)
    page = tabs.open(server.address)
    card(page, "010", "in_progress").wait_for()
    card(page, "030", "in_progress").wait_for()
    expect(card(page, "020", "pending")).to_contain_text("waits for 010")
    expect(page.get_by_test_id("run")).to_contain_text("Live")
    expect(card(page, "010")).to_contain_text("until [ -e")
    gated.open("010")
    card(page, "010", "completed").wait_for()
    card(page, "020", "in_progress").wait_for()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of 3 completed")
    gated.open("020", "030")
    assert gated.ended() == 0
    expect(page.get_by_test_id("progress")).to_contain_text("3 of 3 completed")
    expect(page.get_by_test_id("run")).not_to_contain_text("Live")
    assert shifted(page) < 0.1, page.evaluate("window.__shifts")
    late = tabs.visit(server)
    expect(late.get_by_test_id("count-completed")).to_have_text("3")
    assert late.get_by_test_id("live-line").inner_text()


def test_a_phone_shows_what_needs_the_person_first(repo: Any, serve: Any, tabs: Tabs):
    """On a phone cards are in their final order from the start, however long their text is."""
    from playwright.sync_api import expect

    name = "A name that is so long that a phone needs more than one line for it"
    for number, status in enumerate(("needs_review", "failed", "paused", "in_progress", "pending"), 1):
        repo.ok("task", "create", "--name", f"{name} {number}" if number % 2 else "Short", "--agent", "implementer")
        for step in ("in_progress", status)[: 0 if status == "pending" else 2 if status != "in_progress" else 1]:
            reason = ["--reason", "Which colour?"] if step == "paused" else []
            repo.ok("task", "set", "--id", f"0{number}0", "status", step, *reason)
    server = serve(repo)
    wide = tabs.visit(server)  # the head counts the inbox, and no column claims to be the same list (D11)
    expect(wide.get_by_text("3 in your inbox")).to_be_visible()
    expect(wide.get_by_test_id("inbox-count")).to_contain_text("3")
    expect(wide.get_by_test_id("column-paused")).to_contain_text("Paused")
    page = tabs.visit(server, phone=True)
    page.context.add_init_script(TRACE)
    page.reload()
    card(page, "050", "pending").wait_for()
    settled(page)
    (places,) = page.evaluate("window.__places")
    shown = [name for name, _, _ in json.loads(places)]
    assert shown == ["card-030", "card-020", "card-040", "card-010", "card-050"]


def test_a_card_shows_the_review(finished: tuple[ShopRun, Dashboard], tabs: Tabs):
    """The card of a task that was sent back shows how often and why; the filter finds it by name."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1])
    expect(card(page, "040", "completed")).to_have_attribute("aria-label", re.compile("iteration 2, review GREEN"))
    expect(card(page, "080")).to_contain_text("YELLOW")
    page.get_by_test_id("filter").fill("cart")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.get_by_text("1 of 8 tasks")).to_be_visible()


def test_the_page_works_with_the_keyboard(finished: tuple[ShopRun, Dashboard], tabs: Tabs):
    """The keyboard alone reaches every page, row, task, the filter and the help."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1])
    for key, name in {"g": "graph", "t": "timeline", "i": "inbox", "c": "cost", "r": "runs", "l": "library"}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_test_id(f"page-{name}").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.get_by_test_id("page-board").wait_for()
    page.keyboard.press("j")
    first = focused(page)
    page.keyboard.press("j")
    assert focused(page) != first
    page.keyboard.press("k")
    assert focused(page) == first
    page.keyboard.press("Enter")
    page.get_by_test_id("page-task").wait_for()
    page.keyboard.press("Escape")
    page.get_by_test_id("page-board").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("receipts")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_test_id("help").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("help")).to_have_count(0)


def test_every_control_is_reached_with_tab(finished: tuple[ShopRun, Dashboard], tabs: Tabs):
    """Tab goes through links and fields in their order, and what has the focus can be seen."""
    page = tabs.visit(finished[1])
    settled(page)
    page.keyboard.press("Tab")
    assert "Skip" in focused(page)
    seen, outlined = [], 0
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        style = "getComputedStyle(document.activeElement)"
        outlined += page.evaluate(f"{style}.outlineStyle !== 'none' || {style}.boxShadow !== 'none'")
    assert outlined >= 28
    for name in ("Inbox", "Theme", "Filter tasks", "040"):
        assert any(name in text for text in seen), (name, seen)


def test_the_chosen_theme_is_kept(finished: tuple[ShopRun, Dashboard], tabs: Tabs):
    """The page follows the system's theme until the user chooses one, and a reload keeps the choice."""
    page = tabs.visit(finished[1], theme="dark")
    shade = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(shade)
    page.get_by_test_id("theme").click()
    assert page.evaluate(shade) != dark
    light = page.evaluate(shade)
    page.reload()
    page.get_by_test_id("page-board").wait_for()
    assert page.evaluate(shade) == light
    assert re.search("light", page.get_by_test_id("theme").get_attribute("aria-label") or "")
