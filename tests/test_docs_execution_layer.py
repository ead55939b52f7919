"""docs/how-to/orchestrator.md is correct: its commands work, and its tables match the installed files."""

from __future__ import annotations

import re
import shlex
import subprocess

from conftest import Repo
from support.paths import ROOT

from sow.agents import layer
from sow.cli.serve.mcp_tools import VERBS

PAGE = (ROOT / "docs" / "how-to" / "orchestrator.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_commands_of_the_page_install_the_layer(bare_repo: Repo) -> None:
    """The block of the page, run in a new repository, leaves the layer."""
    (block,) = re.findall(r"```sh\n(.*?)```", section("Install the layer"), re.DOTALL)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=bare_repo.root, env=bare_repo.environment, capture_output=True
    )
    assert result.returncode == 0, result
    assert (bare_repo.root / ".claude/commands/project/new.md").is_file()


def test_the_commands_of_the_page_print_the_prompt(bare_repo: Repo) -> None:
    """A goal is printed on main; after its commands the project is continued."""
    blocks = re.findall(r"```sh\n(.*?)```", section("Open the orchestrator"), re.DOTALL)
    go_on, begin = blocks[1].splitlines()
    assert "git switch -c feat/login" in bare_repo.ok(*shlex.split(begin)[1:]).out
    bare_repo.git("switch", "-q", "-c", "feat/login")
    bare_repo.ok("init", "--project", "Add a login")
    bare_repo.ok(*go_on.split()[1:])


def test_the_table_of_places_is_complete() -> None:
    """Each CLI has its row with the places to which its layer writes."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", section("Install the layer"), re.M)
    assert [name for name, _, _ in rows] == list(layer.LAYERS)
    for name, *cells in rows:
        for user, cell in enumerate(cells):
            paths = [piece.path for piece in layer.layer(name, user=bool(user)).pieces]
            for place in re.findall(r"`(?:~/)?([^`]+)`", cell):
                start = place.split("*")[0]
                assert any(path.startswith(start) for path in paths), (name, place)


def test_the_table_of_commands_is_complete() -> None:
    """The table has every packaged command, and no other."""
    named = re.findall(
        r"`/([\w:-]+)[ `]", section("Install the layer").partition("| command |")[2].partition("\n\n")[0]
    )
    assert sorted(named) == sorted(command.name.replace("/", ":") for command in layer.commands())


def test_the_commands_of_the_tools_are_named() -> None:
    """The page names every command that is offered as a tool."""
    assert all(f"`{verb}`" in section("Tools over MCP") for verb in VERBS)
