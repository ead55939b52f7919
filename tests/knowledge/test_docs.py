"""docs/how-to/knowledge.md is correct: its commands print what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from agents.test_prompts import commands
from conftest import SOW
from support.paths import ROOT
from support.quick_cases import all_of

from sow.cli.command import find, parse

PAGE = (ROOT / "docs" / "how-to" / "knowledge.md").read_text()
SECTION = PAGE.partition("## In a new repository\n")[2].partition("\n## Sinks\n")[0]
COMMIT = re.compile(r"\bat [0-9a-f]{10}\b")


def test_the_walk_through_works(tmp_path: Path, environment: dict[str, str]) -> None:
    """Every command of the page, typed in order, prints what the page shows, except the commit and paths."""
    (setup,) = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    shown = "".join(re.findall(r"```console\n(.*?)```", SECTION, re.DOTALL))
    home = tmp_path / "ada"
    home.mkdir()
    typed = [line for line in shown.splitlines() if line.startswith("$ ")]
    script = [setup, *(f"echo {quoted(line)}\n{line.removeprefix('$ ')}\n" for line in typed)]
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(script)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")
    placed = result.stdout.replace(str(home), "/home/ada").replace(SOW, "/home/ada/.local/bin/sow")
    printed = COMMIT.sub("at 8e2bf9da07", placed)
    assert printed == shown
    assert len(typed) >= 9


@all_of("line", sorted(set(commands(PAGE))))
def test_every_command_on_the_page_exists(line: str) -> None:
    """Each `sow …` parses, or is the bare name of a command."""
    command, rest = find(shlex.split(line.partition(" > ")[0], comments=True)[1:])
    if rest:
        parse(command, rest)


def quoted(line: str) -> str:
    """Returns a line of the page as one word of the shell."""
    return "'" + line.replace("'", "'\\''") + "'"


@pytest.mark.parametrize("name", ["adr new", "adr list", "context", "sinks install", "repos add", "start"])
def test_the_page_names_its_commands(name: str) -> None:
    """Every command about knowledge is on the page."""
    assert f"sow {name}" in PAGE
