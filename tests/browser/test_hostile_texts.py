"""Texts of agents are shown and never executed: markup, handlers, direction marks, control bytes, long lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from browser.navigation import go
from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCRIPT = "<script>window.ran = 'script'</script>"
IMAGE = "<img src=x onerror=\"window.ran = 'image'\">"
LINK = "[here](javascript:window.ran='link') javascript:window.ran='link'"
BROKEN_OUT = "\"'></title></textarea><svg onload=\"window.ran='svg'\">{{7*7}}${7*7}"
BIDI = "safe\u202egnp.exe\u2066\u2069\u200f"
CONTROL = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x00\x08\x9b31m"
ALL = f"{SCRIPT} {IMAGE} {LINK} {BROKEN_OUT}"
FORBIDDEN = "\x1b\x07\x00\x08\x9b\u202e\u2066\u2069\u200f"
LONG = 1 << 20


@pytest.fixture
def hostile(plan_repo: Any) -> Any:
    """A finished run whose worker, reviewer, plan and checks all try to break out of the page; one task asks."""
    plan_repo.simulated(
        "hand",
        "implementer",
        [
            {"say": f"I say {ALL} {BIDI} {CONTROL}"},
            {"raw": f"raw {ALL} {CONTROL}"},
            {"stderr": f"err {ALL} {CONTROL}"},
            {"bytes": "c3 28 ff fe 0a"},
            {"long_line": LONG},
            {"write": {"path": "page.html", "text": f"{ALL}\n{BIDI}\n"}},
            {"run": ["sh", "-c", f"head -c {LONG} /dev/zero | tr '\\0' y >> page.html"]},
            {"log": f"logged {IMAGE}"},
            {"note": {"description": f"noted {IMAGE}", "category": "detail"}},
            {"resolve": f"resolved {SCRIPT}"},
            {"status": "needs_review"},
        ],
        t020=[[{"ask": f"asked {IMAGE} {BIDI}"}]],
    )
    plan_repo.simulated(
        "judge", "quality-control", [{"say": f"Quality Control: YELLOW\n\nFeedback: found {SCRIPT} {IMAGE}"}]
    )
    shown = f"printf '%s' \"{SCRIPT.replace(chr(39), '')} <img src=x onerror=alert(1)>\""
    plan_repo.plan({"name": f"Name {IMAGE}", "test_commands": [shown]}, {"name": f"Asks {SCRIPT}"})
    result = plan_repo.run("--yes")
    assert result.code == 4, result.out
    return plan_repo


def unharmed(page: Page) -> None:
    """Checks that no script ran, and that no character that reorders or controls text is in the page."""
    assert page.evaluate("window.ran") is None
    assert page.locator("#shell script, #shell svg[onload], #shell img:not([src^='/assets/'])").count() == 0
    text = page.evaluate("document.documentElement.textContent")
    assert [hex(ord(character)) for character in FORBIDDEN if character in text] == []


def test_texts_of_agents_are_never_markup(hostile: Any, serve: Any, tabs: Tabs):
    """Every page shows agents' texts as text; none of it runs, loads or controls anything."""
    server = serve(hostile.repo)
    page = tabs.visit(server, "board")
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.get_by_text("Name <img src=x onerror=").first.wait_for()
    unharmed(page)
    run = max((hostile.repo.root / ".sow/local/runs").iterdir()).name
    tab = ("overview", "transcript", "diff", "evidence", "reviews", "notes", "log")
    routes = [f"task/010/{item}" for item in tab] + ["task/020/overview", "inbox", "graph", "timeline", "cost", "runs"]
    for route in [*routes, f"runs/{run}", "library"]:
        go(page, route)
        unharmed(page)
    go(page, "task/010/transcript")
    page.get_by_text("I say <script>window.ran").first.wait_for()
    go(page, "task/010/reviews")
    page.get_by_text("found <script>").first.wait_for()
    go(page, "inbox")
    page.get_by_text("asked <img src=x").first.wait_for()
    unharmed(page)
