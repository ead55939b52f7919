"""Opens an agent CLI in the user's terminal with a first prompt, and finds the user's editor."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from sow.config import Config
from sow.domain.inputs import checked_line
from sow.engine.turns.allowed_commands import session_command
from sow.errors import SowError
from sow.executors.settings import adapter, find_binary
from sow.system.process import program
from sow.system.process.exit_code import ending_text
from sow.system.terminal import err, escape_line, is_interactive

MOST_EDITOR = 4000  # characters


class InteractiveCli:
    """The command that opens an agent CLI; it is resolved before anything changes."""

    def __init__(
        self, config: Config, environment: Mapping[str, str], *, role: str, executor: str, call: str, instead: str
    ) -> None:
        """`call` is the sow command that prints the prompt; `instead` is the hint if the CLI cannot be opened."""
        chosen = config.executor(executor or config.binding(role)[0])
        opening = adapter(chosen.type).interactive_args
        if opening is None:
            raise SowError(f"executor {chosen.name} cannot be opened with a first prompt", instead)
        self.command = [
            config.require_program(chosen, role, environment),
            *opening,
            f"Run this command, and do what it prints: {session_command(environment)} {call}",
        ]

    def run(self, *, cwd: str, environment: Mapping[str, str]) -> int:
        """Runs the CLI in the terminal, prints a non-zero exit code and returns it."""
        code = program.run_in_front(self.command, cwd=cwd, environment=environment)
        if code:
            err(f"note: {escape_line(os.path.basename(self.command[0]))} {ending_text(code)}")
        return code


def editor(environment: Mapping[str, str], instead: str) -> list[str]:
    """Returns the command of the user's editor, with its options; `instead` is the hint if there is none."""
    for name in ("VISUAL", "EDITOR"):
        if not environment.get(name, "").strip():
            continue
        value = checked_line(environment[name], name, MOST_EDITOR)
        try:
            command = shlex.split(value)
        except ValueError as error:
            raise SowError(f"{name} is {value!r}: {error}", f"set {name} to a command line such as: nano") from None
        binary = find_binary(os.path.expanduser(command[0]), environment)
        if not binary:
            raise SowError(f"{name} is {value!r}, and there is no program {command[0]}", f"set {name} to an editor")
        return [binary, *command[1:]]
    raise SowError("no editor is set", f"set EDITOR, as in: export EDITOR=nano; or {instead}")


def require_terminal(agent: str, instead: str) -> None:
    """Raises an error if there is no interactive terminal."""
    if not is_interactive():
        raise SowError(f"not an interactive terminal, so {agent} cannot talk to you", instead)
