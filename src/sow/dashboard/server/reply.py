"""Builds HTTP replies: status, headers and body; control characters in documents are made harmless."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from sow.system.terminal import escape_control

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
# Control characters in JSON text: escaped or raw. The pattern matches an escaped backslash first, so that the text
# after it is not taken for an escape. Two patterns are three times as fast as one.
ESCAPED = re.compile(r"\\(?:\\|r\\n|u00[01][0-9a-f]|[rbf])")
RAW = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
LINE_END = "\\n"


class Reply:
    """One HTTP reply."""

    def __init__(self, status: int, body: bytes, kind: str, headers: tuple[tuple[str, str], ...]) -> None:
        self.status = status
        self.body = body
        self.kind = kind
        self.headers = headers

    def pack(self) -> None:
        """Compresses the body, for a client that accepts gzip."""
        if len(self.body) >= WORTH_PACKING:
            self.body = gzip_data(self.body)
            self.headers = (*self.headers, ("Content-Encoding", "gzip"))

    def head(self, *, close: bool) -> bytes:
        """Returns the status line and all headers."""
        lines = [*self.headers, *ALWAYS, ("Vary", "Accept-Encoding")]
        if self.status not in BODILESS:
            lines += [("Content-Type", self.kind), ("Content-Length", str(len(self.body)))]
        return head(self.status, [*lines, ("Connection", "close" if close else "keep-alive")])


def head(status: int, headers: list[tuple[str, str]]) -> bytes:
    """Formats the status line and the headers."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def gzip_data(data: bytes) -> bytes:
    """Compresses data with gzip."""
    import zlib

    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    return compressor.compress(data) + compressor.flush()


def document(content: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """Returns a JSON document that no cache may store."""
    return Reply(status, text(content).encode(), JSON, (*headers, ("Cache-Control", "no-store")))


def document_with_etag(content: Any, *, packs: bool) -> Reply:
    """Returns a JSON document with an ETag, compressed if the client accepts gzip."""
    import hashlib

    answer = document(content)
    answer.headers = (*answer.headers, ("ETag", f'"{hashlib.sha256(answer.body).hexdigest()[:20]}"'))
    if packs:
        answer.pack()
    return answer


def refusal(status: int, error: str, hint: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """Returns an error with the next step."""
    return document({"error": error, "hint": hint}, status, headers)


def empty(status: int, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """Returns a reply without a body."""
    return Reply(status, b"", "", (*headers, ("Cache-Control", "no-store")))


def text(content: Any) -> str:
    """Formats a document as JSON on one line; control characters become visible or are removed."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return RAW.sub(_shown, ESCAPED.sub(_shown, written))


def _shown(match: re.Match[str]) -> str:
    """Returns the replacement of a control character in JSON text; line ends stay."""
    written = match[0]
    if written == "\\\\":
        return written
    if written == "\\r\\n":
        return LINE_END
    return escape_control(json.loads(f'"{written}"') if written[0] == "\\" else written).replace("\n", LINE_END)
