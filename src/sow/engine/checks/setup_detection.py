"""Detects the commands that set up a checkout, from its manifests and lock files and from the user's checkout.

It reads the files of Python installations and starts no interpreter, so that no code of the repository or of an
installed package runs.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sow.executors.settings import find_binary
from sow.system.environment import own_venv, relative_to

Read = Callable[[str], bytes | None]

REQUIREMENTS = (
    "requirements.txt", "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt",
    "requirements-test.txt", "requirements-tests.txt", "test-requirements.txt",
    "requirements/dev.txt", "requirements/test.txt", "requirements/tests.txt",
)  # fmt: skip
# If one of these files differs, the setup runs again.
MANIFESTS = (
    "pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "poetry.toml", ".python-version",
    *REQUIREMENTS,
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".node-version", ".nvmrc",
    "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "go.mod", "go.sum", "go.work",
)  # fmt: skip
TEST_EXTRAS = ("dev", "develop", "development", "test", "tests", "testing")
LOCAL_FILES = (
    ".env", ".env.local", ".env.test", ".env.test.local", ".env.development", ".env.development.local",
    "local_settings.py", "settings_local.py", "config/local.yaml", "config/local.yml", "config/local.json",
)  # fmt: skip
NODE_MODULES = "node_modules"


@dataclass(frozen=True)
class Proposal:
    """The commands that would set up a checkout, and the paths that they make."""

    commands: list[list[str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    side_outputs: list[str] = field(default_factory=list)  # other paths that the commands may make
    missing_tools: dict[str, str] = field(default_factory=dict)  # tool: the file that needs it

    def add(self, other: Proposal) -> None:
        self.commands.extend(other.commands)
        self.outputs.extend(other.outputs)
        self.side_outputs.extend(other.side_outputs)
        self.missing_tools.update(other.missing_tools)


class MachineFacts:
    """Facts about the user's checkout and machine, read once per run."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        self.root = root
        self.environment = environment
        self.venv = _venv_of(root, environment)
        self.records_by_site: dict[str, list[InstalledPackage]] = {}
        self.own_records = self._records()
        active = self.venv or (environment.get("VIRTUAL_ENV", "") if self.own_records else "")
        sites = site_folders(f"{active}/bin/python", environment) if active else []
        self.requested = [package for site in sites for package in requested_packages(site)]
        self.installed = {package for site in sites for package in installed_packages(site)}
        self.incomplete_requirements = self._unused()
        self.python = (base_python(active) if active else "") or "python3"

    def has_program(self, tool: str) -> bool:
        """Returns whether a program is on PATH."""
        return bool(find_binary(tool, self.environment))

    def _unused(self) -> set[str]:
        """Lists requirement files, extras and groups of which the user did not install all packages.

        They are read from the user's checkout, so that a package which a task adds is still installed.
        """
        project = _toml(self._file("pyproject.toml"))
        extras = _table(project, "project", "optional-dependencies")
        groups = _table(project, "dependency-groups")
        wanted = {name: (self._file(name) or b"").decode("utf-8", "replace").splitlines() for name in REQUIREMENTS}
        wanted |= {f"extra {name}": packages for name, packages in extras.items() if isinstance(packages, list)}
        wanted |= {f"group {name}": packages for name, packages in groups.items() if isinstance(packages, list)}
        project_name = normal_name(str(_table(project, "project").get("name", "")))
        return {
            name
            for name, lines in wanted.items()
            if not {normal_name(line) for line in lines if isinstance(line, str) and ";" not in line}
            <= {"", project_name, *self.installed}
        }

    def _file(self, name: str) -> bytes | None:
        try:
            with open(f"{self.root}/{name}", "rb") as file:
                return file.read(MOST)
        except OSError:
            return None

    def _records(self) -> list[InstalledPackage]:
        """Returns the records of the usual interpreters that lead to this checkout."""
        pythons = [find_binary(name, self.environment) for name in ("python", "python3", "pytest")]
        active = self.environment.get("VIRTUAL_ENV", "")
        pythons += [f"{venv}/bin/python" for venv in (self.venv, active) if venv]
        interpreters = {interpreter_of(path, self.environment, self.root) for path in pythons if path} - {""}
        sites = dict.fromkeys(
            site for interpreter in sorted(interpreters) for site in site_folders(interpreter, self.environment)
        )
        return [record for site in sites for record in self.records_in(site)]

    def records_in(self, site: str) -> list[InstalledPackage]:
        """Returns the records of one package folder that lead to this checkout, read once."""
        if site not in self.records_by_site:
            self.records_by_site[site] = list(records(site, self.root))
        return self.records_by_site[site]


