"""Computes the commands that a worker may run without yolo_mode, with sow's own as an absolute path."""

from __future__ import annotations

import os
import sys

from sow.errors import SowError
from sow.executors.settings import find_binary
from sow.store.files.disk import Disk, is_folder, list_folder, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def sow_path() -> str:
    """Returns the absolute path of `sow`."""
    installed = os.path.join(os.path.dirname(sys.executable), "sow")
    started = os.path.abspath(sys.argv[0])
    return started if os.path.basename(started) == "sow" and os.access(started, os.X_OK) else installed


def sow_command() -> str:
    """Returns the path quoted for a shell; `shlex` would slow down the start of a worker."""
    path = sow_path()
    escaped = path.replace("'", "'\"'\"'")
    return path if PLAIN.issuperset(path) else f"'{escaped}'"


def session_command(environment: Mapping[str, str]) -> str:
    """Returns `sow` if a shell finds this one by that name, which the rules of `sow install` allow; else the path."""
    program = find_binary("sow", environment)
    return "sow" if program and os.path.realpath(program) == os.path.realpath(sow_path()) else sow_command()


MAX_FILE = 1 << 20


def holds_only_installed_files(root: str, folder: str) -> bool:
    """Tells whether every file below it equals a file of this version's layer exactly; such files steer nobody."""
    if not is_folder(f"{root}/{folder}"):
        return False
    from sow.agents.layer import LAYERS, layer

    ours = {piece.path: piece.text for name in LAYERS for piece in layer(name, user=False).pieces if not piece.block}
    for parent, folders, names in os.walk(f"{root}/{folder}"):
        if any(os.path.islink(f"{parent}/{name}") for name in folders):
            return False
        for name in names:
            path = f"{parent}/{name}"
            expected = ours.get(path.removeprefix(f"{root}/"))
            if expected is None or read_small(path) != expected:
                return False
    return True


def read_small(path: str) -> str:
    """Returns the text of a small file of the repository; empty if it cannot be read or is large."""
    try:
        return read_text(Disk(), path, MAX_FILE)
    except (OSError, SowError):
        return ""


PYTHONS = ("python", "python3", ".venv/bin/python", "venv/bin/python")
PYTHON = ("pytest", ".venv/bin/pytest", "venv/bin/pytest", *(f"{python} -m pytest" for python in PYTHONS))
PYTHON = (*PYTHON, *(f"{python} -m unittest" for python in PYTHONS))
GRADLE = ("./gradlew test", "./gradlew check", "./gradlew build", "gradle test", "gradle check", "gradle build")
# A file in the repository, or the ending of one, and the commands that it implies.
RUNNERS = {
    ".py": PYTHON,
    "pyproject.toml": PYTHON,
    "tox.ini": ("tox", *PYTHON),
    "noxfile.py": ("nox",),
    "manage.py": tuple(f"{python} manage.py test" for python in PYTHONS),
    "uv.lock": ("uv run pytest", "uv run python -m pytest"),
    "poetry.lock": ("poetry run pytest", "poetry run python -m pytest"),
    "package.json": ("npm test", "node --test"),
    "Cargo.toml": ("cargo test", "cargo nextest run", "cargo build", "cargo check", "cargo clippy", "cargo fmt"),
    "go.mod": ("go test", "go build", "go vet", "go fmt", "gofmt"),
    "pom.xml": ("mvn test", "mvn verify", "./mvnw test", "./mvnw verify"),
    "build.gradle": GRADLE,
    "build.gradle.kts": GRADLE,
    "Gemfile": ("bundle exec rspec", "bundle exec rake test", "rspec", "rake test"),
    "composer.json": ("composer test", "vendor/bin/phpunit"),
    "mix.exs": ("mix test", "mix compile", "mix format"),
    "deno.json": ("deno test", "deno check", "deno lint"),
    "Package.swift": ("swift test", "swift build"),
    "CMakeLists.txt": ("ctest", "cmake --build"),
    ".csproj": ("dotnet test", "dotnet build"),
    ".sln": ("dotnet test", "dotnet build"),
}
MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
LOCK_FILES = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
# Programs that a package can declare, and that only look at code or format it.
PYTHON_TOOLS = ("ruff", "mypy", "black", "isort", "flake8", "pyright", "pylint")
NODE_TOOLS = {"typescript": "tsc", "@playwright/test": "playwright test", "@biomejs/biome": "biome"}
NODE_TOOLS |= {name: name for name in ("jest", "vitest", "mocha", "ava", "eslint", "prettier")}
ALL_RUNNERS = tuple(dict.fromkeys(command for commands in RUNNERS.values() for command in commands))
SCRIPT_RUNNERS = ("npm run", "pnpm run", "pnpm test", "yarn run", "yarn test", "bun run", "bun test", "make")
STARTS = tuple(f"{command} " for command in (*ALL_RUNNERS, *SCRIPT_RUNNERS, *PYTHON_TOOLS))
NAMABLE = (PLAIN - {","}) | {" "}  # characters that have no special meaning in the rules of any CLI
# A script or target with such a name has effects outside of the checkout.
OUTWARD = ("deploy", "publish", "release", "upload", "push", "install")
MOST_FOLDERS = 100
MOST_COMMANDS = 200
MOST_LISTED = 60  # commands that a prompt names
NO_LIST = {True: "every command (yolo_mode)", False: "whatever its agent CLI allows"}


