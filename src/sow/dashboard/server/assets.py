"""Serves the files of the page, which are read from the package when the server starts."""

from __future__ import annotations

import hashlib
import os

from sow.dashboard.server.reply import Reply, gzip_data

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json; charset=utf-8",
}
FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "assets")
INDEX = "index.html"


class Asset:
    """One file of the page."""

    def __init__(self, data: bytes, kind: str) -> None:
        self.data = data
        self.kind = kind
        self.tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
        self.gzipped = b""

    def reply(self, *, packs: bool, client_tag: str) -> Reply:
        """Returns the file; if the browser has it already, only a 304 with its tag."""
        headers = (("ETag", self.tag), ("Cache-Control", "no-cache"))
        if client_tag == self.tag:
            return Reply(304, b"", "", headers)
        if not packs:
            return Reply(200, self.data, self.kind, headers)
        self.gzipped = self.gzipped or gzip_data(self.data)
        return Reply(200, self.gzipped, self.kind, (*headers, ("Content-Encoding", "gzip")))


def load(folder: str = FOLDER) -> dict[str, Asset]:
    """Loads the files of the page by name; files of unknown kinds are skipped."""
    assets = {}
    for name in sorted(os.listdir(folder)):
        kind = KINDS.get(os.path.splitext(name)[1])
        if kind:
            with open(f"{folder}/{name}", "rb") as file:
                assets[name] = Asset(file.read(), kind)
    return assets
