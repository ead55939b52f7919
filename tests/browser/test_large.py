"""A project of ten thousand tasks stays usable, and a transcript of 100 MB loads page by page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Repo

from bench import large
from browser.navigation import go
from browser.shop_run import ShopRun
from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

TASKS = 10_000
MOST_ELEMENTS = 15_000
LINES = 1_000_000
SIZE = 100 << 20
MOST_TEXT = 4 << 20


def elements(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))


@pytest.fixture
def many(tmp_path: Path, environment: dict[str, str]) -> Repo:
    """A repository whose project has ten thousand tasks, and a run that worked on most of them."""
    large.make(tmp_path / "many", TASKS)
    return Repo(tmp_path / "many", environment)


def test_ten_thousand_tasks_stay_usable(many: Repo, serve: Any, tabs: Tabs):
    """The board shows a part of each column and more on demand, the filter finds any task, and no page is huge."""
    from playwright.sync_api import expect

    server = serve(many)
    page = tabs.visit(server, patience=120_000)
    expect(page.get_by_test_id("count-completed")).to_have_text("9960")
    done = page.get_by_test_id("column-completed")
    expect(done.locator("[data-row]")).to_have_count(100)
    done.get_by_role("button", name="Show 100 more").click()
    expect(done.locator("[data-row]")).to_have_count(200)
    assert elements(page) < MOST_ELEMENTS
    page.get_by_test_id("filter").fill("Part 7777")
    expect(page.locator("[data-row]")).to_have_count(1)
    for route in ("graph", "timeline", "runs", "cost", "runs/20260131-090000-ab12"):
        go(page, route, patience=120_000)
        assert elements(page) < MOST_ELEMENTS, route
        assert page.get_by_test_id("problem").count() == 0, route


def test_five_hundred_tasks_are_a_readable_graph(tmp_path: Path, environment: dict[str, str], serve: Any, tabs: Tabs):
    """All tasks are drawn in legible letters, with headings of waves and a map that moves the window."""
    from playwright.sync_api import expect

    large.make(tmp_path / "many", 500)
    server = serve(Repo(tmp_path / "many", environment))
    page = tabs.visit(server, "graph", patience=60_000)
    nodes = page.locator("svg [data-task]")
    expect(nodes).to_have_count(500)
    expect(page.locator(".wave-name").first).to_have_text("Wave 1")
    sheet = page.locator("svg.graph-sheet > g").last
    letters = "(node) => node.getBoundingClientRect().height"
    assert page.locator(".node-name").first.evaluate(letters) >= 10
    expect(page.get_by_test_id("graph-more")).to_have_text(
        re.compile(r"^More tasks: \d+ (above|below|to the (left|right))")
    )
    before = sheet.get_attribute("transform")
    box = page.get_by_test_id("graph-map").bounding_box()
    assert box
    page.mouse.click(box["x"] + 4, box["y"] + 4)
    assert sheet.get_attribute("transform") != before
    nodes.first.focus()
    assert page.locator("svg path.edge.is-near").count() >= 1
    phone = tabs.visit(server, "graph", phone=True, patience=60_000)
    expect(phone.locator("svg [data-task]")).to_have_count(500)
    width = phone.locator("svg.graph-sheet").evaluate("(node) => node.clientWidth")
    seen = phone.locator("svg [data-task='5000']").evaluate("(node) => node.getBoundingClientRect().toJSON()")
    assert seen["x"] >= 0 and seen["x"] + seen["width"] <= width + 20


def test_a_transcript_of_100_megabytes_is_loaded_in_pages(shop_run: ShopRun, serve: Any, tabs: Tabs):
    """The page shows a part of the transcript, can jump to both ends, and stays small."""
    line = "line {:07d} " + "x" * 92 + "\n"
    path = shop_run.repo.root / ".sow/local/sessions/010/1/turn-001.md"
    with path.open("w") as file:
        for start in range(0, LINES, 10_000):
            file.write("".join(line.format(number) for number in range(start, start + 10_000)))
    assert path.stat().st_size > SIZE
    server = serve(shop_run.repo)
    page = tabs.visit(server, "task/010/transcript")
    pane = page.get_by_test_id("transcript")
    pane.get_by_text("line 0000000").first.wait_for()
    assert len(page.content()) < MOST_TEXT
    pane.get_by_role("button", name="Last page").click()
    pane.get_by_text("line 0999999").first.wait_for()
    body = pane.locator(".paged-body")
    for _ in range(5):
        body.evaluate("(body) => { body.scrollTop = 0; }")
        page.wait_for_timeout(100)
    assert len(page.content()) < MOST_TEXT
    pane.get_by_role("button", name="First page").click()
    pane.get_by_text("line 0000000").first.wait_for()
