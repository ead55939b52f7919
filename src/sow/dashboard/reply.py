"""What goes back to a browser: a status, a body and the headers that every reply has; no control byte gets through."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
ALWAYS = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
JSON = "application/json; charset=utf-8"
BODILESS = (204, 304)
WORTH_PACKING = 1 << 10
# Control characters as JSON writes them: as escapes, or raw. A backslash that stands for itself is met first, so that
# what follows it is no escape. Two patterns are three times as fast as one.
ESCAPED = re.compile(r"\\(?:\\|r\\n|u00[01][0-9a-f]|[rbf])")
RAW = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
LINE_END = "\\n"


class Reply:
    """One answer."""

    __slots__ = ("body", "headers", "kind", "status")

    def __init__(self, status: int, body: bytes, kind: str, headers: tuple[tuple[str, str], ...]) -> None:
        self.status = status
        self.body = body
        self.kind = kind
        self.headers = headers

    def pack(self) -> None:
        """Make the body smaller, for a client that can read that."""
        if len(self.body) >= WORTH_PACKING:
            self.body = packed(self.body)
            self.headers = (*self.headers, ("Content-Encoding", "gzip"))

    def head(self, *, close: bool) -> bytes:
        """The status and all headers."""
        lines = [*self.headers, *ALWAYS, ("Vary", "Accept-Encoding")]
        if self.status not in BODILESS:
            lines += [("Content-Type", self.kind), ("Content-Length", str(len(self.body)))]
        return head(self.status, [*lines, ("Connection", "close" if close else "keep-alive")])


def head(status: int, headers: list[tuple[str, str]]) -> bytes:
    """The first lines of an answer, as they are sent."""
    shown = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(shown) + "\r\n\r\n").encode("latin-1", "replace")


def packed(data: bytes) -> bytes:
    """The same as gzip."""
    import zlib

    press = zlib.compressobj(6, zlib.DEFLATED, 31)
    return press.compress(data) + press.flush()


def document(content: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A JSON document; nobody keeps a copy of it."""
    return Reply(status, text(content).encode(), JSON, (*headers, ("Cache-Control", "no-store")))


def tagged(content: Any, *, packs: bool) -> Reply:
    """A JSON document with a tag by which a page knows that it has it, as gzip for one that can read that."""
    import hashlib

    found = document(content)
    found.headers = (*found.headers, ("ETag", f'"{hashlib.sha256(found.body).hexdigest()[:20]}"'))
    if packs:
        found.pack()
    return found


def refusal(status: int, error: str, hint: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """What went wrong, and what to do next."""
    return document({"error": error, "hint": hint}, status, headers)


def empty(status: int, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """An answer without a body."""
    return Reply(status, b"", "", (*headers, ("Cache-Control", "no-store")))


def text(content: Any) -> str:
    """A document as JSON on one line, with every control character in it made visible or taken out."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return RAW.sub(_shown, ESCAPED.sub(_shown, written))


def _shown(found: re.Match[str]) -> str:
    """What stands for a control character in a text of JSON; two lines stay two."""
    written = found[0]
    if written == "\\\\":
        return written
    if written == "\\r\\n":
        return LINE_END
    return harmless(json.loads(f'"{written}"') if written[0] == "\\" else written).replace("\n", LINE_END)
