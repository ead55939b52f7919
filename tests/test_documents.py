"""Every `sow …` in every document, command file and plugin file is a valid call."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from support.docs_commands import calls, parsed
from support.docs_commands import check as check_call
from support.paths import ROOT
from support.quick_cases import all_of

from sow.agents import layer
from sow.errors import SowError

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "plugin/**/*.md", "src/sow/agents/layer_text/**/*.md")
    for path in ROOT.glob(pattern)
)
INVENTED = {'sow task rename 010 "New name"'}  # what CONTRIBUTING.md adds as an example


def check(text: str) -> int:
    """Checks that fenced calls parse as a whole, and that a call in running text parses or names a command."""
    fenced, inline = calls(text)
    for line in fenced:
        if line not in INVENTED:
            parsed(line)
    for line in inline:
        if line not in INVENTED:
            check_call(line)
    return len(fenced) + len(inline)


@all_of("path", PAGES)
def test_every_call_in_a_document_parses(path: Path) -> None:
    """No page tells its reader to type what the program does not know."""
    check(path.read_text())


@all_of("name", sorted(layer.LAYERS))
@all_of("user", [False, True])
def test_every_call_in_an_installed_file_parses(name: str, user: bool) -> None:
    """The same holds for every file that `sow install` writes, for any CLI."""
    pieces = layer.layer(name, user=user).pieces
    assert sum(check(piece.text) for piece in pieces) >= 5


@pytest.mark.parametrize(
    "line",
    ["sow nonsense", "sow task explode", "sow run --no-such-flag", "sow workflow new|fly", "sow task set colour"],
)
def test_a_wrong_call_is_found(line: str) -> None:
    """An unknown call fails in running text and in a fence."""
    for text in (f"Type `{line}` now.", f"```sh\n{line}\n```", f"1. Do\n\n   ```\n   $ {line}\n   ```"):
        with pytest.raises(SowError):
            check(text)


PACKAGES = sorted(path.name for path in (ROOT / "src/sow").iterdir() if path.is_dir() and path.name.isidentifier())
DOTTED = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)(?:\(\))?`")
PATHS = re.compile(r"`((?:src|tests|tools|bench|docs)/[\w./-]+\.(?:py|md))`")
INVENTED_PATHS = {
    "src/sow/executors/clis/scribe.py",
    "tests/executors/clis/test_scribe.py",
    "tests/real/test_scribe.py",
}  # of CONTRIBUTING.md


def resolve(name: str) -> object:
    """Returns the module, class, function or attribute of a dotted name below `sow`."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            result: object = importlib.import_module(".".join(["sow", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            result = getattr(result, part)
        return result
    raise AttributeError(name)


@all_of(
    "path",
    [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/decisions").glob("*.md"))],
)
def test_every_code_name_in_a_document_exists(path: Path) -> None:
    """A page about the code names existing modules, classes and files."""
    text = path.read_text()
    for name in DOTTED.findall(text):
        resolve(name)
    assert [name for name in PATHS.findall(text) if not (ROOT / name).exists() and name not in INVENTED_PATHS] == []


def test_a_wrong_name_is_found() -> None:
    """A moved module and a renamed function are found."""
    for name in ("store.desk", "domain.task.gone"):
        with pytest.raises(AttributeError):
            resolve(name)
