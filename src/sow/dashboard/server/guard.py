"""Decides which requests are accepted: by host, origin, cookie and the process that sent them."""

from __future__ import annotations

from sow.dashboard.server.routes import ACTOR, INDEX, VIEWER
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message

    from sow.dashboard.server.access import Access
    from sow.dashboard.server.routes import Route

    End = tuple[str, int]
    Ends = tuple[End, End]  # the client's and our own

NAMES = ("127.0.0.1", "localhost", "[::1]")
LARGEST = 256 << 10
SAFE = ("GET", "HEAD")
OPEN_AGAIN = "run 'sow ui' again in the project's folder and open the address that it prints"


class RequestRefused(SowError):
    """A refused request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str, hint: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message, hint)
        self.status = status
        self.headers = headers


def check_head(headers: Message) -> None:
    """Refuses headers that two parsers could read differently."""
    if headers.defects or headers.get_payload():
        raise RequestRefused(400, "a header of the request is invalid", "send one 'Name: value' on each line")
    for name in ("Host", "Origin", "Content-Length", "Content-Type", "Cookie", "Sec-Fetch-Site", "X-Sow"):
        values = headers.get_all(name, [])
        if len(values) > 1 or any("\n" in value or "\r" in value for value in values):
            raise RequestRefused(400, f"the request has {name} twice, or on two lines", "send each header once")
    if "Transfer-Encoding" in headers:
        raise RequestRefused(400, "chunked bodies are not supported", "send it whole, with its Content-Length")


def check_origin(route: Route | None, method: str, headers: Message) -> None:
    """Refuses requests that another site, or another name for this machine, makes a browser send."""
    host = headers.get("Host", "")
    if not _is_local(host):
        raise RequestRefused(
            403, "the Host of the request is not this machine", "open the address that 'sow ui' printed"
        )
    origin = headers.get("Origin")
    if origin is not None and origin != f"http://{host}":
        raise RequestRefused(403, "the request comes from another origin", "open the address that 'sow ui' printed")
    site = headers.get("Sec-Fetch-Site", "same-origin")
    if site != "same-origin" and not (route is INDEX and method in SAFE and _is_navigation(headers, site)):
        raise RequestRefused(403, "the request comes from another site", "open the address that 'sow ui' printed")


def _is_local(host: str) -> bool:
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    name = name if colon else host
    return name.lower() in NAMES and (not colon or (port.isascii() and port.isdigit() and len(port) <= 5))


def _is_navigation(headers: Message, site: str) -> bool:
    """Returns whether a user opens the page itself, by its address or by a link; without a cookie it shows nothing."""
    return site == "none" or (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")


def check_post_headers(headers: Message) -> None:
    """Refuses a POST that the page's script does not send; a form of another site cannot send such headers."""
    if headers.get("Origin") is None:
        raise RequestRefused(403, "the request does not say where it comes from", "use the page, or the command line")
    if headers.get("X-Sow") != "1":
        raise RequestRefused(403, "the request lacks the header of the page", "use the page, or the command line")
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(400, "the Content-Type of the request is not JSON", "send application/json")


def check_size(headers: Message) -> int:
    """Returns the length of the request's body."""
    length = headers.get("Content-Length", "0")
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        raise RequestRefused(400, "the Content-Length of the request is not a number", "send the length in bytes")
    if int(length) > LARGEST:
        raise RequestRefused(413, f"the body of the request is larger than {LARGEST >> 10} KiB", "send a shorter text")
    return int(length)


def check_person(client: End, server: End) -> None:
    """Refuses a request from an agent, from another user, or from a process that cannot be identified."""
    from sow.system.process import socket_owner

    reason = socket_owner.refusal(client, server)
    if reason:
        raise RequestRefused(
            403, f"the request is refused: {reason}", "do it in a browser of yours, or on the command line"
        )


def check(route: Route, headers: Message, access: Access, *, read_only: bool, ends: Ends) -> None:
    """Refuses a request whose sender may not use this route."""
    if route.guard in (VIEWER, ACTOR) and not access.has_valid_cookie(headers.get("Cookie", "")):
        raise RequestRefused(401, "this browser is not signed in", OPEN_AGAIN)
    if route.method in SAFE:
        return
    check_post_headers(headers)
    if route.guard == ACTOR and read_only:
        raise RequestRefused(
            403, "this dashboard is for looking only", "start 'sow ui' without --read-only, or type it"
        )
    check_person(*ends)
