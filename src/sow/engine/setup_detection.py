"""Finds the commands that set up a checkout, from its manifests and lock files and from the user's own checkout."""

from __future__ import annotations

import json
import os
import tomllib

from sow.engine.python_installs import (
    base_python,
    find_program,
    installed,
    interpreter_of,
    normal_name,
    records,
    requested,
    site_folders,
)
from sow.system.environment import below, own_venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from sow.engine.python_installs import Record

    Read = Callable[[str], bytes | None]

REQUIREMENTS = (
    "requirements.txt", "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt",
    "requirements-test.txt", "requirements-tests.txt", "test-requirements.txt",
    "requirements/dev.txt", "requirements/test.txt", "requirements/tests.txt",
)  # fmt: skip
# Files that decide what a setup makes: if one of them differs, the setup runs again.
MANIFESTS = (
    "pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "poetry.toml", ".python-version",
    *REQUIREMENTS,
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".node-version", ".nvmrc",
    "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "go.mod", "go.sum", "go.work",
)  # fmt: skip
FOR_TESTS = ("dev", "develop", "development", "test", "tests", "testing")
LOCAL_FILES = (
    ".env", ".env.local", ".env.test", ".env.test.local", ".env.development", ".env.development.local",
    "local_settings.py", "settings_local.py", "config/local.yaml", "config/local.yml", "config/local.json",
)  # fmt: skip
NODE_MODULES = "node_modules"
MOST = 1 << 20


class Proposal:
    """Commands that would set up a checkout, and the paths that they make."""

    __slots__ = ("commands", "missing", "outputs", "traces")

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.outputs: list[str] = []
        self.traces: list[str] = []  # paths that the commands may make besides
        self.missing: dict[str, str] = {}  # tool: the file that asks for it

    def add(self, other: Proposal) -> None:
        self.commands += other.commands
        self.outputs += other.outputs
        self.traces += other.traces
        self.missing |= other.missing


class Around:
    """Facts about the user's own checkout and machine, read once for a run."""

    __slots__ = ("editable", "environment", "installed", "known", "python", "requested", "root", "unused", "venv")

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        self.root = root
        self.environment = environment
        self.venv = _venv_of(root, environment)
        self.known: dict[str, list[Record]] = {}
        self.editable = self._records()
        active = self.venv or (environment.get("VIRTUAL_ENV", "") if self.editable else "")
        sites = _sites(active, environment)
        self.requested = [each for site in sites for each in requested(site)]
        self.installed = {each for site in sites for each in installed(site)}
        self.unused = self._unused()
        self.python = (base_python(active) if active else "") or "python3"

    def has(self, tool: str) -> bool:
        """Whether a program is on PATH."""
        return bool(find_program(tool, self.environment))

    def _unused(self) -> set[str]:
        """The requirement files, extras and groups of the user's checkout of which they did not install all packages.

        They are read from the user's checkout, so that a package which a task adds is installed.
        """
        project = _toml(self._file("pyproject.toml"))
        extras = _table(project, "project", "optional-dependencies")
        groups = _table(project, "dependency-groups")
        wanted = {name: (self._file(name) or b"").decode("utf-8", "replace").splitlines() for name in REQUIREMENTS}
        wanted |= {f"extra {name}": given for name, given in extras.items() if isinstance(given, list)}
        wanted |= {f"group {name}": given for name, given in groups.items() if isinstance(given, list)}
        own = normal_name(str(_table(project, "project").get("name", "")))
        return {
            name
            for name, lines in wanted.items()
            if not {normal_name(each) for each in lines if isinstance(each, str) and ";" not in each}
            <= {"", own, *self.installed}
        }

    def _file(self, name: str) -> bytes | None:
        try:
            with open(f"{self.root}/{name}", "rb") as file:
                return file.read(MOST)
        except OSError:
            return None

    def _records(self) -> list[Record]:
        """The records of the usual interpreters that lead to this checkout."""
        pythons = [find_program(name, self.environment) for name in ("python", "python3", "pytest")]
        active = self.environment.get("VIRTUAL_ENV", "")
        pythons += [f"{each}/bin/python" for each in (self.venv, active) if each]
        found = {interpreter_of(each, self.environment, self.root) for each in pythons if each} - {""}
        sites = dict.fromkeys(site for each in sorted(found) for site in site_folders(each, self.environment))
        return [record for site in sites for record in self.records_in(site)]

    def records_in(self, site: str) -> list[Record]:
        """The records of one package folder that lead to this checkout, read once."""
        if site not in self.known:
            self.known[site] = list(records(site, self.root))
        return self.known[site]


