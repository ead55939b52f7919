"""Takes pictures of the dashboard for the docs from a live run (`make screenshots`)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from browser.conftest import launch
from browser.dashboard import Dashboard
from browser.navigation import go, settled
from browser.screenshot_run import Studio
from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST_BYTES = 300 << 10


class Camera:
    """Takes pictures, and fails if one is large."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, page: Page, name: str) -> None:
        """Takes a picture of the window."""
        path = self.folder / f"{name}.png"
        page.evaluate("document.activeElement.blur()")
        page.screenshot(path=path, animations="disabled", caret="hide")
        assert path.stat().st_size <= MOST_BYTES, f"{path} is too large for a page of docs"
        print(f"{path} ({path.stat().st_size >> 10} KiB)")


def main() -> int:
    """Takes all pictures of the docs in one run."""
    from playwright.sync_api import sync_playwright

    camera = Camera(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory(prefix="ada-") as name, sync_playwright() as playwright:
        browser = launch(playwright)
        tabs = Tabs(browser, Path(name))
        studio = Studio(Path(name) / "studio")
        studio.start()
        studio.stands()
        server = Dashboard(studio.repo).start()
        try:
            while_it_runs(camera, tabs, server)
            studio.finish()
            when_it_is_done(camera, tabs, studio, server)
            complaints = tabs.complaints()
        finally:
            studio.close()
            server.close()
            tabs.close()
            browser.close()
    print(*complaints, sep="\n", file=sys.stderr)
    return int(bool(complaints))


def while_it_runs(camera: Camera, tabs: Tabs, server: Dashboard) -> None:
    """Takes the pictures of a run in progress."""
    pages = {theme: tabs.visit(server, "board", theme=theme) for theme in ("light", "dark")}
    phone = tabs.visit(server, "board", phone=True)
    for route in ("board", "graph", "timeline", "inbox"):
        go(pages["light"], route)
        camera.take(pages["light"], f"{route}-light")
    settled(pages["dark"])
    camera.take(pages["dark"], "board-dark")
    go(pages["dark"], "task/080/transcript")
    camera.take(pages["dark"], "transcript-dark")
    pages["light"].set_viewport_size({"width": 1280, "height": 1060})  # so that its iterations are seen too
    go(pages["light"], "task/060")
    camera.take(pages["light"], "task-light")
    settled(phone)
    camera.take(phone, "phone")


def when_it_is_done(camera: Camera, tabs: Tabs, studio: Studio, server: Dashboard) -> None:
    """Takes the pictures of the finished run."""
    page = tabs.visit(server, "timeline")
    run = studio.run.name
    shots = {"diff-light": "task/060/diff", "run-light": f"runs/{run}", "replay-light": f"runs/{run}/board"}
    for name, route in shots.items():
        go(page, route)
        if name == "replay-light":
            page.get_by_label("Moment of the run").fill("450")
        camera.take(page, name)
    report = studio.folder / "report.html"
    report.write_text(studio.repo.ok("runs", "report", run, "--format", "html").out)
    camera.take(tabs.open(f"file://{report}"), "report")


if __name__ == "__main__":
    sys.exit(main())
