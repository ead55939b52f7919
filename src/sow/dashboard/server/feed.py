"""Sends events to a page as server-sent events, until the page is closed."""

from __future__ import annotations

import select
import time
from contextlib import contextmanager

from sow.dashboard.server import reply
from sow.dashboard.server.guard import RequestRefused
from sow.dashboard.server.reply import ALWAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from threading import Event
    from typing import Any

    from sow.dashboard.data.event_feed import EventFeed
    from sow.dashboard.server.server import Listener

HEARTBEAT_SECONDS = 10.0
POLL_SECONDS = 1.0  # seconds until a closed page is noticed
SEND_TIMEOUT = 20.0  # seconds for which a page may leave sent data unread
LONGEST_ID = 200
HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
    *ALWAYS,
    ("Connection", "close"),
)
AGAIN = b"retry: 1000\n\n"
HEART_BEAT = b": still here\n\n"


@contextmanager
def listener_slot(server: Listener) -> Iterator[None]:
    """Holds one of the limited number of places for pages that listen."""
    if not server.add_feed():
        raise RequestRefused(503, "too many pages are open", "close some of them", (("Retry-After", "10"),))
    try:
        yield
    finally:
        server.remove_feed()


def serve(
    connection: socket.socket,
    source: EventFeed,
    stopping: Event,
    *,
    patience: float = SEND_TIMEOUT,
    beat: float = HEARTBEAT_SECONDS,
) -> None:
    """Sends events until the page closes or the server stops; a page that reads nothing is dropped."""
    connection.settimeout(patience)
    connection.sendall(reply.head(200, list(HEADERS)) + AGAIN)
    silent_since = time.monotonic()
    while not stopping.is_set() and not _is_gone(connection):
        data = b"".join(message(*event) for event in source.next(POLL_SECONDS))
        if not data and time.monotonic() - silent_since >= beat:
            data = HEART_BEAT
        if data:
            connection.sendall(data)
            silent_since = time.monotonic()


def _is_gone(connection: socket.socket) -> bool:
    """Returns whether the page closed its end; a listening page sends no data."""
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(0))


def message(id: str, event: str, data: Any) -> bytes:
    """Formats one event; no value can end its line or start another event."""
    head = f"id: {_word(id)}\n" if id else ""
    return f"{head}event: {_word(event)}\ndata: {reply.text(data)}\n\n".encode()


def _word(text: str) -> str:
    """Removes the characters that end a line, or that make a browser drop an id."""
    return "".join(letter for letter in text if letter.isascii() and letter.isprintable())
