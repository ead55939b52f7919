"""Reads Python installations from their files: which interpreter a program uses, and where its packages come from.

No interpreter is started, so that nothing of the repository or of an installed package is run.
"""

from __future__ import annotations

import os

from sow.system.environment import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 1 << 20
HEAD = 512
ELSEWHERE = ("site-packages", "dist-packages", "node_modules")  # folders of installed code, also below a checkout
OURS = ".sow/local"
NOT_MIRRORED = frozenset({"pip", "setuptools", "wheel", "distribute", "uv"})


class Record:
    """A file of an installation that leads to code of the repository."""

    __slots__ = ("file", "is_copy", "source", "target")

    def __init__(self, file: str, target: str, *, source: str = "", is_copy: bool = False) -> None:
        self.file = file
        self.target = target
        self.source = source  # the folder of the checkout from which Python imports, relative to it
        self.is_copy = is_copy  # the code was copied when it was installed


def read_head(path: str, most: int = MOST) -> str:
    """The beginning of a text file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return ""


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """The path of a program that PATH has; empty if there is none."""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder}/{name}"
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def interpreter_of(path: str, environment: Mapping[str, str], checkout: str) -> str:
    """The Python that runs a program: the program itself, or the one in its first line; empty for other programs."""
    path = _behind_shim(path, environment, checkout)
    if _is_python(path):
        return path
    lines = read_head(path, HEAD).split("\n")
    if not lines[0].startswith("#!"):
        return ""
    words = lines[0][2:].split()
    if words and os.path.basename(words[0]) == "env":
        names = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
        words = [_behind_shim(find_program(names[0], environment), environment, checkout)] if names else []
    elif words and os.path.basename(words[0]) == "sh" and len(lines) > 1 and lines[1].startswith("'''exec'"):
        words = [lines[1].split()[1].strip("\"'")]  # pip writes this if the path is too long for a first line
    return words[0] if words and _is_python(words[0]) else ""


def _is_python(path: str) -> bool:
    return os.path.basename(path).startswith(("python", "pypy"))


def _behind_shim(path: str, environment: Mapping[str, str], checkout: str) -> str:
    """The program for which a shim of pyenv stands; other paths as they are."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) != "shims" or not os.path.isdir(f"{folder}/../versions"):
        return path
    root = os.path.dirname(folder)
    named = environment.get("PYENV_VERSION", "") or read_head(f"{checkout}/.python-version")
    for version in (named or read_head(f"{root}/version")).replace(":", " ").split():
        found = f"{root}/versions/{version}/bin/{name}"
        if os.path.isfile(found):
            return found
    return path


def site_folders(python: str, environment: Mapping[str, str]) -> list[str]:
    """The folders from which an interpreter imports installed packages."""
    prefix = os.path.dirname(os.path.dirname(python))
    settings = venv_settings(prefix)
    if settings is not None:
        found = _library_folders([prefix], "")
        if settings.get("include-system-site-packages", "") != "true":
            return found
        base = base_python(prefix)
        return [*found, *(site_folders(base, environment) if base else [])]
    real = os.path.realpath(python)
    version = os.path.basename(real).removeprefix("python")
    prefixes = [prefix, os.path.dirname(os.path.dirname(real))]
    prefixes += ["/usr/local"] if "/usr" in prefixes else []
    base = environment.get("PYTHONUSERBASE", "") or f"{environment.get('HOME', '')}/.local"
    return _library_folders([*prefixes, base], version if "." in version else "")


def _library_folders(prefixes: list[str], version: str) -> list[str]:
    """The package folders below some prefixes, of one version of Python or of all."""
    found: dict[str, None] = {}
    for library in (f"{prefix}/{name}" for prefix in prefixes for name in ("lib", "lib64")):
        names = sorted(os.listdir(library)) if os.path.isdir(library) else []
        for name in names:
            if name == "python3" or (name.startswith("python3.") and version in ("", name.removeprefix("python"))):
                for kind in ("site-packages", "dist-packages"):
                    folder = os.path.realpath(f"{library}/{name}/{kind}")
                    if os.path.isdir(folder):
                        found[folder] = None
    return list(found)


