"""Builds a worker's environment from an allow-list, its CLI's own variables and our marks, and finds user folders."""

from __future__ import annotations

import os

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ALLOWED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "TERM",
        "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_SSH_COMMAND",
        "GOPATH", "GOROOT", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV",
        "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "NODE_PATH", "GOWORK", "POETRY_VIRTUALENVS_IN_PROJECT",
    }
)  # fmt: skip
ALLOWED_PREFIXES = ("LC_", "XDG_")
# Variables that say where programs and code are: lists of folders, single paths that a program makes if they are
# missing, and single paths that must exist.
PATH_LISTS = ("PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "CLASSPATH", "PERL5LIB", "RUBYLIB")
MADE_PATHS = ("CARGO_TARGET_DIR", "GOBIN", "GEM_HOME", "BUNDLE_PATH", "PYTHONPYCACHEPREFIX")
PATHS = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONUSERBASE", "GOWORK", "npm_config_prefix", "NPM_CONFIG_PREFIX",
)  # fmt: skip
VENVS = (".venv", "venv", "env")
# Variables that a CLI sets for its own children; they would confuse a CLI that starts below another one.
CLI_MARKERS = frozenset(
    {
        "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT",
        "CLAUDE_PID", "AI_AGENT", "AGENT", "GIT_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS",
    }
)  # fmt: skip


def worker_environment(
    environment: Mapping[str, str], *, own: Iterable[str], marks: Mapping[str, str]
) -> dict[str, str]:
    """Returns the variables for a worker: `own` are names, or prefixes that end in _, of its CLI's variables."""
    names = tuple(own)
    exact = {name for name in names if not name.endswith("_")}
    prefixes = (*ALLOWED_PREFIXES, *(name for name in names if name.endswith("_")))
    kept = {
        name: value
        for name, value in environment.items()
        if (name in ALLOWED or name in exact or name.startswith(prefixes)) and name not in CLI_MARKERS
    }
    return {**kept, **marks}


def checkout_environment(
    environment: Mapping[str, str],
    checkout: str,
    folder: str,
    *,
    venv: str = "",
    go_work: bool = False,
    sources: Sequence[str] | None = None,
) -> dict[str, str]:
    """Returns the environment for programs in `folder`, another checkout of the same repository.

    A path below the user's checkout becomes the same path below `folder`, or is left out if it must exist. The virtual
    environment `venv` of the folder comes first; `go_work` says whether the folder has a go.work. With `sources` the
    user accepted the tools of their own checkout: such paths stay, and these folders of the code, relative to a
    checkout, come first for Python.
    """
    variables = dict(environment)
    if os.path.realpath(folder) == os.path.realpath(checkout):
        return variables
    for name in (*PATH_LISTS, *MADE_PATHS, *PATHS):
        value = variables.get(name, "")
        entries = value.split(os.pathsep) if name in PATH_LISTS else [value]
        moved = [_moved(entry, checkout, folder, home=variables.get("HOME", "")) for entry in entries]
        if moved == entries:
            continue
        if sources is not None and name in ("PATH", "VIRTUAL_ENV"):
            moved = entries
        elif name in PATHS:
            moved = []
        variables[name] = os.pathsep.join(moved)
        if not moved:
            del variables[name]
    variables.pop("UV_PROJECT_ENVIRONMENT", None)  # uv would set up that environment, not the one of the folder
    variables["POETRY_VIRTUALENVS_IN_PROJECT"] = "true"  # poetry would use one environment for all checkouts
    if sources:
        source_folders = [os.path.normpath(os.path.join(folder, source)) for source in sources]
        variables["PYTHONPATH"] = _first(source_folders, variables.get("PYTHONPATH", ""))
    if venv:
        venv_folder = os.path.join(folder, venv)
        variables |= {
            "VIRTUAL_ENV": venv_folder,
            "PATH": _first([f"{venv_folder}/bin"], variables.get("PATH", os.defpath)),
        }
        variables.pop("PYTHONHOME", None)
    if not go_work and os.path.exists(f"{checkout}/go.work"):
        variables["GOWORK"] = "off"  # go looks in the folders above, and would find the modules of the user's checkout
    return variables


def own_venv(folder: str) -> str:
    """Returns the name of the virtual environment in a folder, or nothing."""
    return next((name for name in VENVS if os.path.isfile(f"{folder}/{name}/pyvenv.cfg")), "")


def relative_to(path: str, folder: str) -> str | None:
    """Returns the part of a path below a folder, also through links, or None for a path elsewhere."""
    for candidate, parent in ((path, folder), (os.path.realpath(path), os.path.realpath(folder))):
        if candidate == parent or candidate.startswith(f"{parent}/"):
            return candidate[len(parent) + 1 :]
    return None


def _moved(path: str, checkout: str, folder: str, *, home: str) -> str:
    """Returns a path of the user's environment as it is for another checkout."""
    if not os.path.isabs(path) or relative_to(path, folder) is not None:
        return path
    part = relative_to(path, checkout)
    # If the home folder itself is the checkout, the tools in it are the user's, not the repository's.
    is_personal = part is not None and relative_to(home, checkout) == "" and part.startswith(".")
    if part is None or (is_personal and not os.path.isfile(f"{path}/../pyvenv.cfg")):
        return path
    return os.path.join(folder, part) if part else folder


def _first(paths: Sequence[str], others: str) -> str:
    """Returns a list of folders with some moved to the front."""
    rest = [entry for entry in others.split(os.pathsep) if entry and entry not in paths]
    return os.pathsep.join([*paths, *rest])


def user_folder(environment: Mapping[str, str], variable: str, default: str) -> str:
    """Returns a folder of the user by the XDG rules, which ignore a relative path."""
    named, home = environment.get(variable, ""), environment.get("HOME", "")
    if named.startswith("/"):
        return named.rstrip("/")
    if not home.startswith("/"):
        raise SowError(f"neither {variable} nor HOME is set to a folder", "set HOME to your home folder")
    return f"{home.rstrip('/')}/{default}"
