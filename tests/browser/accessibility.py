"""Runs axe-core on a page, and checks its use by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

GRAVE = ("serious", "critical")


def violations(page: Page) -> list[str]:
    """Returns every serious violation: its rule, and the elements that break it."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    result: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{found['id']} ({found['impact']}): {found['help']}: {[node['html'][:160] for node in found['nodes'][:4]]}"
        for found in result["violations"]
        if found["impact"] in GRAVE
    ]


def focused(page: Page) -> str:
    """Returns the accessible text of the focused element."""
    return str(
        page.evaluate(
            "(() => { const e = document.activeElement;"
            " return e.getAttribute('aria-label') || e.textContent.trim() || e.id; })()"
        )
    )


def overflows(page: Page) -> list[str]:
    """Returns the elements that are wider than the window."""
    result: list[str] = page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          return [...document.querySelectorAll('body *')]
            .filter((e) => e.getBoundingClientRect().right > width + 1)
            .slice(0, 5).map((e) => e.outerHTML.slice(0, 160));
        }"""
    )
    return result
