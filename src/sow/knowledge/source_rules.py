"""Checks URLs, refs, folders and names of knowledge sources, because all of them reach a command line."""

from __future__ import annotations

from sow.domain import inputs
from sow.domain.inputs import is_branch_name
from sow.errors import SowError

HTTPS, SSH, FILE, PATH = "https", "ssh", "file", "path"
FORMS = "give https://…, ssh://…, user@host:path, file:///… or the path of a repository on this machine"
HEX = frozenset("0123456789abcdef")
COMMITS = (40, 64)
HOST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+~[]:%")
LONGEST_USER = 32  # a longer user name is probably a token
ENCODED = ("%00", "%0a", "%0d")
LONGEST_NAME = 64


def kind_of(url: str) -> str:
    """Returns how a URL is reached: https, ssh, file or path. Any other form is refused, even if git supports it."""
    checked = inputs.checked_line(url, "the URL", 2000)
    head = checked.partition("/")[0]
    if checked.startswith("-") or "\\" in checked or checked != url:
        raise _refused(checked, "is no URL of a repository")
    if "::" in head:
        raise _refused(checked, "names a program to be run")
    if any(code in checked.lower() for code in ENCODED):
        raise _refused(checked, "hides a line break")
    if "://" in checked:
        return _with_scheme(checked)
    return _scp_form(checked) if ":" in head else PATH


def _refused(url: str, why: str) -> SowError:
    return SowError(f"{url[:200]!r} {why}", FORMS)


def _with_scheme(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in (HTTPS, SSH, FILE):
        raise _refused(url, f"has a scheme that is not allowed ({scheme[:20]})")
    if scheme == FILE:
        if not rest.startswith("/") or not rest.strip("/"):
            raise _refused(url, "has no full path behind file://")
        return FILE
    authority, _, path = rest.partition("/")
    _check_user(authority.rpartition("@")[0], url, secret=scheme == HTTPS)
    _check_address(url, authority, path)
    return scheme


def _scp_form(url: str) -> str:
    authority, _, path = url.partition(":")
    _check_address(url, authority, path)
    return SSH


def _check_address(url: str, authority: str, path: str) -> None:
    user, at, host = authority.rpartition("@")
    if not _is_host(host) or (at and not _is_host(user)) or not _is_plain(path):
        raise _refused(url, "has no host, or no path")


def _is_host(name: str) -> bool:
    return bool(name) and not name.startswith("-") and HOST.issuperset(name)


def _is_plain(path: str) -> bool:
    return bool(path.strip("/ ")) and path.lstrip("/")[0] not in "- "


def _check_user(user: str, url: str, *, secret: bool) -> None:
    """Raises SowError if a URL has a password, because it would be written to readable files."""
    if ":" in user or (secret and len(user) > LONGEST_USER):
        raise SowError(
            f"the URL of {url.rpartition('@')[2][:100]!r} contains a password or a token, which sow never stores",
            "leave it out, and use git's credential helper or an SSH key",
        )


def is_commit(ref: str) -> bool:
    """Returns whether a ref is a full commit id, which never moves."""
    return len(ref) in COMMITS and HEX.issuperset(ref)


def check_ref(ref: str) -> str:
    """Returns a branch, a tag or a full commit id, or raises SowError. An empty text is the default branch."""
    if ref and not is_commit(ref) and not is_branch_name(ref):
        raise SowError(
            f"{ref[:200]!r} is no name of a branch, a tag or a commit", "give --ref main, --ref v1.2 or 40 digits"
        )
    return ref


def check_folder(path: str) -> str:
    """Returns a folder inside a repository, or raises SowError. An empty text is the whole repository."""
    checked = inputs.checked_path(path, "the folder") if path else "."
    if any(part.lower() == ".git" for part in checked.split("/")):
        raise SowError(f"the folder {path!r} is git's own", "give a folder of the repository's files")
    return "" if checked == "." else checked


def check_name(name: str) -> str:
    """Returns the name of a sink or linked repository, which is also its folder's name, or raises SowError."""
    letters = name.replace("-", "").replace("_", "")
    good = letters.isascii() and letters.isalnum() and name == name.lower() and name[0].isalnum()
    if not good or len(name) > LONGEST_NAME:
        raise SowError(f"{name[:100]!r} is no name", "use a-z, 0-9, - and _, such as: python-style")
    return name


def name_for(url: str, path: str = "") -> str:
    """Returns the name that a source suggests: that of its folder or repository."""
    last = (path or url.rstrip("/").removesuffix(".git").replace(":", "/")).rstrip("/").rpartition("/")[2].lower()
    dashed = "".join(character if character.isascii() and character.isalnum() else "-" for character in last)
    name = "-".join(part for part in dashed.split("-") if part)[:LONGEST_NAME].strip("-")
    if not name:
        raise SowError(f"{last[:100]!r} gives no name", "give one: --name python-style")
    return name
