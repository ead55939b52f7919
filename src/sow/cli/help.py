"""Builds the help texts from the command table."""

from __future__ import annotations

from sow.cli.command import GLOBAL, GROUPS, Argument, Command, Option, commands

USUAL_CONFIG = "~/.config/sow/config.yaml"  # in the help texts, replaced by the user's real path
INTRO = """sow: a system of work for AI coding agents

Usage: sow COMMAND …
"""
OUTRO = """
Every command has its own help: sow COMMAND --help
Exit codes: 0 done, 1 something failed, 2 bad input, 3 our own fault, 4 waits for somebody, 130 interrupted
"""


def _option_usage(option: Option) -> str:
    return f"{option.flag} {option.metavar}" if option.metavar else option.flag


def _argument_usage(argument: Argument) -> str:
    name = f"{argument.metavar}…" if argument.repeat else argument.metavar
    return f"[{name}]" if argument.optional else name


def usage_line(command: Command) -> str:
    """Returns the usage of a command on one line."""
    parts = [f"sow {command.name}", *(_argument_usage(argument) for argument in command.arguments)]
    for option in command.options:
        text = _option_usage(option) + ("…" if option.repeat else "")
        parts.append(text if option.required else f"[{text}]")
    return " ".join(parts)


def command_help(command: Command) -> str:
    """Returns the full help of a command."""
    rows = [(argument.metavar, _text(argument)) for argument in command.arguments]
    rows += [(_option_usage(option), _text(option)) for option in command.options]
    rows += [(_option_usage(option), option.help) for option in GLOBAL]
    width = max(len(left) for left, _ in rows)
    lines = [f"Usage: {usage_line(command)}", "", command.summary, ""]
    lines += [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]
    if command.details:
        lines += ["", command.details.strip("\n")]
    return "\n".join(lines) + "\n"


def _text(entry: Option | Argument) -> str:
    notes = [f"one of: {', '.join(entry.choices)}"] if entry.choices else []
    if isinstance(entry, Option):
        notes += ["may be repeated"] if entry.repeat else []
        notes += [f"default: {entry.default}"] if entry.default else []
    return f"{entry.help} ({'; '.join(notes)})" if notes else entry.help


def group_help(group: str) -> str:
    """Returns the help of a group of commands."""
    table = commands(group)
    own = [command for command in table if command.name == group]
    others = [command for command in table if command.name != group]
    if own and not others:
        return command_help(own[0])
    head = f"{command_help(own[0])}\nBesides:\n" if own else f"Usage: sow {group} COMMAND …\n\n"
    return f"{head}{_summaries(others)}\nEvery command has its own help: sow {group} COMMAND --help\n"


def full_help() -> str:
    """Returns the list of all commands."""
    return INTRO + "\n" + _summaries([command for group in GROUPS for command in commands(group)]) + OUTRO


def _summaries(table: list[Command]) -> str:
    width = max(len(command.name) for command in table)
    return "".join(f"  {command.name:<{width}}  {command.summary}\n" for command in table)
