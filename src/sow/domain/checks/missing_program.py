"""Distinguishes a program that this machine lacks from a command that failed."""

from __future__ import annotations

from collections.abc import Callable

from sow.domain.plans import command_line

EXITS = (126, 127)  # exit codes of a shell for a program that it cannot start or cannot find
NO_FILE = ": No such file or directory"
ENDINGS = (": command not found", ": not found", f": bad interpreter{NO_FILE}", NO_FILE, ": Permission denied")
SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


def missing_program(command: str, code: int | None, output: str, is_work: Callable[[str], bool]) -> str:
    """Returns the program that must be installed before a command can run, or an empty text if the command failed.

    A path inside the repository, a file of the work (`is_work`) and a script that is passed to a shell are not
    programs of the machine: if a task forgot to write one, it has failed.
    """
    if code not in EXITS:
        return ""
    program = _reported_program(command, output)
    if program is None:
        program = (command_line.split_words(command) or command.split() or [command])[0]
        if program in SHELLS:  # The shell ran, and its script returned this code.
            return ""
    is_inside = "/" in program and not program.startswith("/")
    return "" if is_inside or is_work(program) else program


def _reported_program(command: str, output: str) -> str | None:
    """Returns the program that a shell reported as missing, or an empty text if it is a script in the command."""
    for line in reversed(output.splitlines()):
        text = line.rstrip()
        for ending in ENDINGS:
            if text.endswith(ending):
                reporter, _, rest = text.removesuffix(ending).partition(": ")
                name = rest.rpartition(": ")[2].strip()
                is_given = name in [word.strip("'\"()") for word in command.split()[1:]]
                is_script = ending == NO_FILE and reporter.rpartition("/")[2] in SHELLS
                return "" if is_given and is_script else name
    return None
