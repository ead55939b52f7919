"""The reading side of a connection: all of a request must come in time, however slowly its bytes drip."""

from __future__ import annotations

import io
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer


class Patience(io.RawIOBase):
    """A socket that is read until a moment, and not for ever: the time for each byte would never run out."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection
        self.until = 0.0

    def within(self, seconds: float) -> None:
        """From now on, give up after so long."""
        self.until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)
