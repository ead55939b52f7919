"""Finds code of this repository that checks would import from the user's checkout instead of their own.

It reads records of editable installs, .pth files and links in node_modules, and starts no program.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sow.domain.documents.state import ProjectState
from sow.engine.checks.python_installs import interpreter_of, site_folders
from sow.engine.checks.setup_detection import NODE_MODULES
from sow.engine.checks.setup_plan import Setup, Setups
from sow.executors.settings import find_binary
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.projects import task_updates
from sow.store.projects.task_folder import TaskFolder
from sow.system.environment import own_venv, relative_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runs.run_context import RunContext

ACCEPTED = "outside_imports"
# Programs that start other programs. If the repository has Python code, they may start Python.
RUNNERS = frozenset({"make", "gmake", "just", "task", "invoke", "sh", "bash", "dash", "zsh", "env", "nice", "timeout"})
NOT_NODE = frozenset({"pytest", "py.test", "ruff", "mypy", "cargo", "go", "pip"})
MAKES_PYTHON = ("venv", "virtualenv", "uv ", "poetry ", "pdm ", "hatch ", "conda ", "pipenv ")
MAKES_NODE = ("npm ", "pnpm ", "yarn ", "bun ")
MOST_SHOWN = 3
WHY = (
    "A check could then pass although the task broke the code, or fail although the task is right, because it would "
    "test the code of your checkout."
)


@dataclass(frozen=True)
class OutsideImport:
    """One way in which code of this repository is imported from outside the checkout."""

    file: str
    target: str
    command: str  # the command or its program
    is_copy: bool = False

    def __str__(self) -> str:
        origin = "a copy made when it was installed from" if self.is_copy else "code in"
        return f"`{self.command}` would import {origin} {self.target} (see {self.file})"


def find(setups: Setups, setup: Setup, commands: Iterable[str], *, folder: str = "") -> list[OutsideImport]:
    """Finds the outside imports of some commands. `folder` is a checkout in which the setup has run already."""
    unique = list(dict.fromkeys(commands))
    by_target = {item.target: item for item in _python_imports(setups, setup, unique, folder)}
    for item in _node_imports(setups, setup, unique, folder):
        by_target.setdefault(item.target, item)
    return list(by_target.values())


def _python_imports(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[OutsideImport]:
    root = setups.home.root
    has_own = bool(own_venv(folder)) if folder else _creates_environment(setup, MAKES_PYTHON)
    for command in commands:
        for program in _programs(setups, setup, command, has_own=has_own):
            python = interpreter_of(program, setups.environment, root)
            for site in site_folders(python, setups.environment) if python else []:
                for record in setups.machine.records_in(site):
                    yield OutsideImport(record.file, record.target, command, is_copy=record.is_copy)


def _creates_environment(setup: Setup, patterns: tuple[str, ...]) -> bool:
    return any(pattern in f"{text} " for text in setup.texts for pattern in patterns)


def _programs(setups: Setups, setup: Setup, command: str, *, has_own: bool) -> Iterator[str]:
    """Yields the programs of a command that come from outside the checkout in which it runs."""
    for number, word in enumerate(_words(command)):
        name = os.path.basename(word)
        if os.path.isabs(word):
            yield from [word] if os.access(word, os.X_OK) and os.path.isfile(word) else []
        elif "/" in word:
            linked = any(relative_to(os.path.normpath(word), link) is not None for link in setup.links)
            yield from [f"{setups.home.root}/{word}"] if linked else []
        elif not has_own and (number == 0 or name.startswith("python") or name in ("pytest", "py.test")):
            names = ["python3", "python"] if name in RUNNERS else [name]
            yield from filter(None, (find_binary(program, setups.environment) for program in names))


def _words(command: str) -> list[str]:
    """Splits a command into words, even a shell command."""
    try:
        return shlex.split(command.replace(";", " ; ").replace("&&", " && "))
    except ValueError:
        return command.split()


def _node_imports(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[OutsideImport]:
    """Yields links in node_modules of the user's checkout. Node looks there if the checkout of a check has none."""
    has_own = os.path.isdir(f"{folder}/{NODE_MODULES}") if folder else _creates_environment(setup, MAKES_NODE)
    node_commands = [command for command in commands if os.path.basename((_words(command) or [""])[0]) not in NOT_NODE]
    if (has_own and NODE_MODULES not in setup.links) or not node_commands:
        return
    root = setups.home.root
    for link in _links(f"{root}/{NODE_MODULES}"):
        target = os.path.realpath(link)
        part = relative_to(target, root)
        if part is not None and NODE_MODULES not in part.split("/"):
            yield OutsideImport(link, target, node_commands[0])


def _links(folder: str) -> Iterator[str]:
    """Yields the packages in node_modules that are links."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = f"{folder}/{name}"
        if os.path.islink(path):
            yield path
        elif name.startswith("@"):
            yield from _links(path)


def import_lines(imports: list[OutsideImport]) -> list[str]:
    """Returns the first imports as lines, and the number of further ones."""
    lines = [str(item) for item in imports[:MOST_SHOWN]]
    return lines + ([f"and {len(imports) - MOST_SHOWN} more"] if len(imports) > MOST_SHOWN else [])


def are_accepted(context: RunContext, setup: Setup, commands: Iterable[str], folder: str) -> bool:
    """Tells whether checks would import code from outside of their checkout; raises if the user did not accept that."""
    imports = find(context.setups, setup, commands, folder=folder)
    if imports and ACCEPTED not in context.setups.accepted:
        raise EnvironmentProblem(
            f"checks would import this repository's code from outside of their checkout: {imports[0]}",
            "set up each checkout (sow config edit: worktree.setup), "
            "or accept results that are YELLOW at best: add --accept outside-imports to 'sow run'",
        )
    return bool(imports)


def record_concern(folder: TaskFolder, project: ProjectState) -> None:
    """Records on a task that its checks may have imported the user's checkout, which the user accepted."""
    text = "its checks may have imported this repository's code from your checkout, which you accepted for this run"
    task_updates.add_concern(folder, project, "environment", text)
