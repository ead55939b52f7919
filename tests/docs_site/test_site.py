"""The built documentation (`make docs`) is complete and needs no network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.paths import ROOT
from support.quick_cases import all_of

pytestmark = pytest.mark.site
SITE = ROOT / "site"
PAGES = sorted(SITE.rglob("*.html"))
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
CSS_ADDRESS = re.compile(r"""(?:url\(|@import\s*)["']?(https?:|//)""")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Reader(HTMLParser):
    """The names, links and loaded files of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.names |= {values.get("id", ""), values.get("name", "")}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


READ: dict[Path, Reader] = {}


def read(page: Path) -> Reader:
    if page not in READ:
        READ[page] = Reader(page)
    return READ[page]


def is_local(address: str) -> bool:
    return not urlsplit(address).scheme and not address.startswith("//")


def test_the_site_is_built() -> None:
    """`make docs` wrote the pages of every part."""
    assert {"index.html", "tutorial.html", "reference", "how-to", "explanation", "project", "decisions"} <= {
        path.name for path in SITE.iterdir()
    }
    assert len(PAGES) > 80


@all_of("page", PAGES)
def test_a_page_loads_nothing_from_elsewhere(page: Path) -> None:
    """Scripts, styles, fonts and pictures of a page are files of the site."""
    for address in read(page).loaded:
        assert is_local(address) or address.startswith("data:"), address
        assert (page.parent / unquote(urlsplit(address).path)).exists() or page.name == "404.html", address


def test_the_styles_load_nothing_from_elsewhere() -> None:
    """No style names a font or a picture on another machine."""
    styles = [*SITE.rglob("*.css"), *PAGES]
    assert len(styles) > len(PAGES)
    assert [str(style) for style in styles if CSS_ADDRESS.search(style.read_text())] == []


@all_of("page", [page for page in PAGES if page.name != "404.html"])
def test_every_link_works(page: Path) -> None:
    """A link names a file of the site, and an anchor in it."""
    for link in read(page).links:
        if is_local(link):
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), link
            assert not parts.fragment or unquote(parts.fragment) in read(target).names, link


def test_the_search_index_has_every_page() -> None:
    """Each page with text can be found."""
    index = json.loads((SITE / "search/search_index.json").read_text())
    docs = {doc["location"].partition("#")[0] for doc in index["docs"]}
    assert {str(page.relative_to(SITE)) for page in PAGES} - docs <= {"404.html"}


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_search_finds_words_without_a_server(tmp_path: Path) -> None:
    """A page that is opened as a file in a browser without a network finds a word."""
    result = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom",
            f"file://{SITE}/index.html?q=bubblewrap",
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert 'href="explanation/security.html' in result.stdout.partition("md-search-result__list")[2], result.stderr
