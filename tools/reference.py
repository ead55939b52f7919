"""Writes the command reference of the docs from the table that parses the command line."""

from __future__ import annotations

from sow.cli.command import GROUPS, command_help, commands


def reference() -> str:
    """Returns every command with its help text."""
    parts = ["# Commands\n\nWritten by `make generate` from the table that parses the command line.\n"]
    for group in GROUPS:
        for command in commands(group):
            parts.append(f"## `sow {command.name}`\n\n```text\n{command_help(command)}```\n")
    return "\n".join(parts)
