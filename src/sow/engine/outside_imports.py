"""Finds code of this repository that checks would import from the user's checkout instead of their own.

It reads records of editable installs, .pth files and links in node_modules, and starts nothing.
"""

from __future__ import annotations

import os
import shlex

from sow.engine.place import EnvironmentProblem
from sow.engine.python_installs import find_program, interpreter_of, site_folders
from sow.engine.setup_detection import NODE_MODULES
from sow.store import run_acts
from sow.system.environment import below, own_venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sow.domain.shapes import ProjectState
    from sow.engine.setup_plan import Setup, Setups
    from sow.engine.ship import Ship
    from sow.store.desk import Desk

ACCEPTED = "outside_imports"
# Programs that start others: Python is used if the repository has Python code.
RUNNERS = frozenset({"make", "gmake", "just", "task", "invoke", "sh", "bash", "dash", "zsh", "env", "nice", "timeout"})
NOT_NODE = frozenset({"pytest", "py.test", "ruff", "mypy", "cargo", "go", "pip"})
MAKES_PYTHON = ("venv", "virtualenv", "uv ", "poetry ", "pdm ", "hatch ", "conda ", "pipenv ")
MAKES_NODE = ("npm ", "pnpm ", "yarn ", "bun ")
MOST_SHOWN = 3
WHY = (
    "A check could then pass although the task broke the code, or fail although the task is right, because it would "
    "test the code of your checkout."
)


class Outside:
    """One way in which code of this repository is imported from elsewhere."""

    __slots__ = ("by", "file", "is_copy", "target")

    def __init__(self, file: str, target: str, *, by: str, is_copy: bool = False) -> None:
        self.file = file
        self.target = target
        self.by = by  # the command, or its program
        self.is_copy = is_copy

    def __str__(self) -> str:
        what = "a copy made when it was installed from" if self.is_copy else "code in"
        return f"`{self.by}` would import {what} {self.target} (see {self.file})"


def find(setups: Setups, setup: Setup, commands: Iterable[str], *, folder: str = "") -> list[Outside]:
    """The outside imports of some commands; with `folder`, a checkout in which the setup was done already."""
    asked = list(dict.fromkeys(commands))
    found = {each.target: each for each in _of_python(setups, setup, asked, folder)}
    for each in _of_node(setups, setup, asked, folder):
        found.setdefault(each.target, each)
    return list(found.values())


def _of_python(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[Outside]:
    root = setups.home.root
    own = bool(own_venv(folder)) if folder else _makes(setup, MAKES_PYTHON)
    for command in commands:
        for program in _programs(setups, setup, command, own=own):
            python = interpreter_of(program, setups.environment, root)
            for site in site_folders(python, setups.environment) if python else []:
                for record in setups.around.records_in(site):
                    yield Outside(record.file, record.target, by=command, is_copy=record.is_copy)


def _makes(setup: Setup, words: tuple[str, ...]) -> bool:
    """Whether setup commands make an environment of their own."""
    return any(word in f"{text} " for text in setup.texts for word in words)


def _programs(setups: Setups, setup: Setup, command: str, *, own: bool) -> Iterator[str]:
    """The programs of a command that come from outside of the checkout that it runs in."""
    for number, word in enumerate(_words(command)):
        name = os.path.basename(word)
        if os.path.isabs(word):
            yield from [word] if os.access(word, os.X_OK) and os.path.isfile(word) else []
        elif "/" in word:
            linked = any(below(os.path.normpath(word), each) is not None for each in setup.links)
            yield from [f"{setups.home.root}/{word}"] if linked else []
        elif not own and (number == 0 or name.startswith("python") or name in ("pytest", "py.test")):
            names = ["python3", "python"] if name in RUNNERS else [name]
            yield from filter(None, (find_program(each, setups.environment) for each in names))


def _words(command: str) -> list[str]:
    """The words of a command, also of one for a shell."""
    try:
        return shlex.split(command.replace(";", " ; ").replace("&&", " && "))
    except ValueError:
        return command.split()


def _of_node(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[Outside]:
    """Links from node_modules of the user's checkout: Node looks there if the checkout of a check has none."""
    own = os.path.isdir(f"{folder}/{NODE_MODULES}") if folder else _makes(setup, MAKES_NODE)
    asking = [each for each in commands if os.path.basename((_words(each) or [""])[0]) not in NOT_NODE]
    if (own and NODE_MODULES not in setup.links) or not asking:
        return
    root = setups.home.root
    for link in _links(f"{root}/{NODE_MODULES}"):
        target = os.path.realpath(link)
        part = below(target, root)
        if part is not None and NODE_MODULES not in part.split("/"):
            yield Outside(link, target, by=asking[0])


def _links(folder: str) -> Iterator[str]:
    """The packages in node_modules that are links."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = f"{folder}/{name}"
        if os.path.islink(path):
            yield path
        elif name.startswith("@"):
            yield from _links(path)


def shown(found: list[Outside]) -> list[str]:
    """The first of them as lines, and how many more there are."""
    lines = [str(each) for each in found[:MOST_SHOWN]]
    return lines + ([f"and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else [])


def are_accepted(ship: Ship, setup: Setup, commands: Iterable[str], folder: str) -> bool:
    """Whether checks would import code from outside of their checkout; this raises if the user did not accept that."""
    found = find(ship.setups, setup, commands, folder=folder)
    if found and ACCEPTED not in ship.setups.accepted:
        raise EnvironmentProblem(
            f"checks would import this repository's code from outside of their checkout: {found[0]}",
            "set up each checkout (sow config edit: worktree.setup), "
            "or accept results that are YELLOW at best: add --accept outside-imports to 'sow run'",
        )
    return bool(found)


def note(desk: Desk, project: ProjectState) -> None:
    """Record on a task that its checks may have imported the user's checkout, which the user accepted."""
    text = "its checks may have imported this repository's code from your checkout, which you accepted for this run"
    run_acts.add_concern(desk, project, "environment", text)
