"""Reads from a connection with one deadline for a whole request."""

from __future__ import annotations

import io
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer


class Patience(io.RawIOBase):
    """A socket that is read until a deadline. A timeout per byte would let a slow client hold it open."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection
        self.until = 0.0

    def within(self, seconds: float) -> None:
        """Sets the deadline to so many seconds from now."""
        self.until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)
