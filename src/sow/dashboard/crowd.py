"""The open connections: how many there are, whose they are, and whether one more is let in."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

MOST = 200
MANY = 50  # from here on the owner of each new connection is looked up, and nobody may be idle for long
MOST_OF_OTHERS = 50  # connections of other users of this machine, of those whose owner was looked up


class Crowd:
    """Counts connections, so that other users of the machine cannot take all places of the dashboard's owner."""

    __slots__ = ("is_foreign", "lock", "others", "seen")

    def __init__(self, is_foreign: Callable[[socket.socket], bool]) -> None:
        self.is_foreign = is_foreign  # whether another user has the other end
        self.lock = threading.Lock()
        self.seen: set[socket.socket] = set()
        self.others: set[socket.socket] = set()

    @property
    def is_large(self) -> bool:
        """Whether there are so many connections that an idle one has to go."""
        return len(self.seen) >= MANY

    def admit(self, connection: socket.socket) -> bool:
        """Let a new connection in, if there is room for one of its owner."""
        foreign = self.is_large and self.is_foreign(connection)
        with self.lock:
            if len(self.seen) >= MOST or (foreign and len(self.others) >= MOST_OF_OTHERS):
                return False
            self.seen.add(connection)
            if foreign:
                self.others.add(connection)
        return True

    def leave(self, connection: socket.socket) -> None:
        """Forget a connection that is closed."""
        with self.lock:
            self.seen.discard(connection)
            self.others.discard(connection)

    def all(self) -> list[socket.socket]:
        """Every open connection."""
        with self.lock:
            return list(self.seen)
