"""The browser's pages of one test: collects their errors, and blocks requests to other machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

    from browser.dashboard import Dashboard

HERE = {"127.0.0.1", "localhost", "[::1]"}
DESKTOP, PHONE = (1280, 800), (390, 844)
PATIENCE = 15_000  # milliseconds: a busy machine is no failure

# What moved without anybody having touched the page, as the browser itself counts it, and what the policy refused.
OBSERVE = """
window.__shifts = [];
window.__refused = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    const where = entry.sources.map((s) => s.node && (s.node.id || s.node.className || s.node.nodeName));
    window.__shifts.push({value: entry.value, where: where.join(' ')});
  }
}).observe({type: 'layout-shift', buffered: true});
document.addEventListener('securitypolicyviolation', (event) => {
  window.__refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


class Tabs:
    """Pages, each in a profile of its own, so that one page's cookie is not another's."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.pages: list[Page] = []
        self.troubles: list[str] = []
        self.allowed: list[str] = []

    def open(
        self,
        address: str,
        *,
        theme: str = "light",
        size: tuple[int, int] = DESKTOP,
        phone: bool = False,
        **options: Any,
    ) -> Page:
        """A new page with this address in it."""
        width, height = PHONE if phone else size
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            has_touch=phone,
            is_mobile=phone,
            locale="en-GB",
            **options,
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(OBSERVE)
        page = context.new_page()
        self._watch(page)
        page.goto(address)
        return page

    def visit(self, server: Dashboard, route: str = "board", *, patience: int = PATIENCE, **options: Any) -> Page:
        """Opens a page of a server with the cookie, and waits until it is loaded."""
        page = self.open(server.at(route), storage_state=server.key(), **options)
        name = "run" if route.startswith("runs/") else route.partition("/")[0]
        page.get_by_test_id(f"page-{name}").wait_for(timeout=patience)
        return page

    def _watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._note(f"page error: {error}"))
        page.on("request", self._asked)
        page.on("crash", lambda _: self._note("the page crashed"))
        self.pages.append(page)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in HERE:
            self._note(f"a request to {parts.hostname}: {request.url[:200]}")

    def _note(self, text: str) -> None:
        self.troubles.append(text)

    def allow(self, *texts: str) -> None:
        """Names the browser errors that a test expects."""
        self.allowed += texts

    def complaints(self) -> list[str]:
        """Returns every error of the pages that no test expected."""
        refused = [
            f"refused by the policy: {item}"
            for page in self.pages
            if not page.is_closed()
            for item in page.evaluate("window.__refused || []")
        ]
        return [trouble for trouble in (*self.troubles, *refused) if not any(text in trouble for text in self.allowed)]

    def evidence(self) -> str:
        """Returns pictures of the open pages and their console output."""
        lines = []
        for number, page in enumerate(page for page in self.pages if not page.is_closed()):
            path = self.folder / f"failed-{number}.png"
            page.screenshot(path=path)
            lines.append(f"page {number}: {page.url.partition('token=')[0]}, its picture is {path}")
        return "\n".join([*lines, "the browser said:", *(self.troubles or ["nothing"])])

    def close(self) -> None:
        for page in self.pages:
            page.context.close()


def shifted(page: Page) -> float:
    """Returns the browser's cumulative layout shift so far."""
    return float(page.evaluate("window.__shifts.reduce((sum, each) => sum + each.value, 0)"))
