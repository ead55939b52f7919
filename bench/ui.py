"""Measures the dashboard: its start, its memory with many open pages, and its delay in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench import large
from bench.dashboard import Dashboard
from bench.timing import PYTHON

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

READY = 10.0  # times bare Python
TASKS, PAGES, MEGABYTES = 10_000, 10, 150
TO_SCREEN = 0.3  # seconds from the journal to the screen
EVENTS = 20
MOST_WAIT = 10  # seconds
PROJECT = 1000  # tasks of the project whose first paint is measured
PAINT = 2.0  # times the first paint of an empty project by the same server
PAINT_ROUNDS = 5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def ready(scratch: Path, rounds: int) -> tuple[float, float]:
    """Returns the best time until `sow ui` answers a request, and the best of bare Python, measured alternately."""
    large.make(scratch / "ready", 1)
    mine, bare = [], []
    for _ in range(rounds):
        with Dashboard(scratch / "ready") as server:
            mine.append(server.ready())
        start = time.perf_counter()
        subprocess.run([PYTHON, "-c", "pass"], check=True)
        bare.append(time.perf_counter() - start)
    return min(mine), min(bare)


def memory(scratch: Path) -> float:
    """Returns the peak megabytes of a server with ten open pages, while a run of ten thousand tasks has new events."""
    folder = large.make(scratch / "memory", TASKS)
    with Dashboard(scratch / "memory") as server:
        server.ready()
        cookie = server.cookie()
        feeds = [server.feed(cookie) for _ in range(PAGES)]
        for path in ("/api/state", f"/api/runs/{folder.id}/timeline", f"/api/runs/{folder.id}", "/api/runs"):
            server.get(path, cookie)
        for number in range(EVENTS):
            _append_entry(folder.journal_path, f"Step {number}")
            time.sleep(0.1)
        megabytes = server.most_memory()
        for feed in feeds:
            feed.close()
    return megabytes


def without_browser() -> str:
    """Returns what is missing for the rows that need a browser, or ""."""
    if not _program():
        return "chromium is not installed"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed; 'make test-browser' brings it"
    return ""


def to_screen(scratch: Path) -> float:
    """Returns the median of the seconds from an entry's write to the frame that shows it."""
    folder = large.make(scratch / "screen", 100)
    with _browser() as browser, Dashboard(scratch / "screen") as server:
        page = _opened(browser, server)
        seconds = [_seconds_to_screen(page, folder.journal_path, f"Event number {number}.") for number in range(EVENTS)]
    return statistics.median(seconds)


def first_paint(scratch: Path) -> tuple[float, float]:
    """Returns the best seconds until the board of a large project is painted, and of a project with one task."""
    best = []
    with _browser() as browser:
        for name, tasks in (("paint", PROJECT), ("empty", 1)):
            large.make(scratch / name, tasks)
            with Dashboard(scratch / name) as server:
                page = _opened(browser, server)
                best.append(min(_painted(page) for _ in range(PAINT_ROUNDS)))
    return best[0], best[1]


def _painted(page: Page) -> float:
    """Reloads the page; returns the seconds until its first contentful paint, as the browser measures them."""
    page.reload()
    page.wait_for_selector("[data-row]")
    script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return float(page.evaluate(script)) / 1000


def _opened(browser: Browser, server: Dashboard) -> Page:
    server.ready()
    page = browser.new_page()
    page.goto(server.address())
    page.wait_for_selector("[data-row]")
    return page


# Checks every change of the page until a text is there, then waits for the frame that shows it.
WAIT = """(text) => {
  window.seen = 0;
  const look = () => {
    if (window.seen || !document.body.textContent.includes(text)) return;
    window.seen = -1;
    requestAnimationFrame(() => setTimeout(() => { window.seen = Date.now(); }));
  };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


def _seconds_to_screen(page: Page, journal: str, text: str) -> float:
    page.evaluate(WAIT, text)
    time.sleep(0.05)
    start = time.time()
    _append_entry(journal, text)
    while not (seen := float(page.evaluate("Math.max(window.seen, 0)"))):
        if time.time() > start + MOST_WAIT:
            raise SystemExit(f"an entry of the journal was not on the screen after {MOST_WAIT} s")
        time.sleep(0.01)
    return seen / 1000 - start


def _append_entry(journal: str, text: str) -> None:
    """Appends one entry to a journal."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    fields = {"task": large.ident(90), "iteration": 1, "reason": text}
    entry = {"at": at, "event": "sent_back", "t": time.time() - large.START, **fields}
    with open(journal, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _program() -> str:
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")


@contextmanager
def _browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=flags)
        yield browser
        browser.close()
