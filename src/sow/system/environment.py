"""A worker's environment: an allow-list, its CLI's own variables and our marks; and folders that the user's names."""

from __future__ import annotations

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALLOWED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "TERM",
        "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_SSH_COMMAND",
        "GOPATH", "GOROOT", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV",
        "PYTHONDONTWRITEBYTECODE", "PYTHONPATH",
    }
)  # fmt: skip
ALLOWED_PREFIXES = ("LC_", "XDG_")
# What a CLI sets for its own children: left in, it would confuse a CLI that starts below another one.
OUTER_MARKS = frozenset(
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
    """The variables that a worker gets: `own` are names, or prefixes that end in _, of its CLI's variables."""
    names = tuple(own)
    exact = {name for name in names if not name.endswith("_")}
    prefixes = (*ALLOWED_PREFIXES, *(name for name in names if name.endswith("_")))
    kept = {
        name: value
        for name, value in environment.items()
        if (name in ALLOWED or name in exact or name.startswith(prefixes)) and name not in OUTER_MARKS
    }
    return {**kept, **marks}


def user_folder(environment: Mapping[str, str], variable: str, usual: str) -> str:
    """A folder of the user by the XDG rules, which do not count a relative path."""
    named, home = environment.get(variable, ""), environment.get("HOME", "")
    if named.startswith("/"):
        return named.rstrip("/")
    if not home.startswith("/"):
        raise SowError(f"neither {variable} nor HOME is set to a folder", "set HOME to your home folder")
    return f"{home.rstrip('/')}/{usual}"
