"""Decides how far the sandbox limits a program, and which hosts it may reach: all, only named ones, or none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALL, MODEL, NONE = MODES = ("all", "model", "none")  # from the widest to the narrowest
OFF, AUTO, BWRAP = SANDBOX_MODES = ("off", "auto", "bwrap")  # in the same order
HTTP, HTTPS = 80, 443
LOOPBACK = ("localhost", "127.0.0.1")
FIRST_PORT = 1024  # a program in the sandbox cannot listen on a lower one
LAST_PORT = 65535
MAX_HOST = 253
TOOL = "network"  # of a refused connection, among the refused commands
REFUSED = "refused"  # of a connection, in the log


def is_wider(mode: str, limit: str, modes: tuple[str, ...] = MODES) -> bool:
    """Returns whether a mode allows more than a limit."""
    return modes.index(mode) < modes.index(limit)


def narrower(first: str, second: str, modes: tuple[str, ...] = MODES) -> str:
    """Returns the mode that allows less."""
    return second if is_wider(first, second, modes) else first


def split_host(text: str, port: int = HTTPS) -> tuple[str, int]:
    """Returns the host and the port of `host`, `host:port` or `[::1]:port`; raises ValueError if it is neither."""
    name, colon, number = (
        (text, "", "") if text.endswith("]") else text.rpartition(":") if ":" in text else (text, "", "")
    )
    name = name.removesuffix(".").lower()
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
        is_host = set(name) <= set("0123456789abcdef.:")
    else:
        is_host = all(map(_is_label, name.split(".")))
    if colon:
        port = int(number) if number.isascii() and number.isdigit() and len(number) <= len(str(LAST_PORT)) else 0
    if not is_host or not 0 < len(name) <= MAX_HOST or not 0 < port <= LAST_PORT:
        raise ValueError(f"{text!r:.80} is no host")
    return name, port


def _is_label(text: str) -> bool:
    plain = text.replace("-", "").replace("_", "")
    return plain.isascii() and plain.isalnum() and not text.startswith("-")


def host_error(text: str) -> str:
    """Returns what is wrong with a host in the user's settings, or an empty text."""
    try:
        host, port = split_host(text.removeprefix("*."))
    except ValueError:
        return "is no host; write example.org, *.example.org or example.org:8443"
    if host in LOOPBACK and (":" not in text or port < FIRST_PORT):
        return f"needs a port from {FIRST_PORT}, such as {host}:8080"
    return ""


class Hosts:
    """The hosts that may be reached, and those that are refused without a word, such as a CLI's telemetry."""

    def __init__(self, allowed: Iterable[str], silent: Iterable[str] = ()) -> None:
        self.allowed = tuple(dict.fromkeys(allowed))
        self.silent = tuple(silent)

    def allows(self, host: str, port: int) -> bool:
        return any(_fits(rule, host, port) for rule in self.allowed)

    def is_silent(self, host: str) -> bool:
        return any(_fits(rule, host, HTTPS) for rule in self.silent)

    def local_ports(self) -> list[int]:
        """Returns the allowed ports of this machine on which a program in the sandbox can listen."""
        named = (split_host(rule.removeprefix("*.")) for rule in self.allowed)
        return sorted({port for host, port in named if host in LOOPBACK and port >= FIRST_PORT})


def _fits(rule: str, host: str, port: int) -> bool:
    wanted, wanted_port = split_host(rule.removeprefix("*."))
    if port != wanted_port:
        return False
    return host == wanted or (rule.startswith("*.") and host.endswith(f".{wanted}"))


def host_of_url(url: str) -> str:
    """Returns the host and port of a URL as an entry of a list of hosts, or an empty text."""
    scheme, _, rest = url.partition("://")
    try:
        host, port = split_host(rest.split("/")[0].rpartition("@")[2], HTTPS if scheme == "https" else HTTP)
    except ValueError:
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
