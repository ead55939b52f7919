"""The helpers of the browser tests: a missing program is named, and an error in a page is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.paths import TESTS

from browser.tabs import Tabs, shifted

BAD = """<body><script>
console.error('a word');
fetch('http://example.org/').catch(() => 0);
setTimeout(() => { throw new Error('a slip'); });
</script>"""
PARAGRAPHS = '<body><p style="height:200px">one</p><p style="height:200px">two</p>'
PAINTED = "performance.getEntriesByName('first-contentful-paint').length"
PUSH = "document.body.prepend(Object.assign(document.createElement('div'), {style: 'height:300px'}))"


def install(path: Path) -> subprocess.CompletedProcess[str]:
    """Runs the installation with only these programs on PATH."""
    variables = {"PATH": str(path), "PYTHONPATH": str(TESTS)}
    text = [sys.executable, "-m", "browser.install"]
    return subprocess.run(text, env=variables, capture_output=True, text=True)


def test_a_missing_browser_is_named(tmp_path: Path):
    """Without chromium and without a way to fetch it the set-up fails, and says what to install."""
    done = install(tmp_path)
    assert (done.returncode, done.stderr.count("apt-get install chromium")) == (1, 1)


def test_a_failed_download_is_named(tmp_path: Path):
    """When the package manager cannot fetch it, that is reported by name."""
    (tmp_path / "apt-get").write_text("#!/bin/sh\necho no network >&2\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    done = install(tmp_path)
    expected = "could not fetch chromium: no network" if os.geteuid() == 0 else "apt-get install chromium"
    assert done.returncode == 1 and expected in done.stderr


def test_errors_of_a_page_are_noticed(tabs: Tabs):
    """A console message, a request to another host and an uncaught error are each reported."""
    page = tabs.open(f"data:text/html,{BAD}")
    page.wait_for_timeout(500)
    output = "\n".join(tabs.complaints())
    for text in ("console error: a word", "a request to example.org", "page error: a slip"):
        assert text in output
    tabs.allow("a word", "example.org", "a slip", "ERR_NAME_NOT_RESOLVED")


def test_a_layout_shift_is_noticed(tabs: Tabs):
    """A page that pushes its content down has a layout shift."""
    page = tabs.open(f"data:text/html,{PARAGRAPHS}")
    page.wait_for_function(PAINTED)  # what moves before the first paint is no shift
    page.evaluate(PUSH)
    page.wait_for_function("window.__shifts.length")
    assert shifted(page) > 0.1
