"""axe finds nothing serious on any page in both themes, and a phone scrolls only vertically."""

from __future__ import annotations

import pytest

from browser.accessibility import overflows, violations
from browser.dashboard import Dashboard
from browser.navigation import go
from browser.shop_run import ShopRun
from browser.tabs import Tabs

TASK_TABS = ("overview", "transcript", "diff", "evidence", "reviews", "notes", "log")
ROUTES = (
    *(
        "board",
        "graph",
        "timeline",
        "inbox",
        "cost",
        "runs",
        "library",
        "runs/RUN",
        "runs/RUN/changes",
        "runs/RUN/board",
    ),
    *(f"task/040/{tab}" for tab in TASK_TABS),
)
Stage = tuple[ShopRun, Dashboard]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation(finished: Stage, tabs: Tabs, theme: str):
    """No page has a serious or critical violation, in either theme."""
    run, server = finished
    page = tabs.visit(server, "board", theme=theme)
    result = {}
    for route in ROUTES:
        go(page, route.replace("RUN", run.id))
        result[route] = violations(page)
    assert {route: value for route, value in result.items() if value} == {}


def test_a_phone_scrolls_only_vertically(finished: Stage, tabs: Tabs):
    """No page is wider than a phone, and axe finds no serious violation on it there."""
    run, server = finished
    page = tabs.visit(server, "board", phone=True)
    result = {}
    for route in ROUTES:
        go(page, route.replace("RUN", run.id))
        result[route] = overflows(page) + violations(page)
    assert {route: value for route, value in result.items() if value} == {}
