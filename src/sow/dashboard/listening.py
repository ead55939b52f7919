"""One page that listens: what happens after its position, in order, and each thing once."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from sow.dashboard.watch import Watch

    Told = tuple[str, str, Any]

MOST = 500  # events at once
TOLD_BY_PLACE = ("line", "spans")  # events that a journal alone gives again after a restart


class Feed:
    """Told of events by `next`; who falls too far behind is told that it must look anew."""

    __slots__ = ("closed", "first", "number", "watch")

    def __init__(self, watch: Watch, after: str) -> None:
        self.watch = watch
        self.closed = False
        watch.enter()
        try:
            with watch.bell:
                watch.look()
                self.number = watch.number
                self.first = self._greeting(after)
        except BaseException:  # nobody will close what could not be made
            self.close()
            raise

    def __enter__(self) -> Feed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _greeting(self, after: str) -> list[Told]:
        """The first words: where we are, and what somebody who comes back has missed."""
        watch = self.watch
        boot, number, place, run = _parts(after)
        hello = {"cursor": watch.cursor, "restarted": bool(after) and boot != watch.boot}
        told: list[Told] = [(watch.cursor, "hello", hello)]
        if not after:
            return told
        if boot == watch.boot and number <= watch.number:
            self.number = number  # `next` goes on from there
            return told
        if run == watch.place[0]:
            told += self._missed(run, place)
        return [*told, (watch.cursor, "stale", {})]

    def _missed(self, run: str, place: int) -> list[Told]:
        """What the journal tells of the time in which the server was another one; nothing where that is too much."""
        events = self.watch.events
        if len(events) == events.maxlen and events[0][1] > place:
            return []
        late = [each for each in events if each[2] in TOLD_BY_PLACE and each[1] > place and each[3]["run"] == run]
        return [(self.watch.name(number, where), kind, data) for number, where, kind, data in late]

    def next(self, seconds: float) -> list[Told]:
        """What came since the last call, within so many seconds; nothing where nothing came."""
        if self.first:
            told, self.first = self.first, []
            return told
        watch, until = self.watch, time.monotonic() + seconds
        with watch.bell:
            while watch.number == self.number and not self.closed and watch.listeners > 0:
                left = until - time.monotonic()
                if left <= 0 or not watch.bell.wait(left):
                    break
            return self._since()

    def _since(self) -> list[Told]:
        watch = self.watch
        if watch.number == self.number:
            return []
        if not watch.events or watch.events[0][0] > self.number + 1:
            self.number = watch.number
            return [(watch.cursor, "stale", {})]
        late = [each for each in watch.events if each[0] > self.number][:MOST]
        self.number = late[-1][0]
        return [(watch.name(number, place), kind, data) for number, place, kind, data in late]

    def close(self) -> None:
        """Listen no more."""
        if not self.closed:
            self.closed = True
            self.watch.leave()


def _parts(cursor: str) -> tuple[str, int, int, str]:
    """What an id of ours is made of; of any other text nothing is known."""
    boot, _, rest = cursor.partition(".")
    number, _, rest = rest.partition(".")
    place, _, run = rest.partition(".")
    if not (_is_number(number) and _is_number(place)):
        return ("", 0, 0, "")
    return (boot, int(number), int(place), run)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15
