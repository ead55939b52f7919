"""Counts the open connections by owner, and decides whether to accept another."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

MOST = 200
MANY = 50  # from here on, the owner of each new connection is looked up, and idle connections are closed soon
MOST_OF_OTHERS = 50  # connections of other users of this machine, among those whose owner was looked up


class OpenConnections:
    """The open connections; limits other users, so that they cannot use up the connections of the dashboard's owner."""

    def __init__(self, is_foreign: Callable[[socket.socket], bool]) -> None:
        self.is_foreign = is_foreign  # True if another user has the other end
        self.lock = threading.Lock()
        self.connections: set[socket.socket] = set()
        self.foreign: set[socket.socket] = set()

    @property
    def is_large(self) -> bool:
        """Returns whether there are so many connections that idle ones are closed soon."""
        return len(self.connections) >= MANY

    def accept(self, connection: socket.socket) -> bool:
        """Accepts a new connection if its owner is below the limit."""
        foreign = self.is_large and self.is_foreign(connection)
        with self.lock:
            if len(self.connections) >= MOST or (foreign and len(self.foreign) >= MOST_OF_OTHERS):
                return False
            self.connections.add(connection)
            if foreign:
                self.foreign.add(connection)
        return True

    def remove(self, connection: socket.socket) -> None:
        """Removes a closed connection."""
        with self.lock:
            self.connections.discard(connection)
            self.foreign.discard(connection)

    def all(self) -> list[socket.socket]:
        """Returns all open connections."""
        with self.lock:
            return list(self.connections)
