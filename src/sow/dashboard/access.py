"""Who may see the dashboard: a one-time token in a private file, exchanged for a cookie that this server signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import threading
import time

from sow.store import user_file
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LIFE = 30 * 24 * 3600
LONGEST = 64 << 10
HIGHEST = 65535  # port
HEX = frozenset("0123456789abcdef")


class Access:
    """The secrets of one server: the token is for the next browser, the key signs the cookies of all."""

    __slots__ = ("cookie_name", "facts", "key", "lock", "path", "scope", "token")

    def __init__(self, environment: Mapping[str, str], root: str, *, read_only: bool) -> None:
        self.path = path(environment, root, read_only=read_only)
        self.scope = f"{os.path.realpath(root)}\0{read_only}"
        self.cookie_name = f"sow_{_digest(root)[:8]}" + ("_ro" if read_only else "")
        known = stored(self.path).get("key", "")
        # A server that starts again keeps its key, so that an open page goes on.
        self.key = known if len(known) == 64 and HEX.issuperset(known) else os.urandom(32).hex()
        self.token = ""
        self.facts: dict[str, Any] = {}
        self.lock = threading.Lock()

    def begin(self, port: int) -> None:
        """Write down where the server is, with a new token."""
        self.facts = {"port": port, "pid": os.getpid()}
        with self.lock:
            self._renew()

    def _renew(self) -> None:
        token = os.urandom(24).hex()
        user_file.write(self.path, json.dumps({"token": token, "key": self.key, **self.facts}) + "\n")
        self.token = token

    def spend(self, token: str) -> bool:
        """Whether this is the token; it is used up then, and another one takes its place."""
        with self.lock:
            if not self.token or not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
                return False
            self._renew()
            return True

    def cookie(self) -> str:
        """A new cookie, as a browser is told to keep it."""
        until = str(int(time.time()) + LIFE)
        value = f"{until}.{self._signature(until)}"
        return f"{self.cookie_name}={value}; Max-Age={LIFE}; Path=/; HttpOnly; SameSite=Strict"

    def knows(self, cookies: str) -> bool:
        """Whether one of a browser's cookies is ours, and not too old."""
        for each in cookies.split(";"):
            name, _, value = each.strip().partition("=")
            if name == self.cookie_name and self._is_good(value):
                return True
        return False

    def _is_good(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 16):
            return False
        right = hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(until).encode())
        return right and int(until) > time.time()

    def _signature(self, until: str) -> str:
        text = f"{self.scope}\0{until}".encode("utf-8", "surrogateescape")
        return hmac.new(bytes.fromhex(self.key), text, "sha256").hexdigest()


def path(environment: Mapping[str, str], root: str, *, read_only: bool) -> str:
    """Where the secrets of a checkout's server are; a server that only shows has others than one that acts."""
    name = _digest(root)[:16] + ("-read-only" if read_only else "")
    return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/ui/{name}.json"


def stored(path: str) -> dict[str, Any]:
    """What a server wrote down; nothing where the file is not the user's alone, and so could be known to others."""
    try:
        facts = os.lstat(path)
        private = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077
        if not private or facts.st_size > LONGEST:
            return {}
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    kinds = {"token": str, "key": str, "port": int, "pid": int}
    good = isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())
    return found if good and 0 < found["port"] <= HIGHEST else {}


def address(port: int, token: str) -> str:
    """What a person opens: the token is behind the #, which a browser sends to nobody."""
    return f"http://127.0.0.1:{port}/#token={token}"


def _digest(root: str) -> str:
    return hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()
