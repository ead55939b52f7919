"""Builds a worker's environment, finds user folders, and removes the secrets of the environment from stored files."""

from __future__ import annotations

import errno
import os
import stat

from sow.errors import SowError, SystemFailure
from sow.system import clock

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


WORDS = frozenset({"KEY", "KEYS", "AUTH", "OAUTH", "PASS", "PAT"})
ENDINGS = ("TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "APIKEY")
SHORTEST = 8
LONGEST_NAME = 200
CHUNK = 1 << 20
FILLER = b"*"
UNQUOTED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")  # in a URL
URL_SAFE = bytes.maketrans(b"+/", b"-_")
NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR)  # removed by a worker, or something else in its place


def secrets(environment: Mapping[str, str], names: Iterable[str] = ()) -> list[str]:
    """Returns the values of secret variables: by name, by these names (or prefixes that end in _), and in URLs."""
    given = tuple(names)
    values = {secret for name, value in environment.items() for secret in _values(name, value, given)}
    return sorted(values, key=len, reverse=True)


def names_of_secrets(environment: Mapping[str, str], names: Iterable[str] = ()) -> list[str]:
    """Returns the names of the variables with those values; leaves out names that do not fit on a line."""
    given = tuple(names)
    variables = (name for name, value in environment.items() if _values(name, value, given))
    return sorted(name for name in variables if name.isprintable() and 0 < len(name) <= LONGEST_NAME)


def _values(name: str, value: str, given: tuple[str, ...]) -> list[str]:
    """Returns the secrets in a variable: its value, a password in it, or nothing."""
    values = _passwords(value)
    prefixes = tuple(prefix for prefix in given if prefix.endswith("_"))
    if (name in given or name.startswith(prefixes) or _is_secret(name)) and not _is_path(value):
        values.add(value)
    return [secret for secret in values if len(secret) >= SHORTEST]


def _is_secret(name: str) -> bool:
    """Returns whether a name sounds secret: GITHUB_TOKEN and PGPASSWORD do, GIT_AUTHOR_NAME and KEYBOARD do not."""
    parts = name.upper().split("_")
    return not WORDS.isdisjoint(parts) or any(word.endswith(ENDINGS) for word in parts)


def _is_path(value: str) -> bool:
    """Returns whether the value is an existing path, such as SSH_AUTH_SOCK, which is not itself secret."""
    return value.startswith("/") and os.path.exists(value)


def _passwords(value: str) -> set[str]:
    """Returns the passwords in URLs: as written and decoded, each with and without its user."""
    passwords = set()
    for rest in value.split("://")[1:]:
        authority = rest.split(maxsplit=1)[0] if rest.strip() else ""
        for end in "/?#":
            authority = authority.partition(end)[0]
        user, colon, password = authority.rpartition("@")[0].partition(":")
        if colon and password:
            from urllib.parse import unquote

            passwords |= {password, unquote(password), f"{user}:{password}", unquote(f"{user}:{password}")}
    return passwords


def forms(secret: str) -> set[bytes]:
    """Returns a secret in all forms that a file may have: plain, in JSON, in a URL, in hex, in base64 at any offset."""
    import binascii  # imported here, because most calls of a hot verb have no secret

    raw = secret.encode("utf-8", "surrogateescape")
    quoted = "".join(chr(byte) if chr(byte) in UNQUOTED else f"%{byte:02X}" for byte in raw)
    candidates = {raw, _in_json(secret), quoted.encode(), raw.hex().encode(), raw.hex().upper().encode()}
    for offset in range(3):  # base64 turns three bytes into four letters: the inner letters depend on the offset only
        coded = binascii.b2a_base64(b"\0" * offset + raw, newline=False)
        start = (0, 2, 3)[offset]
        end = len(coded.rstrip(b"=")) - (1 if (len(raw) + offset) % 3 else 0)
        candidates |= {coded[start:end], coded[start:end].translate(URL_SAFE)}
    return {form for form in candidates if len(form) >= SHORTEST}


def _in_json(secret: str) -> bytes:
    """Returns the secret inside a JSON string; loads the json module only if something must be escaped."""
    if secret.isascii() and secret.isprintable() and '"' not in secret and "\\" not in secret:
        return secret.encode()
    import json

    return json.dumps(secret)[1:-1].encode()


def redact_file(path: str, values: Iterable[str]) -> int:
    """Replaces the secrets in a file with stars of the same length; returns how many."""
    patterns = needles(values)
    if not patterns:
        return 0
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in NO_FILE:
            return 0
        raise SystemFailure(
            f"cannot remove secrets from {path}: {error.strerror}", "look at it, and remove it"
        ) from None
    try:
        facts = os.fstat(descriptor)
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
            descriptor = _replace_with_copy(path, descriptor)
        return _strike_file(descriptor, patterns) if stat.S_ISREG(facts.st_mode) else 0
    finally:
        os.close(descriptor)


def _replace_with_copy(path: str, descriptor: int) -> int:
    """Replaces a file that has a second name with a copy, because under that name it may be the user's own."""
    from sow.system import plain_file

    copy = plain_file.create(f"{path}.copy", os.O_RDWR)
    try:
        while data := os.read(descriptor, CHUNK):
            os.write(copy, data)
        clock.crash_point(f"replace {path}")
        os.replace(f"{path}.copy", path)
    except OSError:
        os.close(copy)
        raise
    os.close(descriptor)
    return copy


def _strike_file(descriptor: int, needles: list[bytes]) -> int:
    """Replaces the needles block by block; each block overlaps the next, so that no secret is split."""
    overlap = len(needles[0]) - 1
    struck = 0
    for position in range(0, os.fstat(descriptor).st_size, CHUNK):
        clean, count = _replace_needles(os.pread(descriptor, CHUNK + overlap, position), needles)
        if count:
            clock.crash_point("strike")
            os.pwrite(descriptor, clean, position)
            struck += count
    return struck


def needles(values: Iterable[str]) -> list[bytes]:
    """Returns all forms of all values, the longest first."""
    return sorted({form for value in values for form in forms(value)}, key=len, reverse=True)


def _replace_needles(data: bytes, needles: list[bytes]) -> tuple[bytes, int]:
    count = 0
    for needle in needles:
        if needle in data:
            count += data.count(needle)
            data = data.replace(needle, FILLER * len(needle))
    return data, count


def redact_bytes(data: bytes, needles: list[bytes]) -> bytes:
    """Returns the bytes with stars in the place of each needle; positions stay the same."""
    return _replace_needles(data, needles)[0]


def redact_text(text: str, values: Iterable[str]) -> str:
    """Returns the text without the secrets in any form."""
    return redact_with(text, needles(values))


def redact_with(text: str, needles: list[bytes]) -> str:
    """Returns the text with stars in the place of each needle."""
    return redact_bytes(text.encode("utf-8", "surrogatepass"), needles).decode("utf-8", "surrogatepass")
