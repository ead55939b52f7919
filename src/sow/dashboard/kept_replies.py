"""The large documents that were sent last, as they were sent: who asks again for the same facts waits for nothing."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.dashboard.reply import Reply

MOST = 32
MOST_BYTES = 4 << 20  # packed, as every browser takes them, the report of 10,000 tasks is below one


class KeptReplies:
    """Replies by their name, each with the mark of the facts that it was made of; the oldest make room."""

    __slots__ = ("kept", "lock", "size")

    def __init__(self) -> None:
        self.size = 0
        self.lock = threading.Lock()
        self.kept: dict[str, tuple[object, Reply]] = {}

    def get(self, name: str, mark: object) -> Reply | None:
        """The reply of this name, if its facts are the same still."""
        with self.lock:
            known = self.kept.get(name)
            return known[1] if known is not None and known[0] == mark else None

    def keep(self, name: str, mark: object, reply: Reply) -> None:
        """Keep a reply in the place of an earlier one."""
        with self.lock:
            if name in self.kept:
                self._drop(name)
            self.kept[name] = (mark, reply)
            self.size += len(reply.body)
            while self.size > MOST_BYTES or len(self.kept) > MOST:
                self._drop(next(iter(self.kept)))

    def _drop(self, name: str) -> None:
        self.size -= len(self.kept.pop(name)[1].body)