def worker_commands(root: str, named: Iterable[str], is_agreed: Callable[[str], bool]) -> list[str]:
    """Returns the first words of the commands that a worker may run; `named` are the commands of its tasks."""
    granted = [command for command in named if is_test_command(command) or is_agreed(command)]
    return list(dict.fromkeys([sow_path(), "sow", "git", *granted, *declared_commands(root)]))


def commands_text(commands: Sequence[str], most: int = MOST_LISTED) -> str:
    """Returns the commands that an agent may run as a part of a sentence."""
    listed = [command for command in commands if not command.startswith("/")]
    shown = ", ".join(listed[:most]) + f" and {len(listed) - most} more" * (len(listed) > most)
    return f"{shown}; and commands that only read, such as ls and grep"


def declared_commands(root: str) -> list[str]:
    """Returns the test runners, scripts and targets that a checkout declares; if it declares none, all test runners."""
    names = [name for name in _names(root) if not name.startswith(".") and name != "node_modules"]
    folders = [path for path in (f"{root}/{name}" for name in names) if os.path.isdir(path)][:MOST_FOLDERS]
    commands = dict.fromkeys(command for folder in (root, *folders) for command in _declared(folder))
    return list(commands or ALL_RUNNERS)[:MOST_COMMANDS]


def is_test_command(command: str) -> bool:
    """Tells whether a command starts a test runner, a script or a target, and does not publish or install anything."""
    return f"{command} ".startswith(STARTS) and _is_local(command)


def _declared(folder: str) -> list[str]:
    files = _names(folder)
    commands: list[str] = []
    for name in files:
        commands += [*RUNNERS.get(name, ()), *RUNNERS.get(os.path.splitext(name)[1], ())]
        if name in ("pyproject.toml", "setup.cfg", ".pre-commit-config.yaml"):
            text = read_small(f"{folder}/{name}")
            commands += [command for tool in PYTHON_TOOLS if tool in text for command in (tool, f"python -m {tool}")]
        elif name == "package.json":
            commands += _package_scripts(read_small(f"{folder}/{name}"), files)
        elif name in MAKEFILES:
            commands += [f"make {target}" for target in _make_targets(read_small(f"{folder}/{name}"))]
    missing = tuple(f"{name}/" for name in (".venv", "venv") if name not in files)
    return [command for command in commands if _is_local(command) and not command.startswith(missing)]


def _package_scripts(text: str, files: list[str]) -> list[str]:
    """Returns the commands for the scripts and test tools of a package.json."""
    import json

    try:
        package = json.loads(text)
        scripts, tools = list(package.get("scripts", {})), {**package.get("devDependencies", {})}
    except (ValueError, AttributeError, TypeError):
        return []
    managers = ["npm", *dict.fromkeys(LOCK_FILES[name] for name in files if name in LOCK_FILES)]
    commands = [f"{manager} run {script}" for manager in managers for script in scripts]
    commands += [f"{manager} {script}" for manager in managers[1:] for script in scripts]
    return [*commands, *(f"npx {command}" for tool, command in NODE_TOOLS.items() if tool in tools)]


def _make_targets(text: str) -> list[str]:
    """Returns the targets of a Makefile that have a plain name."""
    heads = [line.partition(":") for line in text.splitlines() if line[:1].isalnum()]
    rules = [names for names, colon, rest in heads if colon and "=" not in names and not rest.startswith(("=", ":="))]
    return [target for names in rules for target in names.split()]


def _is_local(command: str) -> bool:
    """Tells whether a command can be named in the rules of a CLI and has no effects outside of the checkout."""
    return NAMABLE.issuperset(command) and not any(word in command.lower() for word in OUTWARD)


def _names(folder: str) -> list[str]:
    try:
        return list_folder(folder)
    except SowError:  # it cannot be read, so it declares nothing
        return []
