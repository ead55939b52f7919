"""sow's parser and Python's accept the same command lines with the same values."""

from __future__ import annotations

import argparse
import inspect
from functools import cache
from typing import Any, NoReturn

import pytest
from conftest import FULL, Repo
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.cli.command import GLOBAL, GROUPS, SHORT, Argument, Command, HelpWanted, Option, commands, parse
from sow.errors import SowError

COMMANDS = [command for group in GROUPS for command in commands(group)]
NAMES = [command.name for command in COMMANDS]
# The options that a function takes together, as **call or **turn.
TURN = {"model", "timeout", "dry_run", "json"}
LIMITS = {"max_concurrency", "executor", "timeout", "max_cost", "max_wait"}
CHOICES = {"agent", "schedule", "isolation", "review", "baseline", "retries", "accept", "final_checks", "history"}
HOSTS = {"on", "cluster"}
LISTS = {"tag", "parallel_stories"}
COLLECTED = {
    "agent spawn": TURN,
    "agent resume": TURN,
    "workflow run": LIMITS,
    "run": LIMITS | CHOICES | HOSTS,
    "plan new": {"from", "executor", "timeout"},
    **dict.fromkeys(("plan show", "plan validate", "plan waves", "plan simulate", "plan import"), LISTS),
}
every_command = pytest.mark.parametrize("command", COMMANDS, ids=NAMES)


def spellings(option: Option) -> list[str]:
    """Returns the long and the short form of a flag."""
    return [option.flag, *(short for short, flag in SHORT.items() if flag == option.flag)]


class Refused(Exception):
    """An error of argparse."""


class Peer(argparse.ArgumentParser):
    """Python's parser, made from the same table."""

    def __init__(self, command: Command) -> None:
        super().__init__(prog=f"sow {command.name}", allow_abbrev=False, add_help=False)
        self.implied = {option.flag: option.implied for option in command.options if option.implied}
        for option in (*command.options, *GLOBAL):
            self._option(option)
        for argument in command.arguments:
            self._argument(argument)

    def _option(self, option: Option) -> None:
        if not option.metavar:
            self.add_argument(*spellings(option), action="store_true")
        elif option.repeat:
            self.add_argument(option.flag, action="append", default=[], choices=option.choices or None)
        else:
            more = {"choices": option.choices or None, "required": option.required, "default": option.default}
            self.add_argument(option.flag, **more)

    def _argument(self, argument: Argument) -> None:
        if argument.repeat:
            count = "*" if argument.optional else "+"
            self.add_argument(argument.name, nargs=count, default=[], choices=argument.choices or None)
        elif argument.optional:
            self.add_argument(argument.name, nargs="?", default="", choices=argument.choices or None)
        else:
            self.add_argument(argument.name, choices=argument.choices or None)

    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def understand(self, words: list[str]) -> dict[str, Any]:
        """Returns the values of a command line; arguments and options may be mixed."""
        end = words.index("--") if "--" in words else len(words)
        words = [f"{word}={self.implied[word]}" if word in self.implied else word for word in words[:end]] + words[end:]
        return vars(self.parse_args(words) if "--" in words else self.parse_intermixed_args(words))


@cache
def peer(command: Command) -> Peer:
    """Makes the parser once, since that is slow."""
    return Peer(command)


def ours(command: Command, words: list[str]) -> dict[str, Any]:
    """Returns the values of sow's parser, including the global options."""
    values, shared = parse(command, words)
    return {**values, **shared}


# A value that is a bare double dash is dropped by Python's parser, which is its mistake and not ours.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12).filter("--".__ne__)
plain = texts.filter(lambda text: not text.startswith("-"))


