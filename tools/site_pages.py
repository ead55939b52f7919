"""Adds pages from the root of the repository to the site (hooks of MkDocs, used by `make docs`)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "ARCHITECTURE.md": "project/architecture.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", re.DOTALL | re.MULTILINE)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds a page for each file of PAGES."""
    from mkdocs.structure.files import File

    root = os.path.dirname(config.config_file_path)
    for source, target in PAGES.items():
        with open(os.path.join(root, source), encoding="utf-8") as file:
            files.append(File.generated(config, target, content=file.read()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapts the links of a page to the site."""
    path = page.file.src_uri
    origin = next((source for source, target in PAGES.items() if target == path), f"docs/{path}")
    text, end = [], 0
    for fence in FENCE.finditer(markdown):
        text += [adapt_links(markdown[end : fence.start()], origin, path), fence[0]]
        end = fence.end()
    return "".join([*text, adapt_links(markdown[end:], origin, path)])


def adapt_links(text: str, origin: str, path: str) -> str:
    """Points links between files of the repository to pages of the site; a file without a page becomes plain text."""

    def adapt(link: re.Match[str]) -> str:
        mark, label, target, anchor = link.groups()
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        file = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        place = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else "")
        if not place:
            return label
        return f"{mark}[{label}]({os.path.relpath(place, os.path.dirname(path) or '.')}{anchor or ''})"

    return LINK.sub(adapt, text)