def venv_settings(folder: str) -> dict[str, str] | None:
    """The settings of a virtual environment; None if the folder is none."""
    if not os.path.isfile(f"{folder}/pyvenv.cfg"):
        return None
    pairs = (line.partition("=") for line in read_head(f"{folder}/pyvenv.cfg").splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def base_python(venv: str) -> str:
    """The interpreter from which a virtual environment was made; empty if it is gone."""
    settings = venv_settings(venv) or {}
    version = ".".join((settings.get("version") or settings.get("version_info", "")).split(".")[:2])
    home = settings.get("home", "")
    named = [settings.get("executable", ""), f"{home}/python{version}", f"{home}/python3"]
    usable = [each for each in named if os.path.isabs(each) and os.access(each, os.X_OK)]
    return next((each for each in usable if below(each, venv) is None), "")


def records(site: str, checkout: str) -> Iterator[Record]:
    """The files of one package folder that lead to code of a checkout."""
    for name in sorted(os.listdir(site)) if os.path.isdir(site) else []:
        path = f"{site}/{name}"
        if name.endswith((".pth", ".egg-link")):
            for line in read_head(path).splitlines():
                target = os.path.normpath(os.path.join(site, line.strip()))
                if line.strip() and not line.startswith(("import ", "import\t", "#")):
                    yield from _own(path, target, checkout, target)
        elif name.startswith("__editable__") and name.endswith("_finder.py"):
            for target in _mapping(read_head(path)):
                yield from _own(path, target, checkout, os.path.dirname(target))
        elif name.endswith(".dist-info"):
            yield from _direct(f"{path}/direct_url.json", checkout)


def _own(file: str, target: str, checkout: str, source: str) -> Iterator[Record]:
    part, start = below(target, checkout), below(source, checkout)
    if part is not None and not set(part.split("/")) & set(ELSEWHERE) and below(part, OURS) is None:
        yield Record(file, target, source=start or "")


def _mapping(text: str) -> list[str]:
    """The folders in the MAPPING of an editable install by setuptools."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Dict):
            continue
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(each, ast.Name) and each.id == "MAPPING" for each in names):
            found = [each.value for each in node.value.values if isinstance(each, ast.Constant)]
            return [each for each in found if isinstance(each, str)]
    return []


def _direct(file: str, checkout: str) -> Iterator[Record]:
    """The record of a package that was installed from the checkout."""
    folder, is_editable = _installed_from(file)
    if folder and below(folder, checkout) is not None:
        for record in _own(file, folder, checkout, folder):
            record.is_copy = not is_editable
            record.source = ""
            yield record


def _installed_from(file: str) -> tuple[str, bool]:
    """The local folder from which a package was installed, and whether it is used in place."""
    import json
    from urllib.parse import unquote, urlsplit

    try:
        told = json.loads(read_head(file) or "{}")
        url, details = urlsplit(told.get("url", "")), told.get("dir_info")
    except (ValueError, AttributeError):
        return "", False
    if url.scheme != "file" or not isinstance(details, dict):
        return "", False
    return unquote(url.path), details.get("editable") is True


def installed(site: str) -> set[str]:
    """The normal names of the packages in a package folder."""
    names = os.listdir(site) if os.path.isdir(site) else []
    return {normal_name(each.split("-")[0]) for each in names if each.endswith((".dist-info", ".egg-info"))}


def normal_name(requirement: str) -> str:
    """The normal name of the package that a requirement asks for; empty for an option or a comment."""
    text = requirement.strip()
    end = next((at for at, letter in enumerate(text) if not (letter.isalnum() or letter in "._-")), len(text))
    return "" if text.startswith("-") else text[:end].lower().replace("_", "-").replace(".", "-")


def requested(site: str) -> list[str]:
    """The packages that a person asked for by name, with their versions; those of other places are left out."""
    found = []
    for name in sorted(os.listdir(site)) if os.path.isdir(site) else []:
        package, _, version = name.removesuffix(".dist-info").rpartition("-")
        if not name.endswith(".dist-info") or not package or package.lower() in NOT_MIRRORED:
            continue
        folder = f"{site}/{name}"
        if os.path.isfile(f"{folder}/REQUESTED") and not os.path.exists(f"{folder}/direct_url.json"):
            found.append(f"{package.replace('_', '-')}=={version}")
    return found
