"""The pages of the site: each is in the navigation, each link has a target, and the hooks adapt links."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from support.paths import ROOT
from support.quick_cases import all_of

from tools.site_pages import FENCE, LINK, PAGES, adapt_links

DOCS = ROOT / "docs"
WRITTEN = [*(ROOT / name for name in ("README.md", *PAGES)), *sorted(DOCS.rglob("*.md")), *ROOT.glob("examples/*/*.md")]


def anchors(page: Path) -> set[str]:
    """Returns the anchors of the headings of a page, as both the site and a repository host make them."""
    matches = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M)
    text = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match) for match in matches]
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in text}


@all_of("page", WRITTEN)
def test_every_link_works(page: Path) -> None:
    """A link between the documents names an existing file and heading."""
    for _, _, target, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" not in target:
            file = (page.parent / target).resolve()
            assert file.exists(), target
            assert not anchor or anchor[1:] in anchors(file), target + anchor
    for anchor in re.findall(r"\]\(#([^)]+)\)", FENCE.sub("", page.read_text())):
        assert anchor in anchors(page), anchor


def test_every_page_is_in_the_navigation() -> None:
    """The navigation lists each page once; single decisions are reached through their list."""

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry
        return [page for value in values for page in pages(value)]  # type: ignore[attr-defined]

    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    there = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if not page.name.startswith("0")]
    assert sorted(listed) == sorted([*there, *PAGES.values()])


def test_links_are_adapted_to_the_site() -> None:
    """Files of the repository that are pages become pages; others become plain text; images and addresses stay."""
    text = "[a](../../CONTRIBUTING.md#rules) [b](../../examples) [c](runs.md#setup) ![d](../images/demo.svg) [e](https://x.org/)"
    assert adapt_links(text, "docs/explanation/agents.md", "explanation/agents.md") == (
        "[a](../project/contributing.md#rules) b [c](runs.md#setup) ![d](../images/demo.svg) [e](https://x.org/)"
    )
    assert adapt_links("[a](docs/tutorial.md)", "CHANGELOG.md", "project/changelog.md") == "[a](../tutorial.md)"
