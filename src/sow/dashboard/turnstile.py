"""Makes one large document at a time, and shares it among all requests that wait for it."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.dashboard.reply import Reply


class Turn:
    """A requested document that is not started yet, and the event that its requests wait for."""

    __slots__ = ("done", "error", "reply")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: Reply | None = None
        self.error: BaseException | None = None


class Turnstile:
    """Makes one document at a time; a request that comes while one is made gets the next, so that it is up to date."""

    __slots__ = ("making", "naming", "waiting")

    def __init__(self) -> None:
        self.naming = threading.Lock()
        self.making = threading.Lock()
        self.waiting: dict[str, Turn] = {}

    def reply(self, name: str, make: Callable[[], Reply]) -> Reply:
        """Returns the document of this name, made by this thread or by one that waits for the same name."""
        with self.naming:
            turn = self.waiting.get(name)
            is_first = turn is None
            if turn is None:
                turn = self.waiting[name] = Turn()
        if is_first:
            self._make(name, turn, make)
        turn.done.wait()
        if turn.error is not None:
            raise turn.error
        assert turn.reply  # noqa: S101
        return turn.reply

    def _make(self, name: str, turn: Turn, make: Callable[[], Reply]) -> None:
        with self.making:
            with self.naming:
                del self.waiting[name]
            try:
                turn.reply = make()
            except BaseException as error:  # pass any error on to all waiting threads
                turn.error = error
            finally:
                turn.done.set()
