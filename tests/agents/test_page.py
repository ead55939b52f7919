"""docs/explanation/agents.md is correct: its commands exist, and its prompts can be loaded."""

from __future__ import annotations

import shlex

from support.paths import ROOT
from support.quick_cases import all_of

from agents.test_prompts import commands
from sow.agents import briefing
from sow.cli.command import find, parse

PAGE = (ROOT / "docs" / "explanation" / "agents.md").read_text()
LINES = sorted(set(commands(PAGE)))


@all_of("line", LINES)
def test_every_command_on_the_page_exists(line: str) -> None:
    """Each `sow …` on the page parses, or is the bare name of a command; each prompt that it loads exists."""
    command, rest = find(shlex.split(line)[1:])
    values = parse(command, rest)[0] if rest else {}
    if command.name == "prompt" and not values["list"]:
        assert briefing.load_template(values["name"])


def test_the_page_shows_the_first_commands_of_a_worker() -> None:
    """The page lists the same first commands as the prompts."""
    assert "`sow prompt guidance/implementer/base`" in PAGE and "sow prompt --list" in LINES
    assert commands(briefing.load_template("templates/implementer"))[0] == "sow prompt guidance/implementer/base"
    messages = commands(briefing.load_template("guidance/implementer/base"))
    named = [
        line for line in LINES if line.startswith("sow prompt guidance/") and not line.endswith(("base", "contract"))
    ]
    assert named and set(named) <= set(messages)