def value_of(entry: Option | Argument, free: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(entry.choices) if entry.choices else free


@st.composite
def spoken_option(draw: st.DrawFn, option: Option) -> list[list[str]]:
    """Generates the words of one option, in one of its two spellings."""
    if not option.metavar:
        return [[draw(st.sampled_from(spellings(option)))]]
    count = draw(st.integers(1, 3)) if option.repeat else 1
    spoken = []
    for _ in range(count):
        if draw(st.booleans()):
            spoken.append([f"{option.flag}={draw(value_of(option, texts))}"])
        elif option.implied:
            spoken.append([option.flag])
        else:
            spoken.append([option.flag, draw(value_of(option, plain))])
    return spoken


@st.composite
def places(draw: st.DrawFn, command: Command, free: st.SearchStrategy[str]) -> list[str]:
    """Generates the arguments, as many as the table allows."""
    text: list[str] = []
    for argument in command.arguments:
        if argument.repeat:
            text += draw(st.lists(value_of(argument, free), min_size=0 if argument.optional else 1, max_size=3))
        elif argument.optional and draw(st.booleans()):
            break
        else:
            text.append(draw(value_of(argument, free)))
    return text


@st.composite
def valid_line(draw: st.DrawFn, command: Command) -> list[str]:
    """Generates a valid call: options in any order, mixed with arguments or all before a double dash."""
    chunks: list[list[str]] = []
    for option in (*command.options, *GLOBAL):
        if option.required or draw(st.booleans()):
            chunks += draw(spoken_option(option))
    chunks = draw(st.permutations(chunks))
    if command.arguments and draw(st.booleans()):
        return [word for chunk in chunks for word in chunk] + ["--", *draw(places(command, texts))]
    mixed = list(chunks)
    at = 0
    for word in draw(places(command, plain)):
        at = draw(st.integers(at, len(mixed)))
        mixed.insert(at, [word])
        at += 1
    return [word for chunk in mixed for word in chunk]


@every_command
@given(data=st.data())
@settings(max_examples=1000 if FULL else 4)
def test_both_parsers_agree_on_valid_lines(command: Command, data: st.DataObject):
    """On every valid line the two parsers find the same values, repeats and defaults."""
    text = data.draw(valid_line(command))
    assert ours(command, text) == peer(command).understand(text)


@st.composite
def wrong_line(draw: st.DrawFn, command: Command) -> tuple[str, list[str]]:
    """Generates a call with one error, and the kind of the error."""
    right = draw(valid_line(command))
    before = right[: right.index("--")] if "--" in right else right
    kinds = {"unknown option": ["--no-such-option", *right], "unknown letter": ["-x", *right]}
    kinds["unknown word"] = ["-quick", *right]
    valued = [option for option in (*command.options, *GLOBAL) if option.metavar and not option.implied]
    option = draw(st.sampled_from(valued))
    kinds["missing value"] = [*_without(before, option), option.flag]
    kinds["value of a flag"] = ["--debug=yes", *right]
    if not any(argument.repeat for argument in command.arguments):
        kinds["one too many"] = [*before, "--", *(["x"] * (len(command.arguments) + 1))]
    for item in command.options:
        if item.required:
            kinds[f"missing {item.flag}"] = _without(right, item)
        if item.choices:
            kinds[f"bad {item.flag}"] = [*_without(before, item), f"{item.flag}=no such choice"]
    if any(not argument.optional for argument in command.arguments):
        kinds["missing place"] = draw(valid_line(Command(command.name, command.run, "", *command.options)))
    name = draw(st.sampled_from(sorted(kinds)))
    return name, kinds[name]


def _without(words: list[str], option: Option) -> list[str]:
    """Returns the words without this option and its values."""
    left: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*left, word, *waiting]
        if word == option.flag and option.metavar and not option.implied:
            waiting.pop(0)
        elif word.partition("=")[0] not in spellings(option):
            left.append(word)
    return left


@every_command
@given(data=st.data())
@settings(max_examples=1000 if FULL else 4)
def test_both_parsers_refuse_the_same_lines(command: Command, data: st.DataObject):
    """A missing, unknown or surplus word, or a missing value, is refused by both parsers."""
    kind, text = data.draw(wrong_line(command))
    with pytest.raises(Refused):
        peer(command).understand(text)
    with pytest.raises(SowError) as error:
        ours(command, text)
    assert f"sow {command.name}: " in error.value.message, kind


@every_command
def test_a_function_takes_what_its_table_names(command: Command):
    """The function of every command takes the context and exactly the values of its table."""
    first, *others = inspect.signature(command.function()).parameters.values()
    assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {other.kind for other in others} <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    named = [argument.name for argument in (*command.arguments, *command.options)]
    own = {other.name for other in others if other.kind is inspect.Parameter.KEYWORD_ONLY}
    collected = {name for name in named if name not in own}
    assert own <= set(named)
    assert collected == COLLECTED.get(command.name, set())
    assert len(set(named)) == len(named)


@every_command
def test_the_table_is_valid(command: Command):
    """Flags are long and in lower case, choices include the default, and only the last argument repeats."""
    for option in command.options:
        assert option.flag.startswith("--")
        assert option.flag == option.flag.lower()
        assert not option.choices or not option.default or option.default in option.choices
        assert option.flag not in [item.flag for item in GLOBAL]
    flexible = [argument.optional or argument.repeat for argument in command.arguments]
    assert flexible == sorted(flexible)
    assert not any(argument.repeat for argument in command.arguments[:-1])


