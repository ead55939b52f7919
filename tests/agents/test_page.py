"""docs/explanation/agents.md is correct: its commands exist, and its prompts can be loaded."""

from __future__ import annotations

import shlex

from support.paths import ROOT
from support.quick_cases import all_of

from agents.test_prompts import commands
from sow.agents import prompts
from sow.cli.command import find, parse

PAGE = (ROOT / "docs" / "explanation" / "agents.md").read_text()
LINES = sorted(set(commands(PAGE)))


@all_of("line", LINES)
def test_every_command_on_the_page_exists(line: str) -> None:
    """Each `sow …` is a call that the real parser takes, or a command's bare name; a prompt that it loads is there."""
    command, rest = find(shlex.split(line)[1:])
    values = parse(command, rest)[0] if rest else {}
    if command.name == "prompt" and not values["list"]:
        assert prompts.load(values["name"])


def test_the_page_tells_how_a_worker_begins() -> None:
    """The chain of a worker's first commands is the one that the prompts lead it along."""
    assert "`sow prompt guidance/implementer/base`" in PAGE and "sow prompt --list" in LINES
    assert commands(prompts.load("templates/implementer"))[0] == "sow prompt guidance/implementer/base"
    messages = commands(prompts.load("guidance/implementer/base"))
    named = [
        line for line in LINES if line.startswith("sow prompt guidance/") and not line.endswith(("base", "contract"))
    ]
    assert named and set(named) <= set(messages)
