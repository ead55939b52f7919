"""Every command has help, and a mistyped word gets a suggestion."""

from __future__ import annotations

import shlex

import pytest
from conftest import Repo
from support.quick_cases import all_of

from sow import version_text
from sow.cli.command import GROUPS, Command, commands, find, parse
from sow.cli.help import EVERYDAY, EXAMPLES, TOPICS, examples

COMMANDS = [command for group in GROUPS for command in commands(group)]
NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_command_has_help(bare_repo: Repo, command: Command):
    """--help and `sow help` of every command show its usage, its summary and each option."""
    result = bare_repo.ok(*command.name.split(), "--help")
    assert result.out.startswith(f"Usage: sow {command.name}")
    assert f"\n{command.summary}\n" in result.out
    assert all(option.flag in result.out for option in command.options)
    assert all(argument.metavar in result.out for argument in command.arguments)
    assert bare_repo.ok("help", *command.name.split()).out == result.out


@all_of("command", COMMANDS)
def test_every_text_has_the_same_form(command: Command):
    """Every summary, option and argument has a text with a capital letter at its start and no full stop."""
    texts = [command.summary, *(option.help for option in (*command.options, *command.arguments))]
    for text in texts:
        assert text, command.name
        assert text[0].isupper(), text
        assert not text.endswith("."), text
    assert len(command.summary) <= 60, "two words and the summary fit into 80 columns"


@all_of("command", COMMANDS)
def test_every_command_has_examples_that_parse(command: Command):
    """Each example of a command parses, with a real role, executor or status in it."""
    lines = examples(command)
    assert lines, command.name
    for line in lines:
        program, *arguments = shlex.split(line)
        result, rest = find(arguments)
        assert (program, result.name) == ("sow", command.name)
        parse(result, rest)
        assert not any(word.isupper() and len(word) > 3 for word in rest), line