def _venv_of(root: str, environment: Mapping[str, str]) -> str:
    active, local_venv = environment.get("VIRTUAL_ENV", ""), own_venv(root)
    if active and relative_to(active, root) and os.path.isdir(active):
        return active
    return f"{root}/{local_venv}" if local_venv else ""


def detect(read: Read, machine: MachineFacts) -> Proposal:
    """Detects the setup for a tree. `read` returns the content of a file of that tree, or None."""
    proposal = Proposal()
    proposal.add(_python(read, machine))
    proposal.add(_node(read, machine))
    return proposal


def manifests(read: Read) -> dict[str, bytes]:
    """Returns the manifests and lock files of a tree."""
    contents: dict[str, bytes] = {}
    names = [*MANIFESTS, *(f"{folder}/package.json" for folder in workspaces(read))]
    while names:
        name = names.pop(0)
        data = read(name) if name not in contents else None
        if data is not None:
            contents[name] = data
            names += _included(name, data) if name.endswith(".txt") else []
    return contents


def _included(name: str, data: bytes) -> list[str]:
    """Lists the files that a requirements file includes."""
    lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
    includes = [fields[1] for fields in lines if len(fields) == 2 and fields[0] in ("-r", "-c", "--requirement")]
    paths = [os.path.normpath(os.path.join(os.path.dirname(name), path)) for path in includes]
    return [path for path in paths if not path.startswith(("/", ".."))]


def _python(read: Read, machine: MachineFacts) -> Proposal:
    project = _toml(read("pyproject.toml"))
    tools = _table(project, "tool")
    proposal = Proposal()
    if read("uv.lock") is not None or "uv" in tools:
        if machine.has_program("uv"):
            frozen = ["--frozen"] if read("uv.lock") is not None else []
            proposal.commands.append(["uv", "sync", *frozen, *_uv_parts(project)])
            proposal.outputs.append(".venv")
            proposal.side_outputs.extend(_egg_infos(read, project))
            return proposal
        proposal.missing_tools["uv"] = "uv.lock" if read("uv.lock") is not None else "pyproject.toml"
    elif read("poetry.lock") is not None:
        if machine.has_program("poetry"):
            proposal.commands.append(["poetry", "install", "--no-interaction", *_poetry_parts(tools.get("poetry"))])
            proposal.outputs.append(".venv")
            return proposal
        proposal.missing_tools["poetry"] = "poetry.lock"
    if machine.venv or machine.own_records:
        return _pip(read, machine, project) or proposal
    return proposal


