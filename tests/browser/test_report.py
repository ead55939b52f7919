"""The HTML report is one file that needs no other, in both themes and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.accessibility import overflows, violations
from browser.dashboard import Dashboard
from browser.shop_run import ShopRun
from browser.tabs import Tabs


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_report_needs_no_other_file(finished: tuple[ShopRun, Dashboard], tabs: Tabs, tmp_path: Path, theme: str):
    """Opened from a disk it loads nothing else, shows the run, runs no script, and axe finds no serious violation."""
    run = finished[0]
    path = tmp_path / "report.html"
    path.write_text(run.repo.ok("runs", "report", run.id, "--format", "html").out)
    asked: list[str] = []
    page = tabs.open("about:blank", theme=theme)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{path}")
    text = page.inner_text("body")
    for name in (
        "A shop in eight tasks",
        "How is half a cent rounded",
        "half a cent is the shop's",
        "8 of 8",
        "shop/cart.py",
    ):
        assert name in text
    assert asked == [f"file://{path}"]
    assert page.locator("script").count() == 0
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflows(page) == []
