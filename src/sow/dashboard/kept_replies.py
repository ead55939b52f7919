"""Caches the large replies that were sent last."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.dashboard.reply import Reply

MOST = 32
MOST_BYTES = 4 << 20  # bytes after gzip; the report of 10,000 tasks takes less than 1 MiB


class KeptReplies:
    """Replies by name, each with the mark of the data it was made of; the oldest are dropped first."""

    __slots__ = ("kept", "lock", "size")

    def __init__(self) -> None:
        self.size = 0
        self.lock = threading.Lock()
        self.kept: dict[str, tuple[object, Reply]] = {}

    def get(self, name: str, mark: object) -> Reply | None:
        """Returns the reply of this name if its mark is the same."""
        with self.lock:
            cached = self.kept.get(name)
            return cached[1] if cached is not None and cached[0] == mark else None

    def keep(self, name: str, mark: object, reply: Reply) -> None:
        """Stores a reply, and replaces an earlier one of the same name."""
        with self.lock:
            if name in self.kept:
                self._drop(name)
            self.kept[name] = (mark, reply)
            self.size += len(reply.body)
            while self.size > MOST_BYTES or len(self.kept) > MOST:
                self._drop(next(iter(self.kept)))

    def _drop(self, name: str) -> None:
        self.size -= len(self.kept.pop(name)[1].body)