def _pip(read: Read, machine: MachineFacts, project: Mapping[str, Any]) -> Proposal | None:
    """Proposes a virtual environment with venv and pip, or None if the tree has nothing to install.

    The packages that the user installed by name come first, in the user's versions. The tree's requirements win.
    """
    files = [name for name in REQUIREMENTS if read(name) is not None and name not in machine.incomplete_requirements]
    is_package = read("setup.py") is not None or bool({"project", "build-system"} & set(project))
    if not files and not is_package:
        return None
    name = os.path.basename(machine.venv) if machine.venv and os.path.dirname(machine.venv) == machine.root else ".venv"
    pip = [f"{name}/bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
    proposal = Proposal()
    proposal.commands.append([machine.python, "-m", "venv", name])
    available = _table(project, "dependency-groups")
    groups = [
        group for group in TEST_EXTRAS if group in available and f"group {group}" not in machine.incomplete_requirements
    ]
    if groups:
        proposal.commands.append([*pip, "--upgrade", "pip"])  # older versions do not have --group
    if machine.requested:
        proposal.commands.append([*pip, *machine.requested])
    arguments = [option for file in files for option in ("-r", file)]
    if is_package:
        available = _table(project, "project", "optional-dependencies")
        extras = [
            extra
            for extra in TEST_EXTRAS
            if extra in available and f"extra {extra}" not in machine.incomplete_requirements
        ]
        arguments += ["-e", f".[{','.join(extras)}]" if extras else "."]
    arguments += [option for group in groups for option in ("--group", group)]
    proposal.commands.append([*pip, *arguments])
    proposal.outputs.append(name)
    proposal.side_outputs.extend(_egg_infos(read, project))
    return proposal


def _egg_infos(read: Read, project: Mapping[str, Any]) -> list[str]:
    name = _table(project, "project").get("name")
    if not isinstance(name, str):
        lines = (read("setup.cfg") or b"").decode("utf-8", "replace").splitlines()
        name = next((line.partition("=")[2].strip() for line in lines if line.split("=")[0].strip() == "name"), "")
    file_name = "".join(letter if letter.isalnum() or letter in "._" else "_" for letter in name)
    return [f"{file_name}.egg-info", f"src/{file_name}.egg-info"] if file_name else []


def _uv_parts(project: Mapping[str, Any]) -> list[str]:
    extras = _table(project, "project", "optional-dependencies")
    groups = _table(project, "dependency-groups")
    options = [option for extra in TEST_EXTRAS if extra in extras for option in ("--extra", extra)]
    return options + [
        option for group in TEST_EXTRAS if group in groups and group != "dev" for option in ("--group", group)
    ]


def _poetry_parts(settings: object) -> list[str]:
    table = settings if isinstance(settings, dict) else {}
    groups = _table(table, "group")
    optional = [group for group in TEST_EXTRAS if _table(groups, group).get("optional") is True]
    options = [option for extra in TEST_EXTRAS if extra in _table(table, "extras") for option in ("--extras", extra)]
    return options + [option for group in optional for option in ("--with", group)]


def _node(read: Read, machine: MachineFacts) -> Proposal:
    proposal = Proposal()
    if read("package.json") is None or read("node_modules/.package-lock.json") is not None:
        return proposal
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
            return proposal  # it has no dependencies
    if not tool:
        return proposal
    if not machine.has_program(tool):
        proposal.missing_tools[tool] = lock
        return proposal
    proposal.commands.append(command)
    proposal.side_outputs.extend([f"{folder}/{NODE_MODULES}" for folder in workspaces(read)])
    if "--immutable" in command:
        proposal.side_outputs.extend([NODE_MODULES, ".pnp.cjs", ".pnp.loader.mjs", ".yarn/cache", ".yarn/unplugged"])
        proposal.side_outputs.extend([".yarn/install-state.gz"])
    else:
        proposal.outputs.append(NODE_MODULES)
    return proposal


def workspaces(read: Read) -> list[str]:
    """Lists the folders of a JavaScript repository that are packages, if its files name them."""
    folders: Iterable[object] = ()
    packages = _json(read("package-lock.json")).get("packages")
    if isinstance(packages, dict):
        folders = [path for path in packages if path and NODE_MODULES not in path.split("/")]
    elif (text := read("pnpm-lock.yaml")) is not None:
        folders = _importers(text.decode("utf-8", "replace"))
    else:
        value = _json(read("package.json")).get("workspaces")
        folders = value.get("packages", ()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    paths = [os.path.normpath(folder) for folder in folders if isinstance(folder, str) and folder and "*" not in folder]
    return [folder for folder in dict.fromkeys(paths) if not folder.startswith(("/", "."))]


def _importers(text: str) -> list[str]:
    """Lists the names below `importers:` in a pnpm lock file."""
    names, is_inside = [], False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            is_inside = line.startswith("importers:")
        elif is_inside and line.startswith("  ") and not line.startswith("   ") and line.rstrip().endswith(":"):
            names.append(line.strip().removesuffix(":").strip("'\""))
    return names


def _toml(data: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((data or b"").decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _json(data: bytes | None) -> dict[str, Any]:
    try:
        document = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _table(data: Mapping[str, Any], *path: str) -> dict[str, Any]:
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


MOST = 1 << 20
HEAD = 512
INSTALL_FOLDERS = (
    "site-packages",
    "dist-packages",
    "node_modules",
)  # folders of installed code, also inside a checkout
OURS = ".sow/local"
NOT_MIRRORED = frozenset({"pip", "setuptools", "wheel", "distribute", "uv"})


@dataclass(frozen=True)
class InstalledPackage:
    """A file of an installation that leads to code of the repository."""

    file: str
    target: str
    source: str = ""  # folder from which Python imports, relative to the checkout
    is_copy: bool = False  # whether the code was copied when it was installed


def read_head(path: str, most: int = MOST) -> str:
    """Returns the beginning of a text file, or "" if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return ""


def interpreter_of(path: str, environment: Mapping[str, str], checkout: str) -> str:
    """Returns the Python that runs a program: itself, or the one in its first line. Returns "" for other programs."""
    path = _behind_shim(path, environment, checkout)
    if _is_python(path):
        return path
    lines = read_head(path, HEAD).split("\n")
    if not lines[0].startswith("#!"):
        return ""
    command = lines[0][2:].split()
    if command and os.path.basename(command[0]) == "env":
        names = [argument for argument in command[1:] if not argument.startswith("-") and "=" not in argument]
        command = [_behind_shim(find_binary(names[0], environment), environment, checkout)] if names else []
    elif command and os.path.basename(command[0]) == "sh" and len(lines) > 1 and lines[1].startswith("'''exec'"):
        command = [lines[1].split()[1].strip("\"'")]  # pip writes this if the path is too long for a first line
    return command[0] if command and _is_python(command[0]) else ""


def _is_python(path: str) -> bool:
    return os.path.basename(path).startswith(("python", "pypy"))


def _behind_shim(path: str, environment: Mapping[str, str], checkout: str) -> str:
    """Returns the program that a pyenv shim starts. Other paths are returned unchanged."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) != "shims" or not os.path.isdir(f"{folder}/../versions"):
        return path
    root = os.path.dirname(folder)
    versions = environment.get("PYENV_VERSION", "") or read_head(f"{checkout}/.python-version")
    for version in (versions or read_head(f"{root}/version")).replace(":", " ").split():
        program = f"{root}/versions/{version}/bin/{name}"
        if os.path.isfile(program):
            return program
    return path


def site_folders(python: str, environment: Mapping[str, str]) -> list[str]:
    """Lists the folders from which an interpreter imports installed packages."""
    prefix = os.path.dirname(os.path.dirname(python))
    settings = venv_settings(prefix)
    if settings is not None:
        folders = _library_folders([prefix], "")
        if settings.get("include-system-site-packages", "") != "true":
            return folders
        base = base_python(prefix)
        return [*folders, *(site_folders(base, environment) if base else [])]
    real = os.path.realpath(python)
    version = os.path.basename(real).removeprefix("python")
    prefixes = [prefix, os.path.dirname(os.path.dirname(real))]
    prefixes += ["/usr/local"] if "/usr" in prefixes else []
    base = environment.get("PYTHONUSERBASE", "") or f"{environment.get('HOME', '')}/.local"
    return _library_folders([*prefixes, base], version if "." in version else "")


def _library_folders(prefixes: list[str], version: str) -> list[str]:
    """Lists the package folders below some prefixes, for one version of Python or for all."""
    folders: dict[str, None] = {}
    for library in (f"{prefix}/{name}" for prefix in prefixes for name in ("lib", "lib64")):
        for name in sorted(os.listdir(library)) if os.path.isdir(library) else []:
            if name == "python3" or (name.startswith("python3.") and version in ("", name.removeprefix("python"))):
                for kind in ("site-packages", "dist-packages"):
                    folder = os.path.realpath(f"{library}/{name}/{kind}")
                    if os.path.isdir(folder):
                        folders[folder] = None
    return list(folders)


def venv_settings(folder: str) -> dict[str, str] | None:
    """Returns the settings of a virtual environment, or None if the folder is not one."""
    if not os.path.isfile(f"{folder}/pyvenv.cfg"):
        return None
    pairs = (line.partition("=") for line in read_head(f"{folder}/pyvenv.cfg").splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def base_python(venv: str) -> str:
    """Returns the interpreter that made a virtual environment, or "" if it does not exist any more."""
    settings = venv_settings(venv) or {}
    version = ".".join((settings.get("version") or settings.get("version_info", "")).split(".")[:2])
    home = settings.get("home", "")
    candidates = [settings.get("executable", ""), f"{home}/python{version}", f"{home}/python3"]
    usable = [path for path in candidates if os.path.isabs(path) and os.access(path, os.X_OK)]
    return next((path for path in usable if relative_to(path, venv) is None), "")


def records(site: str, checkout: str) -> Iterator[InstalledPackage]:
    """Yields the files of one package folder that lead to code of a checkout."""
    for name in sorted(os.listdir(site)) if os.path.isdir(site) else []:
        path = f"{site}/{name}"
        if name.endswith((".pth", ".egg-link")):
            for line in read_head(path).splitlines():
                target = os.path.normpath(os.path.join(site, line.strip()))
                if line.strip() and not line.startswith(("import ", "import\t", "#")):
                    yield from _records_in_checkout(path, target, checkout, target)
        elif name.startswith("__editable__") and name.endswith("_finder.py"):
            for target in _mapping(read_head(path)):
                yield from _records_in_checkout(path, target, checkout, os.path.dirname(target))
        elif name.endswith(".dist-info"):
            yield from _direct_url_records(f"{path}/direct_url.json", checkout)


def _records_in_checkout(file: str, target: str, checkout: str, source: str) -> Iterator[InstalledPackage]:
    path, source_path = relative_to(target, checkout), relative_to(source, checkout)
    if path is not None and not set(path.split("/")) & set(INSTALL_FOLDERS) and relative_to(path, OURS) is None:
        yield InstalledPackage(file, target, source=source_path or "")


def _mapping(text: str) -> list[str]:
    """Returns the folders in the MAPPING of a setuptools editable install."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Dict):
            continue
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == "MAPPING" for target in names):
            values = [value.value for value in node.value.values if isinstance(value, ast.Constant)]
            return [value for value in values if isinstance(value, str)]
    return []


def _direct_url_records(file: str, checkout: str) -> Iterator[InstalledPackage]:
    """Yields the record of a package that was installed from the checkout."""
    folder, is_editable = _installed_from(file)
    if folder and relative_to(folder, checkout) is not None:
        for record in _records_in_checkout(file, folder, checkout, folder):
            yield replace(record, is_copy=not is_editable, source="")


def _installed_from(file: str) -> tuple[str, bool]:
    """Returns the local folder from which a package was installed, and whether it is used in place."""
    import json
    from urllib.parse import unquote, urlsplit

    try:
        document = json.loads(read_head(file) or "{}")
        url, details = urlsplit(document.get("url", "")), document.get("dir_info")
    except (ValueError, AttributeError):
        return "", False
    if url.scheme != "file" or not isinstance(details, dict):
        return "", False
    return unquote(url.path), details.get("editable") is True


def installed_packages(site: str) -> set[str]:
    """Returns the normal names of the packages in a package folder."""
    names = os.listdir(site) if os.path.isdir(site) else []
    return {normal_name(name.split("-")[0]) for name in names if name.endswith((".dist-info", ".egg-info"))}


def normal_name(requirement: str) -> str:
    """Returns the normal name of the package in a requirement, or "" for an option or a comment."""
    text = requirement.strip()
    end = next((index for index, letter in enumerate(text) if not (letter.isalnum() or letter in "._-")), len(text))
    return "" if text.startswith("-") else text[:end].lower().replace("_", "-").replace(".", "-")


def requested_packages(site: str) -> list[str]:
    """Lists the packages that a person installed by name, with versions, except packages from a URL or a folder."""
    requirements = []
    for name in sorted(os.listdir(site)) if os.path.isdir(site) else []:
        package, _, version = name.removesuffix(".dist-info").rpartition("-")
        if not name.endswith(".dist-info") or not package or package.lower() in NOT_MIRRORED:
            continue
        folder = f"{site}/{name}"
        if os.path.isfile(f"{folder}/REQUESTED") and not os.path.exists(f"{folder}/direct_url.json"):
            requirements.append(f"{package.replace('_', '-')}=={version}")
    return requirements
