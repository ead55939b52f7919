"""Controls access to the dashboard: a one-time token in a private file is exchanged for a signed cookie."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import threading
import time

from sow.store.files import user_file
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LIFE = 30 * 24 * 3600
LONGEST = 64 << 10
HIGHEST = 65535  # highest port number
HEX = frozenset("0123456789abcdef")


class Access:
    """The secrets of one server: a token for the next browser, and a key that signs all cookies."""

    def __init__(self, environment: Mapping[str, str], root: str, *, read_only: bool) -> None:
        self.path = path(environment, root, read_only=read_only)
        self.scope = f"{os.path.realpath(root)}\0{read_only}"
        self.cookie_name = f"sow_{_digest(root)[:8]}" + ("_ro" if read_only else "")
        stored_key = read_secrets(self.path).get("key", "")
        # A restarted server keeps its key, so that the cookies of open pages stay valid.
        self.key = stored_key if len(stored_key) == 64 and HEX.issuperset(stored_key) else os.urandom(32).hex()
        self.token = ""
        self.facts: dict[str, Any] = {}
        self.lock = threading.Lock()

    def write_secrets(self, port: int) -> None:
        """Writes the server's port and a new token to the private file."""
        self.facts = {"port": port, "pid": os.getpid()}
        with self.lock:
            self._renew()

    def _renew(self) -> None:
        token = os.urandom(24).hex()
        user_file.write(self.path, json.dumps({"token": token, "key": self.key, **self.facts}) + "\n")
        self.token = token

    def use_token(self, token: str) -> bool:
        """Checks the token; a valid token is used up and replaced."""
        with self.lock:
            if not self.token or not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
                return False
            self._renew()
            return True

    def cookie(self) -> str:
        """Returns a new cookie as a Set-Cookie value."""
        expires = str(int(time.time()) + LIFE)
        value = f"{expires}.{self._signature(expires)}"
        return f"{self.cookie_name}={value}; Max-Age={LIFE}; Path=/; HttpOnly; SameSite=Strict"

    def has_valid_cookie(self, cookies: str) -> bool:
        """Returns whether one of the cookies is signed by this server and has not expired."""
        for cookie in cookies.split(";"):
            name, _, value = cookie.strip().partition("=")
            if name == self.cookie_name and self._is_good(value):
                return True
        return False

    def _is_good(self, value: str) -> bool:
        expires, _, signature = value.partition(".")
        if not (expires.isascii() and expires.isdigit() and len(expires) < 16):
            return False
        signed = hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(expires).encode())
        return signed and int(expires) > time.time()

    def _signature(self, expires: str) -> str:
        text = f"{self.scope}\0{expires}".encode("utf-8", "surrogateescape")
        return hmac.new(bytes.fromhex(self.key), text, "sha256").hexdigest()


def path(environment: Mapping[str, str], root: str, *, read_only: bool) -> str:
    """Returns the path of a server's secrets; a read-only server has a file of its own."""
    name = _digest(root)[:16] + ("-read-only" if read_only else "")
    return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/ui/{name}.json"


def read_secrets(path: str) -> dict[str, Any]:
    """Reads a server's file; empty if the file is invalid, or if other users could have read it."""
    try:
        status = os.lstat(path)
        private = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
        if not private or status.st_size > LONGEST:
            return {}
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    kinds = {"token": str, "key": str, "port": int, "pid": int}
    valid = isinstance(content, dict) and all(isinstance(content.get(name), kind) for name, kind in kinds.items())
    return content if valid and 0 < content["port"] <= HIGHEST else {}


def address(port: int, token: str) -> str:
    """Returns the URL to open; the token follows the #, which a browser sends to no server."""
    return f"http://127.0.0.1:{port}/#token={token}"


def _digest(root: str) -> str:
    return hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()
