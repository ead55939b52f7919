"""Opens an agent CLI in the user's terminal with a first prompt."""

from __future__ import annotations

import os

from sow.engine.own_command import sow_word
from sow.errors import SowError
from sow.executors.executor import find_binary, missing_binary
from sow.executors.registry import adapter
from sow.executors.settings import program as program_of
from sow.system import program
from sow.system.terminal import err, harmless_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.config import Config


class Opening:
    """The command that opens an agent CLI; it is resolved before anything changes."""

    __slots__ = ("words",)

    def __init__(
        self, config: Config, environment: Mapping[str, str], *, role: str, executor: str, call: str, instead: str
    ) -> None:
        """`call` is the sow command that prints the prompt; `instead` is the hint if the CLI cannot be opened."""
        chosen = config.executor(executor or config.binding(role)[0])
        opening = adapter(chosen.type).opening
        if opening is None:
            raise SowError(f"executor {chosen.name} cannot be opened with a first prompt", instead)
        program_name = program_of(chosen.type, chosen.settings)
        binary = find_binary(program_name, environment)
        if not binary:
            raise missing_binary(chosen.name, program_name, adapter(chosen.type).capabilities.install)
        self.words = [binary, *opening, f"Run this command, and do what it prints: {sow_word()} {call}"]

    def run(self, *, cwd: str, environment: Mapping[str, str]) -> int:
        """Runs the CLI in the terminal, prints a non-zero exit code and returns it."""
        code = program.run_in_front(self.words, cwd=cwd, environment=environment)
        if code:
            err(f"note: {harmless_line(os.path.basename(self.words[0]))} ended with exit code {code}")
        return code


def need_terminal(agent: str, instead: str) -> None:
    """Raises an error if there is no interactive terminal."""
    if not is_interactive():
        raise SowError(f"there is no terminal on which you and {agent} could talk", instead)