SAMPLE = Command(
    "sample",
    lambda context, **values: 0,
    "A sample",
    Argument("first"),
    Argument("second", optional=True),
    Option("--one", "ONE"),
    Option("--many", "MANY", repeat=True),
    Option("--flag"),
)


@all_of(
    ("words", "problem"),
    [
        (["x", "--one", "a", "--one", "b"], "--one is given twice"),
        (["x", "--one="], "--one is empty"),
        (["x", "--many", ""], "--many is empty"),
        (["x", "--one", "--flag"], "--one needs a value; write one that starts with -- as --one=VALUE"),
        (["x", "y", "z"], "unexpected argument 'z'; quote a text of several words"),
        ([], "FIRST is missing"),
        (["--flag=yes", "x"], "--flag takes no value"),
        (["-x"], "unknown option -x; put a text that starts with - after --"),
        (["-quick"], "unknown option -quick; put a text that starts with - after --"),
    ],
)
def test_common_mistakes_are_refused_with_a_hint(words: list[str], problem: str):
    """The most frequent mistakes of agents are refused with what to do."""
    with pytest.raises(SowError) as error:
        parse(SAMPLE, words)
    assert error.value.message == f"sow sample: {problem}"
    assert error.value.hint == "usage: sow sample FIRST [SECOND] [--one ONE] [--many MANY…] [--flag]"


@all_of(
    ("words", "first"),
    [
        (["-"], "-"),
        (["-5"], "-5"),
        (["-x is wrong here"], "-x is wrong here"),
        (["--one is wrong here"], "--one is wrong here"),
        (["--", "--one"], "--one"),
        (["--", "-h"], "-h"),
        ([""], ""),
        (["a=b"], "a=b"),
    ],
)
def test_texts_that_look_like_options(words: list[str], first: str):
    """A sentence that begins with a dash is a text, and so is everything after a double dash."""
    assert parse(SAMPLE, words)[0]["first"] == first


@pytest.mark.parametrize("words", [["--help"], ["x", "-h"], ["--one", "a", "--help"], ["--nonsense-comes-later", "-h"]])
def test_help_works_among_other_words(words: list[str]):
    """--help works unless a word before it is wrong."""
    expected = SowError if words[0].startswith("--nonsense") else HelpWanted
    with pytest.raises(expected):
        parse(SAMPLE, words)


def names_a_task(command: Command) -> bool:
    """Tells whether a command takes the id of one task, as an argument or as an option."""
    options = [option for option in command.options if option.flag in ("--task", "--id") and not option.repeat]
    return bool(options) or any(argument.completes in ("tasks", "questions") for argument in command.arguments)


OF_A_TASK = [command for group in GROUPS for command in commands(group) if names_a_task(command)]


@all_of("command", OF_A_TASK)
def test_every_command_names_a_task_in_three_ways(command: Command):
    """ID, --task ID and --id ID mean the same in every command that names a task (B22)."""
    required = [word for option in command.options if option.required for word in (option.flag, "x")]
    others = [
        argument.choices[0] if argument.choices else "x"
        for argument in command.arguments
        if argument.completes != "tasks"
    ]
    if any(argument.completes == "questions" for argument in command.arguments):
        others = others[1:]
    forms = [parse(command, [*others, *required, flag, "010"])[0] for flag in ("--task", "--id")]
    position = next(
        (at for at, argument in enumerate(command.arguments) if argument.completes in ("tasks", "questions")), 0
    )
    forms.append(parse(command, [*others[:position], "010", *others[position:], *required])[0])
    assert forms[0] == forms[1] == forms[2]
    assert "010" in forms[0].values()


def test_two_task_ids_are_refused():
    """Two ids are never one of them silently."""
    command = next(entry for entry in OF_A_TASK if entry.name == "task show")
    with pytest.raises(SowError, match="unexpected argument '010'"):
        parse(command, ["010", "--task", "020"])
    with pytest.raises(SowError, match="is given twice"):
        parse(command, ["--id", "010", "--task", "020"])


def test_show_with_id_and_set_without_it_work(task_repo: Repo):
    """`sow task show --id 010` and `sow task set 010 status paused` work (B22)."""
    assert task_repo.ok("task", "show", "--id", "010").out.startswith("Task 010")
    task_repo.ok("task", "set", "010", "status", "paused", "--reason", "Which one?")
    task_repo.ok("answer", "--task", "010", "This one")
    task_repo.ok("log", "010", "done")
    assert task_repo.task("010")["log"][-1]["text"] == "done"