def _venv_of(root: str, environment: Mapping[str, str]) -> str:
    """The user's virtual environment in the checkout; empty if there is none."""
    active, own = environment.get("VIRTUAL_ENV", ""), own_venv(root)
    if active and below(active, root) and os.path.isdir(active):
        return active
    return f"{root}/{own}" if own else ""


def _sites(venv: str, environment: Mapping[str, str]) -> list[str]:
    return site_folders(f"{venv}/bin/python", environment) if venv else []


def detect(read: Read, around: Around) -> Proposal:
    """The setup for a tree; `read` returns the content of a file of that tree, or None."""
    found = Proposal()
    found.add(_python(read, around))
    found.add(_node(read, around))
    return found


def manifests(read: Read) -> dict[str, bytes]:
    """The manifests and lock files of a tree."""
    found: dict[str, bytes] = {}
    names = [*MANIFESTS, *(f"{each}/package.json" for each in workspaces(read))]
    while names:
        name = names.pop(0)
        data = read(name) if name not in found else None
        if data is not None:
            found[name] = data
            names += _included(name, data) if name.endswith(".txt") else []
    return found


def _included(name: str, data: bytes) -> list[str]:
    """The files that a requirements file includes."""
    lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
    given = [words[1] for words in lines if len(words) == 2 and words[0] in ("-r", "-c", "--requirement")]
    paths = [os.path.normpath(os.path.join(os.path.dirname(name), each)) for each in given]
    return [each for each in paths if not each.startswith(("/", ".."))]


def _python(read: Read, around: Around) -> Proposal:
    project = _toml(read("pyproject.toml"))
    tools = _table(project, "tool")
    found = Proposal()
    if read("uv.lock") is not None or "uv" in tools:
        if around.has("uv"):
            frozen = ["--frozen"] if read("uv.lock") is not None else []
            found.commands.append(["uv", "sync", *frozen, *_uv_parts(project)])
            found.outputs.append(".venv")
            found.traces += _egg_infos(read, project)
            return found
        found.missing["uv"] = "uv.lock" if read("uv.lock") is not None else "pyproject.toml"
    elif read("poetry.lock") is not None:
        if around.has("poetry"):
            found.commands.append(["poetry", "install", "--no-interaction", *_poetry_parts(tools.get("poetry"))])
            found.outputs.append(".venv")
            return found
        found.missing["poetry"] = "poetry.lock"
    if around.venv or around.editable:
        return _pip(read, around, project) or found
    return found