def test_every_example_belongs_to_a_command():
    """No line of the file of examples is without its command."""
    with open(EXAMPLES, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert sorted(lines) == sorted(line for command in COMMANDS for line in examples(command))


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_the_help_shows_groups(bare_repo: Repo, words: tuple[str, ...]):
    """`sow help` shows every group once, under its topic, in 80 columns, with the options and exit codes."""
    out = bare_repo.ok(*words).out
    assert sorted(group for groups in TOPICS.values() for group in groups) == sorted(GROUPS)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    for topic, groups in TOPICS.items():
        start = lines.index(f"{topic} commands") + 1
        assert [line.split()[0] for line in lines[start : start + len(groups)]] == [*groups]
    assert TOPICS["Plumbing"].keys() == {"hook", "prompt", "turn", "schema"}
    assert "Exit codes: 0 done" in out
    assert "  -q, --quiet    " in out


def test_all_commands_on_one_page(bare_repo: Repo):
    """`sow help all` lists every command with its summary."""
    lines = bare_repo.ok("help", "all").out.splitlines()[2:]
    assert [line.split("  ", 2)[1] for line in lines] == NAMES
    assert [line[2:].split("  ", 1)[1].strip() for line in lines] == [command.summary for command in COMMANDS]


def test_a_topic_shows_its_groups(bare_repo: Repo):
    """`sow help plumbing` shows the commands that other programs call."""
    out = bare_repo.ok("help", "plumbing").out
    assert out.startswith("Plumbing commands\n  hook ")
    assert "task" not in out


@pytest.mark.parametrize("words", [("-V",), ("--version",), ("version",), ("-q", "--version"), ("-v", "-V")])
def test_the_version(bare_repo: Repo, words: tuple[str, ...]):
    """The version has a short option, and global options may be before it."""
    assert bare_repo.ok(*words).out == f"sow {version_text()}\n"


def first_screen(repo: Repo, **options: str) -> list[str]:
    """Returns the lines of `sow` alone: the next step, then the everyday commands."""
    lines = repo.ok(**options).out.splitlines()
    start = lines.index("Everyday commands")
    assert [line.split("  ")[1] for line in lines[start + 1 : start + 7]] == [f"sow {words}" for words in EVERYDAY]
    assert lines[-1] == "All commands: sow help"
    assert lines[0] == "Next"
    return lines[1 : start - 1]


def test_sow_alone_outside_of_a_repository(bare_repo: Repo):
    """Without a repository `sow` says so and offers the demo."""
    outside = bare_repo.root.parent / "outside"
    outside.mkdir()
    text, command = first_screen(bare_repo, cwd=outside)
    assert "is not in a git repository" in text
    assert command == "    sow demo"


def test_sow_alone_without_a_project(bare_repo: Repo):
    """In a repository without a project `sow` offers the ways to begin."""
    ways = [line.partition("#") for line in first_screen(bare_repo)[1:]]
    commands = ['sow start "GOAL"', 'sow plan new "GOAL"', "sow run PLAN"]
    commands += ['git switch -c feature/NAME && sow init --project "NAME"']
    assert [command.strip() for command, _, _ in ways] == commands
    assert len({len(command) for command, _, _ in ways}) == 1, "the comments are not in one column"
    assert all(difference for _, _, difference in ways)


def test_sow_alone_in_a_project(task_repo: Repo):
    """In a project, `sow` shows the next step of `sow status`."""
    step = task_repo.ok("status", "--json").json["next"]
    assert first_screen(task_repo) == [f"  {step['text']}", f"    {step['command']}"]
    task_repo.ok("task", "set", "010", "status", "paused", "--reason", "Which one? " * 40)
    assert max(map(len, first_screen(task_repo))) < 160


def test_sow_alone_on_a_broken_project(task_repo: Repo):
    """If the project cannot be read, `sow` shows the error and its hint as the next step."""
    task_repo.git("switch", "-q", "-c", "feat/other")
    lines = first_screen(task_repo)
    assert "belongs to branch" in lines[0]
    assert len(lines) > 1


def test_quiet_and_verbose(task_repo: Repo):
    """-q prints the result alone; -v begins with the checkout and the settings; both may be anywhere."""
    plain = task_repo.ok("task", "list")
    assert task_repo.ok("-q", "task", "list").out == plain.out
    shown = task_repo.ok("task", "list", "-v")
    assert shown.out == plain.out
    assert shown.err.splitlines()[0] == f"Checkout: {task_repo.root}"
    assert shown.err.splitlines()[1].startswith("Config file: ")


def test_yes_is_short_where_it_exists(task_repo: Repo):
    """-y is --yes in commands that ask, and unknown in others."""
    assert task_repo.sow("status", "-y").err.startswith("error: sow status: unknown option --yes")
    task_repo.ok("project", "delete", "-y")
    assert not task_repo.project.exists()


@pytest.mark.parametrize("words", [("help", "task"), ("task", "--help"), ("task", "-h")])
def test_the_help_of_a_group(bare_repo: Repo, words: tuple[str, ...]):
    """A group shows only its own commands."""
    out = bare_repo.ok(*words).out
    assert out.startswith("Usage: sow task COMMAND\n")
    assert "  task create   Create a task\n" in out
    assert "  sow task show 010\n" in out
    assert "phase add" not in out


def test_a_group_alone_names_its_commands(bare_repo: Repo):
    """`sow task` does nothing but name its commands."""
    result = bare_repo.sow("task")
    assert result.code == 2
    assert result.err.splitlines() == [
        "error: sow task needs a command",
        "hint: it is one of: create, add, list, show, set, abandon",
    ]


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("taks",), "sow task"),
        (("statsu",), "sow status"),
        (("task", "craete"), "sow task create"),
        (("task", "approve", "999"), "sow approve"),
        (("note", "resovle", "1"), "sow note resolve"),
        (("help", "projct"), "sow project"),
        (("help", "task", "shwo"), "sow task show"),
    ],
)
def test_a_mistyped_command_gets_a_suggestion(bare_repo: Repo, words: tuple[str, ...], suggestion: str):
    """A word that is nearly a command gets that command as a suggestion."""
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
    """A word that is nearly an option gets that option as a suggestion, with the right usage."""
    result = bare_repo.sow(*words)
    assert result.code == 2
    assert f"(did you mean {suggestion}?)" in result.err
    assert "hint: usage: sow " in result.err


def test_an_unknown_word_without_a_near_one(bare_repo: Repo):
    """Without a near word the hint lists all choices."""
    assert "see all commands: sow help" in bare_repo.sow("xyzzy").err
    assert "see all commands: sow help" in bare_repo.sow("help", "nope").err
    assert "did you mean" not in bare_repo.sow("status", "--bogus").err
    assert "sow task has: create, add, list" in bare_repo.sow("task", "xyzzy").err


def test_the_help_names_the_settings_file_in_use(bare_repo: Repo):
    """The help shows the path of the user's own settings file."""
    assert "configuration from ~/.config/sow/config.yaml.\n" in bare_repo.ok("agent", "spawn", "--help").out
    moved = bare_repo.ok("agent", "spawn", "--help", XDG_CONFIG_HOME="/my/settings").out
    assert "configuration from /my/settings/sow/config.yaml.\n" in moved
