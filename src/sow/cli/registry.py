"""Which file has which commands. A new group is one entry here and one new file."""

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
    """The commands whose first word is the group's name."""
    table: tuple[Command, ...] = import_module(f"sow.cli.{GROUPS[group]}").COMMANDS
    return [command for command in table if command.name.split()[0] == group]


def find(words: list[str]) -> tuple[Command, list[str]]:
    """The command that the words begin with, and the words that are left."""
    group = words[0]
    if group not in GROUPS:
        raise SowError(f"unknown command: {group}", nearest(group, list(GROUPS)) or "see 'sow --help' for the commands")
    table = commands(group)
    second = f"{group} {words[1]}" if len(words) > 1 else ""
    for command in table:
        if command.name == second:
            return command, words[2:]
    for command in table:
        if command.name == group:
            return command, words[1:]
    names = [command.name.split()[1] for command in table]
    if not second:
        raise SowError(f"sow {group}: which command?", "one of: " + ", ".join(names))
    raise SowError(
        f"unknown command: sow {second}",
        nearest(words[1], names, f"{group} ") or f"sow {group} has: {', '.join(names)}",
    )


def nearest(word: str, known: list[str], prefix: str = "") -> str:
    """A suggestion for a mistyped word."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"did you mean 'sow {prefix}{near[0]}'?" if near else ""
