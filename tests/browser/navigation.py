"""Opens views of the page through its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from browser.tabs import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def go(page: Page, route: str, *, patience: int = PATIENCE) -> None:
    """Opens another page when the current one is loaded."""
    page.evaluate("(route) => { location.hash = `#/${route}`; }", route)
    name = "run" if route.startswith("runs/") else route.partition("/")[0]
    page.get_by_test_id(f"page-{name}").wait_for()
    settled(page, patience=patience)


def settled(page: Page, *, patience: int = PATIENCE) -> None:
    """Waits until nothing is loading and every request for a part of the page was answered."""
    page.wait_for_timeout(200)  # a skeleton comes only after 150 ms
    page.locator(".skeleton").first.wait_for(state="detached", timeout=patience)
