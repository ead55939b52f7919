"""Reads from the files of Python installations which interpreter a program uses and where packages come from.

No interpreter is started, so that no code of the repository or of an installed package runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sow.executors.settings import find_binary
from sow.system.environment import relative_to

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
