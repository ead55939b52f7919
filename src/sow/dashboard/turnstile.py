"""One large document at a time, and the same one for all who wait for it: ten pages cost as much as two."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.dashboard.reply import Reply


class Turn:
    """A document that was asked for and is not begun yet, and those who wait for it."""

    __slots__ = ("done", "error", "reply")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: Reply | None = None
        self.error: BaseException | None = None


class Turnstile:
    """Lets one through; who comes while a document is made gets the next one, which is as new as the question."""

    __slots__ = ("making", "naming", "waiting")

    def __init__(self) -> None:
        self.naming = threading.Lock()
        self.making = threading.Lock()
        self.waiting: dict[str, Turn] = {}

    def reply(self, name: str, make: Callable[[], Reply]) -> Reply:
        """The document of this name, made for us or for somebody who waited with us."""
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
            except BaseException as error:  # whatever it is, all who wait for it are told
                turn.error = error
            finally:
                turn.done.set()
