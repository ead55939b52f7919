"""Finds out which forge a checkout's remote belongs to, and connects to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from sow.errors import SowError
from sow.forge.api import PROGRAMS, ForgeApi
from sow.forge.forge import GITHUB, GITLAB, Forge, ForgeError, Remote
from sow.forge.github import GitHub
from sow.forge.gitlab import GitLab
from sow.system import git
from sow.system.terminal import escape_line

SCP = re.compile(r"(?:[^@/:]+@)?([^:/@\[\]]+):(?!/)(.+)")  # git@host:owner/name.git
# ssh over the port of https has a host of its own.
SSH_HOSTS = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
CLASSES: dict[str, type[GitHub] | type[GitLab]] = {GITHUB: GitHub, GITLAB: GitLab}


@dataclass(frozen=True, slots=True)
class ForgeReadiness:
    """Whether the program of a forge is there, and the user logged in with it."""

    program: str  # "" if the host's name does not say which one, and no program is logged in there
    host: str
    is_installed: bool = False
    is_logged_in: bool = False
    version: tuple[int, ...] = ()


def connect(root: str, environment: Mapping[str, str], remote: str = "origin", *, retry: str = "") -> Forge:
    """Returns the forge of a remote; raises if it has none, or if the user's gh or glab is missing or not logged in.

    `retry` is the beginning of the command that names another remote, if there is one.
    """
    host, path = parse_url(remote_url(root, remote, retry=retry))
    api = _login(host, environment)
    owner, _, name = path.rpartition("/")
    return CLASSES[api.kind](Remote(api.kind, host, owner, name), api)


def remote_url(root: str, remote: str, *, retry: str = "") -> str:
    """Returns the URL of a remote, as the user's rewrites (`url.*.insteadOf`) make it."""
    url = git.run(["remote", "get-url", "--", remote], cwd=root, check=False).strip()
    if not url:
        names = git.run(["remote"], cwd=root, check=False).split()
        others = f"; there is {', '.join(names)}" if names else ""
        other = forge_remote(root) or next(iter(names), "")
        raise SowError(
            f"this repository has no remote {escape_line(remote)!r}{others}",
            f"{retry} {shlex.quote(other)}" if retry and other else f"git remote add {remote or 'origin'} URL",
        )
    return url


def sibling_url(url: str, path: str) -> str:
    """Returns the URL of another repository on the host of a remote's URL, with the same protocol and user."""
    if "://" not in url:
        return f"{url.partition(':')[0]}:{path}.git"
    return urlsplit(url)._replace(path=f"/{path}.git", query="", fragment="").geturl()


def forge_remote(root: str) -> str:
    """Returns the remote, origin first, whose host name shows that it is on a forge, or "". Asks no other machine."""
    names = []
    for line in git.run(["remote", "-v"], cwd=root, check=False).splitlines():
        name, _, rest = line.partition("\t")
        url, _, use = rest.partition(" (")
        with suppress(SowError):
            if use.startswith("fetch)") and _kind_of(parse_url(url)[0]):
                names.append(name)
    return "origin" if "origin" in names else next(iter(names), "")


def _kind_of(host: str) -> str:
    """Returns the kind of forge that the name of a host shows, or ""."""
    name = host.partition(":")[0]
    parts = name.split(".")
    if "gitlab" in parts:
        return GITLAB
    return GITHUB if "github" in parts or name.endswith(".ghe.com") else ""


def parse_url(url: str) -> tuple[str, str]:
    """Returns the host and the path of a repository from a remote's URL; passwords in it are not shown."""
    host = path = ""
    if "://" in url:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        host = (parts.hostname or "").lower()
        if parts.scheme in ("http", "https") and port:
            host = f"{host}:{port}"
        path = unquote(parts.path) if parts.scheme in ("http", "https", "ssh", "git+ssh") else ""
    elif match := SCP.fullmatch(url):
        host, path = match[1].lower(), match[2]
    path = path.strip("/").removesuffix(".git")
    if not host or "/" not in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise SowError(
            f"the remote {hide_password(url)!r} is on no GitHub or GitLab",
            "git remote set-url origin URL, with the URL of a repository there",
        )
    return SSH_HOSTS.get(host, host), path


def hide_password(url: str) -> str:
    """Returns a URL without the user and the password in it."""
    return escape_line(re.sub(r"(?<=://)[^/@]*@", "", url))[:200]


def readiness(root: str, environment: Mapping[str, str]) -> ForgeReadiness | None:
    """Returns whether the program of the forge of `origin` can be used, or None if that is on no forge."""
    try:
        host, _ = parse_url(remote_url(root, "origin"))
    except SowError:
        return None
    api = _api(host, environment)
    is_installed = api.is_installed()
    is_logged_in = is_installed and api.is_logged_in()
    if not _kind_of(host) and not is_logged_in:
        return ForgeReadiness("", host)
    version = api.version() if is_installed else ()
    return ForgeReadiness(api.program, host, is_installed=is_installed, is_logged_in=is_logged_in, version=version)


def unknown_host(host: str) -> tuple[str, str]:
    """Returns a message and a hint about a host to which no program is logged in, and which may be no forge."""
    logins = [f"{program} auth login --hostname {host}" for program in PROGRAMS.values()]
    message = f"{host} is on no GitHub or GitLab that gh or glab is logged in to"
    return message, f"if it is a GitHub: {logins[0]}; if it is a GitLab: {logins[1]}"


def _login(host: str, environment: Mapping[str, str]) -> ForgeApi:
    """Returns the calls to a host to which the user is logged in."""
    api = _api(host, environment)
    if _kind_of(host):
        api.require_login()
    elif not api.is_installed() or not api.is_logged_in():
        raise ForgeError(*unknown_host(host), exit_code=4)
    return api


def _api(host: str, environment: Mapping[str, str]) -> ForgeApi:
    """Returns the calls to a host. Its name, or else the program that is logged in to it, shows which forge it is."""
    kind_of_host = _kind_of(host)
    apis = [ForgeApi(kind, host, environment) for kind in PROGRAMS if kind_of_host in ("", kind)]
    installed = [api for api in apis if api.is_installed()] or apis[:1]
    return next((api for api in installed[1:] if api.is_logged_in()), installed[0])