def _pip(read: Read, around: Around, project: Mapping[str, Any]) -> Proposal | None:
    """A virtual environment by venv and pip; None if the tree has nothing to install.

    The packages that the user asked for come first, in the user's versions: the tree's own requirements then win.
    """
    files = [name for name in REQUIREMENTS if read(name) is not None and name not in around.unused]
    is_package = read("setup.py") is not None or bool({"project", "build-system"} & set(project))
    if not files and not is_package:
        return None
    name = os.path.basename(around.venv) if around.venv and os.path.dirname(around.venv) == around.root else ".venv"
    pip = [f"{name}/bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
    found = Proposal()
    found.commands.append([around.python, "-m", "venv", name])
    given = _table(project, "dependency-groups")
    groups = [each for each in FOR_TESTS if each in given and f"group {each}" not in around.unused]
    if groups:
        found.commands.append([*pip, "--upgrade", "pip"])  # older versions do not know --group
    if around.requested:
        found.commands.append([*pip, *around.requested])
    parts = [word for each in files for word in ("-r", each)]
    if is_package:
        given = _table(project, "project", "optional-dependencies")
        extras = [each for each in FOR_TESTS if each in given and f"extra {each}" not in around.unused]
        parts += ["-e", f".[{','.join(extras)}]" if extras else "."]
    parts += [word for each in groups for word in ("--group", each)]
    found.commands.append([*pip, *parts])
    found.outputs.append(name)
    found.traces += _egg_infos(read, project)
    return found


def _egg_infos(read: Read, project: Mapping[str, Any]) -> list[str]:
    """The folders that setuptools makes beside the code."""
    name = _table(project, "project").get("name")
    if not isinstance(name, str):
        lines = (read("setup.cfg") or b"").decode("utf-8", "replace").splitlines()
        name = next((line.partition("=")[2].strip() for line in lines if line.split("=")[0].strip() == "name"), "")
    plain = "".join(letter if letter.isalnum() or letter in "._" else "_" for letter in name)
    return [f"{plain}.egg-info", f"src/{plain}.egg-info"] if plain else []


def _uv_parts(project: Mapping[str, Any]) -> list[str]:
    extras = _table(project, "project", "optional-dependencies")
    groups = _table(project, "dependency-groups")
    words = [word for each in FOR_TESTS if each in extras for word in ("--extra", each)]
    return words + [word for each in FOR_TESTS if each in groups and each != "dev" for word in ("--group", each)]


def _poetry_parts(settings: object) -> list[str]:
    found = settings if isinstance(settings, dict) else {}
    groups = _table(found, "group")
    optional = [each for each in FOR_TESTS if _table(groups, each).get("optional") is True]
    words = [word for each in FOR_TESTS if each in _table(found, "extras") for word in ("--extras", each)]
    return words + [word for each in optional for word in ("--with", each)]


def _node(read: Read, around: Around) -> Proposal:
    found = Proposal()
    if read("package.json") is None or read("node_modules/.package-lock.json") is not None:
        return found
    tool, lock, command = "", "", []
    if read("pnpm-lock.yaml") is not None:
        tool, lock, command = "pnpm", "pnpm-lock.yaml", ["pnpm", "install", "--frozen-lockfile", "--prefer-offline"]
    elif (text := read("yarn.lock")) is not None:
        is_berry = read(".yarnrc.yml") is not None or b"\n__metadata:" in text
        tool, lock = "yarn", "yarn.lock"
        command = ["yarn", "install", "--immutable" if is_berry else "--frozen-lockfile"]
    elif read("package-lock.json") is not None or read("npm-shrinkwrap.json") is not None:
        lock = "package-lock.json" if read("package-lock.json") is not None else "npm-shrinkwrap.json"
        tool, command = "npm", ["npm", "ci", "--no-audit", "--no-fund"]
        if set(_json(read(lock)).get("packages") or {"": 0}) == {""}:
            return found  # it depends on nothing
    if not tool:
        return found
    if not around.has(tool):
        found.missing[tool] = lock
        return found
    found.commands.append(command)
    found.traces += [f"{each}/{NODE_MODULES}" for each in workspaces(read)]
    if "--immutable" in command:
        found.traces += [NODE_MODULES, ".pnp.cjs", ".pnp.loader.mjs", ".yarn/cache", ".yarn/unplugged"]
        found.traces += [".yarn/install-state.gz"]
    else:
        found.outputs.append(NODE_MODULES)
    return found


def workspaces(read: Read) -> list[str]:
    """The folders of a JavaScript repository that are packages of their own, as far as its files list them."""
    listed: Iterable[object] = ()
    packages = _json(read("package-lock.json")).get("packages")
    if isinstance(packages, dict):
        listed = [each for each in packages if each and NODE_MODULES not in each.split("/")]
    elif (text := read("pnpm-lock.yaml")) is not None:
        listed = _importers(text.decode("utf-8", "replace"))
    else:
        given = _json(read("package.json")).get("workspaces")
        listed = given.get("packages", ()) if isinstance(given, dict) else given if isinstance(given, list) else ()
    clean = [os.path.normpath(each) for each in listed if isinstance(each, str) and each and "*" not in each]
    return [each for each in dict.fromkeys(clean) if not each.startswith(("/", "."))]


def _importers(text: str) -> list[str]:
    """The names below `importers:` in a lock file of pnpm."""
    found, is_inside = [], False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            is_inside = line.startswith("importers:")
        elif is_inside and line.startswith("  ") and not line.startswith("   ") and line.rstrip().endswith(":"):
            found.append(line.strip().removesuffix(":").strip("'\""))
    return found


def _toml(data: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((data or b"").decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _json(data: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(data: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A table in a document; an empty one if it is not there."""
    found: Any = data
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
