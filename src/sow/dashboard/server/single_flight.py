"""Makes one large document at a time, shares it among all requests that wait for it, and caches replies."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.dashboard.server.reply import Reply


class PendingReply:
    """A requested document that is not started yet, and the event that its requests wait for."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: Reply | None = None
        self.error: BaseException | None = None


class SingleFlight:
    """Makes one document at a time; a request that comes while one is made gets the next, so that it is up to date."""

    def __init__(self) -> None:
        self.naming = threading.Lock()
        self.making = threading.Lock()
        self.waiting: dict[str, PendingReply] = {}

    def reply(self, name: str, make: Callable[[], Reply]) -> Reply:
        """Returns the document of this name, made by this thread or by one that waits for the same name."""
        with self.naming:
            pending = self.waiting.get(name)
            is_first = pending is None
            if pending is None:
                pending = self.waiting[name] = PendingReply()
        if is_first:
            self._make(name, pending, make)
        pending.done.wait()
        if pending.error is not None:
            raise pending.error
        assert pending.reply  # noqa: S101
        return pending.reply

    def _make(self, name: str, pending: PendingReply, make: Callable[[], Reply]) -> None:
        with self.making:
            with self.naming:
                del self.waiting[name]
            try:
                pending.reply = make()
            except BaseException as error:  # pass any error on to all waiting threads
                pending.error = error
            finally:
                pending.done.set()


MOST = 32
MOST_BYTES = 4 << 20  # bytes after gzip; the report of 10,000 tasks takes less than 1 MiB


class ReplyCache:
    """Replies by name, each with the mark of the data it was made of; the oldest are dropped first."""

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
