"""Finds the module and the command for given arguments; a new group is one entry here and one module."""

from __future__ import annotations

from importlib import import_module

from sow.cli.spec import Command
from sow.errors import SowError

GROUPS = {
    "init": "init",
    "start": "start",
    "continue": "start",
    "status": "status",
    "project": "project",
    "phase": "phase",
    "task": "task",
    "plan": "plan",
    "run": "run",
    "runs": "runs",
    "watch": "watch",
    "workflow": "workflow",
    "integrate": "integrate",
    "salvage": "salvage",
    "sinks": "sinks",
    "repos": "repos",
    "context": "references",
    "adr": "adr",
    "feedback": "feedback",
    "log": "log",
    "agent": "agent",
    "prompt": "prompt",
    "config": "config",
    "note": "note",
    "inbox": "inbox",
    "answer": "inbox",
    "answers": "answers",
    "consent": "consent",
    "approve": "inbox",
    "schema": "schema",
    "validate": "schema",
    "migrate": "migrate",
    "version": "version",
    "cleanup": "cleanup",
    "check": "cleanup",
    "install": "install",
    "uninstall": "install",
    "hook": "hook",
    "mcp": "mcp",
    "ui": "ui",
    "doctor": "doctor",
    "demo": "demo",
    "completion": "completion",
}


def commands(group: str) -> list[Command]:
    """Returns the commands of a group."""
    table: tuple[Command, ...] = import_module(f"sow.cli.{GROUPS[group]}").COMMANDS
    return [command for command in table if command.name.split()[0] == group]


def find(arguments: list[str]) -> tuple[Command, list[str]]:
    """Returns the command that the arguments name, and the remaining arguments."""
    group = arguments[0]
    if group not in GROUPS:
        raise SowError(f"unknown command: {group}", nearest(group, list(GROUPS)) or "see 'sow --help' for the commands")
    table = commands(group)
    second = f"{group} {arguments[1]}" if len(arguments) > 1 else ""
    for command in table:
        if command.name == second:
            return command, arguments[2:]
    for command in table:
        if command.name == group:
            return command, arguments[1:]
    names = [command.name.split()[1] for command in table]
    if not second:
        raise SowError(f"sow {group}: which command?", "one of: " + ", ".join(names))
    raise SowError(
        f"unknown command: sow {second}",
        nearest(arguments[1], names, f"{group} ") or f"sow {group} has: {', '.join(names)}",
    )


def nearest(word: str, candidates: list[str], prefix: str = "") -> str:
    """Returns a suggestion for a mistyped word, or an empty text."""
    from difflib import get_close_matches

    near = get_close_matches(word, candidates, n=1)
    return f"did you mean 'sow {prefix}{near[0]}'?" if near else ""
