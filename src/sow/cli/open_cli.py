"""Opens an agent CLI in the user's terminal with a first prompt."""

from __future__ import annotations

import os

from sow.engine.turns.own_paths import sow_command
from sow.errors import SowError
from sow.executors.executor import find_binary, missing_binary
from sow.executors.registry import adapter
from sow.executors.settings import program as program_of
from sow.system.process import program
from sow.system.terminal import err, escape_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.config import Config


class InteractiveCli:
    """The command that opens an agent CLI; it is resolved before anything changes."""

    __slots__ = ("command",)

    def __init__(
        self, config: Config, environment: Mapping[str, str], *, role: str, executor: str, call: str, instead: str
    ) -> None:
        """`call` is the sow command that prints the prompt; `instead` is the hint if the CLI cannot be opened."""
        chosen = config.executor(executor or config.binding(role)[0])
        opening = adapter(chosen.type).interactive_args
        if opening is None:
            raise SowError(f"executor {chosen.name} cannot be opened with a first prompt", instead)
        program_name = program_of(chosen.type, chosen.settings)
        binary = find_binary(program_name, environment)
        if not binary:
            raise missing_binary(chosen.name, program_name, adapter(chosen.type).capabilities.install)
        self.command = [binary, *opening, f"Run this command, and do what it prints: {sow_command()} {call}"]

    def run(self, *, cwd: str, environment: Mapping[str, str]) -> int:
        """Runs the CLI in the terminal, prints a non-zero exit code and returns it."""
        code = program.run_in_front(self.command, cwd=cwd, environment=environment)
        if code:
            err(f"note: {escape_line(os.path.basename(self.command[0]))} ended with exit code {code}")
        return code


def require_terminal(agent: str, instead: str) -> None:
    """Raises an error if there is no interactive terminal."""
    if not is_interactive():
        raise SowError(f"there is no terminal on which you and {agent} could talk", instead)
