"""Every `sow …` in every document, command file and plugin file is a call that the program has."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.docs_commands import calls, parsed
from support.docs_commands import check as check_call
from support.paths import ROOT

from sow.agents import layer
from sow.errors import SowError

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "plugin/**/*.md", "src/sow/agents/layer_text/**/*.md")
    for path in ROOT.glob(pattern)
)
INVENTED = {'sow task rename 010 "New name"'}  # what CONTRIBUTING.md adds as an example


def check(text: str) -> int:
    """Fenced calls parse as a whole; a call in running text parses, or names what there is."""
    fenced, inline = calls(text)
    for line in fenced:
        if line not in INVENTED:
            parsed(line)
    for line in inline:
        if line not in INVENTED:
            check_call(line)
    return len(fenced) + len(inline)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_call_in_a_document_is_one_that_exists(path: Path) -> None:
    """No page tells its reader to type what the program does not know."""
    check(path.read_text())


@pytest.mark.parametrize("name", sorted(layer.LAYERS))
@pytest.mark.parametrize("user", [False, True])
def test_every_call_in_an_installed_file_is_one_that_exists(name: str, user: bool) -> None:
    """The same holds for every file that `sow install` writes, whatever the CLI."""
    pieces = layer.layer(name, user=user).pieces
    assert sum(check(each.text) for each in pieces) >= 5


@pytest.mark.parametrize(
    "line",
    ["sow nonsense", "sow task explode", "sow run --no-such-flag", "sow workflow new|fly", "sow task set colour"],
)
def test_a_wrong_call_would_be_noticed(line: str) -> None:
    """A call that the program does not have fails in running text, and in a fence."""
    for text in (f"Type `{line}` now.", f"```sh\n{line}\n```", f"1. Do\n\n   ```\n   $ {line}\n   ```"):
        with pytest.raises(SowError):
            check(text)
