"""Writes the command reference of the docs from the table that parses the command line."""

from __future__ import annotations

from sow.cli.command import GROUPS, command_help, commands


def reference() -> str:
    """Returns every command with its help text."""
    parts = [
        "# Commands\n\nWritten by `make generate` from the table that parses the command line.\n\n"
        "Where a text can come from a file, the help says (TEXT, @FILE or -): `@` and one word names a file, `-` is\n"
        'standard input, and anything else is the text itself. `"@ada approved"` is a text; a text that is one word\n'
        "with an `@` begins with `@@`. A file with a space in its name goes through standard input:\n"
        "`sow log -`. Over MCP no value names a file.\n"
    ]
    for group in GROUPS:
        for command in commands(group):
            parts.append(f"## `sow {command.name}`\n\n```text\n{command_help(command)}```\n")
    return "\n".join(parts)
