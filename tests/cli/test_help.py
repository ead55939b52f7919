"""Help for every command, and a hand for every mistyped word."""

from __future__ import annotations

import pytest
from conftest import Repo
from support.quick_cases import all_of

from sow.cli.command import GROUPS, Command, commands

COMMANDS = [command for group in GROUPS for command in commands(group)]
NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_command_has_help(bare_repo: Repo, command: Command):
    """--help of every command shows its usage, its summary and each of its options, and so does `sow help`."""
    result = bare_repo.ok(*command.name.split(), "--help")
    assert result.out.startswith(f"Usage: sow {command.name}")
    assert f"\n{command.summary}\n" in result.out
    assert all(option.flag in result.out for option in command.options)
    assert all(argument.metavar in result.out for argument in command.arguments)
    assert bare_repo.ok("help", *command.name.split()).out == result.out


@all_of("command", COMMANDS)
def test_texts_are_there_for_everything(command: Command):
    """Every summary, option and argument has a text that starts with a capital letter and has no full stop."""
    texts = [command.summary, *(each.help for each in (*command.options, *command.arguments))]
    for text in texts:
        assert text, command.name
        assert text[0].isupper(), text
        assert not text.endswith("."), text


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_all_commands_on_one_page(bare_repo: Repo, words: tuple[str, ...]):
    """Without a command, sow lists all of them with a line each, and the exit codes."""
    out = bare_repo.ok(*words).out
    for command in COMMANDS:
        assert any(
            line.split("  ")[1] == command.name and line.endswith(command.summary)
            for line in out.splitlines()
            if line.startswith("  ")
        ), command.name
    assert "Exit codes: 0 done" in out


@pytest.mark.parametrize("words", [("help", "task"), ("task", "--help"), ("task", "-h")])
def test_the_help_of_a_group(bare_repo: Repo, words: tuple[str, ...]):
    """A group shows its commands and nobody else's."""
    out = bare_repo.ok(*words).out
    assert out.startswith("Usage: sow task COMMAND …\n")
    assert "  task create   Create a task\n" in out
    assert "phase add" not in out


def test_a_group_alone_is_a_question(bare_repo: Repo):
    """`sow task` does nothing: it asks which command is meant, and names them."""
    result = bare_repo.sow("task")
    assert result.code == 2
    assert result.err.splitlines() == [
        "error: sow task: which command?",
        "hint: one of: create, add, list, show, set, abandon",
    ]


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("taks",), "sow task"),
        (("statsu",), "sow status"),
        (("task", "craete"), "sow task create"),
        (("note", "resovle", "1"), "sow note resolve"),
        (("help", "projct"), "sow project"),
        (("help", "task", "shwo"), "sow task show"),
    ],
)
def test_a_mistyped_command_gets_a_suggestion(bare_repo: Repo, words: tuple[str, ...], suggestion: str):
    """A word that is nearly a command is answered with that command."""
    result = bare_repo.sow(*words)
    assert result.code == 2
    assert f"hint: did you mean '{suggestion}'?" in result.err


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("task", "create", "--nam", "x"), "--name"),
        (("log", "--resutl=x", "text"), "--result"),
        (("status", "--jsno"), "--json"),
        (("status", "--rot", "x"), "--root"),
    ],
)
def test_a_mistyped_option_gets_a_suggestion(bare_repo: Repo, words: tuple[str, ...], suggestion: str):
    """A word that is nearly an option is answered with that option, and with the right usage."""
    result = bare_repo.sow(*words)
    assert result.code == 2
    assert f"(did you mean {suggestion}?)" in result.err
    assert "hint: usage: sow " in result.err


def test_a_word_that_is_near_to_nothing(bare_repo: Repo):
    """Without a near word the hint lists what there is."""
    assert "see 'sow --help'" in bare_repo.sow("xyzzy").err
    assert "sow task has: create, add, list" in bare_repo.sow("task", "xyzzy").err


def test_the_help_names_the_file_that_counts_here(bare_repo: Repo):
    """Who keeps settings elsewhere reads where theirs are."""
    assert "configuration from ~/.config/sow/config.yaml\n" in bare_repo.ok("agent", "spawn", "--help").out
    moved = bare_repo.ok("agent", "spawn", "--help", XDG_CONFIG_HOME="/my/settings").out
    assert "configuration from /my/settings/sow/config.yaml\n" in moved
