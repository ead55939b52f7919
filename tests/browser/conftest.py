"""Fixtures: one browser for each worker, servers and runs. A test fails on every error in the browser's console."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.dashboard import Dashboard
from browser.install import ensure
from browser.shop_run import ShopRun
from browser.tabs import PATIENCE, Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Nothing is looked up and nothing is fetched but from this machine.
FLAGS = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--disable-dev-shm-usage")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test of this folder as one that needs the browser."""
    folder = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.browser)


def launch(playwright: Any) -> Browser:
    """Starts the distribution's browser; root has no sandbox for it."""
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    result: Browser = playwright.chromium.launch(executable_path=ensure(), args=flags)
    return result


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of this worker."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        result = launch(playwright)
        yield result
        result.close()


@pytest.fixture
def tabs(browser: Browser, tmp_path: Path) -> Iterator[Tabs]:
    """The pages of one test."""
    result = Tabs(browser, tmp_path)
    yield result
    result.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ShopRun, Dashboard]]:
    """A finished run and its server, for tests that change nothing; made once for each worker."""
    run = ShopRun(tmp_path_factory.mktemp("finished")).finish()
    server = Dashboard(run.repo).start()
    yield run, server
    server.close()


@pytest.fixture
def shop_run(finished: tuple[ShopRun, Dashboard], tmp_path: Path) -> ShopRun:
    """A copy of the finished run, for tests that change something."""
    return finished[0].copied(tmp_path / "stage")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Dashboard]]:
    """Returns a function that starts servers, which end with the test."""
    begun: list[Dashboard] = []

    def start(*given: Any, **options: Any) -> Dashboard:
        begun.append(Dashboard(*given, **options))
        return begun[-1].start()

    yield start
    for item in begun:
        item.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Adds pictures and console output to a failure, and turns an error of the browser into a failure."""
    tabs: Tabs | None = getattr(item, "funcargs", {}).get("tabs")
    try:
        result = yield
        assert tabs is None or tabs.complaints() == []
    except Exception as error:
        if tabs is not None:
            error.add_note(tabs.evidence())
        raise
    return result
