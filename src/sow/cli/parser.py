"""Parses the arguments of a command; anything unexpected is an error."""

from __future__ import annotations

from sow.cli.command import GLOBAL, Command, Option
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class HelpWanted(Exception):
    """Raised if the arguments contain `--help`."""


def parse(command: Command, arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values of the command's arguments and of the global options."""
    options = {option.flag: option for option in (*GLOBAL, *command.options)}
    values: dict[str, Any] = {}
    positional: list[str] = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            positional += remaining
            break
        if word in ("--help", "-h"):
            raise HelpWanted
        flag, equals, attached = word.partition("=")
        if word.startswith("--") and " " not in flag:
            option = _option(command, options, flag)
            _store(command, option, values, equals, attached, remaining)
        elif word[:1] == "-" and word[1:2].isalpha() and " " not in word:
            raise usage(command, f"unknown option {word} (a text that starts with - comes after --)")
        else:
            positional.append(word)
    own = _option_values(command, values)
    own.update(_parse_positional(command, positional))
    return own, {option.name: values.get(option.name, "" if option.metavar else False) for option in GLOBAL}


def usage(command: Command, problem: str) -> SowError:
    """Returns the error for a wrong call, with the usage as its hint."""
    from sow.cli.help import usage_line

    return SowError(f"sow {command.name}: {problem}", f"usage: {usage_line(command)}")


def _option(command: Command, options: dict[str, Option], flag: str) -> Option:
    if flag in options:
        return options[flag]
    from difflib import get_close_matches

    near = get_close_matches(flag, options, n=1)
    raise usage(command, f"unknown option {flag}" + (f" (did you mean {near[0]}?)" if near else ""))


def _store(
    command: Command, option: Option, values: dict[str, Any], equals: str, attached: str, remaining: list[str]
) -> None:
    if not option.metavar:
        if equals:
            raise usage(command, f"{option.flag} takes no value")
        values[option.name] = True
        return
    if not equals and (not remaining or remaining[0].startswith("--")):
        raise usage(command, f"{option.flag} needs a value (one that starts with -- is given as {option.flag}=…)")
    value = attached if equals else remaining.pop(0)
    if not value:
        raise usage(command, f"{option.flag} is empty")
    if option.choices and value not in option.choices:
        raise SowError(
            f"sow {command.name}: {option.flag} cannot be {value!r}",
            f"{option.flag} is one of: {', '.join(option.choices)}",
        )
    if option.repeat:
        values.setdefault(option.name, []).append(value)
    elif option.name in values:
        raise usage(command, f"{option.flag} is given twice")
    else:
        values[option.name] = value


def _option_values(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    own = {}
    for option in command.options:
        if option.required and option.name not in values:
            raise usage(command, f"{option.flag} is required")
        empty: Any = [] if option.repeat else option.default if option.metavar else False
        own[option.name] = values.get(option.name, empty)
    return own


def _parse_positional(command: Command, positional: list[str]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    for argument in command.arguments:
        if argument.repeat and (positional or argument.optional):
            own[argument.name], positional = positional, []
        elif positional:
            own[argument.name] = positional.pop(0)
        elif argument.optional:
            own[argument.name] = ""
        else:
            raise usage(command, f"{argument.metavar} is missing")
        is_given = own[argument.name] or not argument.optional
        if argument.choices and is_given and own[argument.name] not in argument.choices:
            raise SowError(
                f"sow {command.name}: {argument.metavar} cannot be {own[argument.name]!r}",
                f"it is one of: {', '.join(argument.choices)}",
            )
    if positional:
        raise usage(command, f"{positional[0]!r} is one argument too many (a text of several words needs quotes)")
    return own
