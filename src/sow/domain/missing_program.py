"""Tells a program that this machine lacks from a command that failed."""

from __future__ import annotations

from sow.domain import command_line

EXITS = (126, 127)  # what a shell returns for a program that it cannot start, or cannot find
ENDINGS = (": command not found", ": not found", ": No such file or directory", ": Permission denied")


def missing_program(command: str, code: int | None, output: str) -> str:
    """The program that has to be installed before a command can run; empty if the command itself failed.

    A path inside the repository is not a program of the machine: a task that forgot to write it has failed.
    """
    if code not in EXITS:
        return ""
    program = _named(output) or _first_word(command)
    return "" if "/" in program and not program.startswith("/") else program


def _named(output: str) -> str:
    """The program that a shell named as missing."""
    for line in reversed(output.splitlines()):
        for ending in ENDINGS:
            if line.rstrip().endswith(ending):
                return line.rstrip().removesuffix(ending).rpartition(": ")[2].strip()
    return ""


def _first_word(command: str) -> str:
    return (command_line.words(command) or command.split() or [command])[0]
