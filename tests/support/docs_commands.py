"""Finds the calls of sow in a text and parses them with the real command line."""

from __future__ import annotations

import re
import shlex
from typing import Any

from sow.cli.command import GLOBAL, GROUPS, Command, find, parse
from sow.errors import SowError

ASSIGNMENTS = re.compile(r"^(?:[A-Z_]+=\S+ )+")
PLACEHOLDER = re.compile(r"…|[A-Z]+…?")


def calls(text: str) -> tuple[list[str], list[str]]:
    """Returns the lines of a text that start with `sow ` (after variables), in fences and in backticks."""
    fenced: list[str] = []
    inline: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line.strip()[: len(line.strip()) - len(line.strip().lstrip("`"))]
        if len(mark) >= 3 and (not fence or mark == fence):
            fence = "" if fence else mark
        elif fence:
            output = ASSIGNMENTS.sub("", line.strip().removeprefix("$ ").removeprefix("cd shop && "))
            fenced += [output] if output.startswith("sow ") else []
        else:
            inline += re.findall(r"`(sow [^`]*)`", line)
    return fenced, inline


def commands(text: str) -> list[str]:
    """Returns all commands."""
    return [line for part in calls(text) for line in part]


def parsed(line: str) -> tuple[Command, dict[str, Any]]:
    """Parses a whole call with the real command line, without a redirection of the shell."""
    command, rest = find(shlex.split(line.partition(" > ")[0], comments=True)[1:])
    return command, parse(command, rest)[0]


def check(line: str) -> None:
    """Checks a call in running text: `a|b` means several calls; each parses, or names a command."""
    head, bar, tail = line.partition("|")
    if bar:
        start, _, first = head.rpartition(" ")
        second, _, rest = tail.partition(" ")
        for choice in (first, *second.split("|")):
            check(f"{start} {choice} {rest}".strip())
        return
    try:
        parsed(line)
    except SowError:
        check_mention(line)


def check_mention(line: str) -> None:
    """Checks a call that is only mentioned: an existing command, and flags that it has."""
    parts = line.split()[1:]
    if parts[0] == "help":
        parts = [word for word in parts[1:] if word not in ("all", "COMMAND")]
        if parts:
            find(parts)
        return
    if parts == ["--version"] or (len(parts) == 1 and _is_group(parts[0])):
        return
    command, left = find(parts)
    flags = {option.flag for option in (*GLOBAL, *command.options)}
    pattern = any(PLACEHOLDER.fullmatch(word) for word in left)  # then its other words are values
    odd = [word for word in left if word not in flags and (word[0] == "-" or not pattern)]
    if odd:
        raise SowError(f"{line}: {odd[0]} is nothing that {command.name} has", "write it as it is")


def _is_group(word: str) -> bool:
    return word in GROUPS and all(word != command.name for command in _table(word))


def _table(group: str) -> list[Command]:
    from sow.cli.command import commands as table

    return table(group)
