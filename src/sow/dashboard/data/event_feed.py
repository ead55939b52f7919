"""Gives one listening page the events after its position, in order and once each."""

from __future__ import annotations

import time
from typing import Any

from sow.dashboard.data.watcher import ChangeWatcher

Told = tuple[str, str, Any]

MOST = 500  # events at once
JOURNAL_EVENTS = ("line", "spans")  # events that the journal can give again after a restart of the server


class EventFeed:
    """The events for one page; a page that is too far behind gets `stale` and must load everything again."""

    def __init__(self, watch: ChangeWatcher, after: str) -> None:
        self.watch = watch
        self.closed = False
        watch.add_listener()
        try:
            with watch.condition:
                watch.refresh()
                self.number = watch.number
                self.first = self._first_events(after)
        except BaseException:  # nobody else would close it
            self.close()
            raise

    def __enter__(self) -> EventFeed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _first_events(self, after: str) -> list[Told]:
        """Returns the first events: the position, and what a returning page missed."""
        watch = self.watch
        boot, number, offset, run = _parts(after)
        hello = {"cursor": watch.cursor, "restarted": bool(after) and boot != watch.boot}
        events: list[Told] = [(watch.cursor, "hello", hello)]
        if not after:
            return events
        if boot == watch.boot and number <= watch.number:
            self.number = number  # `next` continues from there
            return events
        if run == watch.journal_position[0]:
            events += self._missed(run, offset)
        return [*events, (watch.cursor, "stale", {})]

    def _missed(self, run: str, position: int) -> list[Told]:
        """Returns the journal's events since another server stopped; none if they are too many to be kept."""
        events = self.watch.events
        if len(events) == events.maxlen and events[0][1] > position:
            return []
        missed = [
            event for event in events if event[2] in JOURNAL_EVENTS and event[1] > position and event[3]["run"] == run
        ]
        return [(self.watch.event_id(number, offset), kind, data) for number, offset, kind, data in missed]

    def next(self, seconds: float) -> list[Told]:
        """Waits for up to so many seconds; returns the events since the last call."""
        if self.first:
            events, self.first = self.first, []
            return events
        watch, deadline = self.watch, time.monotonic() + seconds
        with watch.condition:
            while watch.number == self.number and not self.closed and watch.listeners > 0:
                left = deadline - time.monotonic()
                if left <= 0 or not watch.condition.wait(left):
                    break
            return self._new_events()

    def _new_events(self) -> list[Told]:
        watch = self.watch
        if watch.number == self.number:
            return []
        if not watch.events or watch.events[0][0] > self.number + 1:
            self.number = watch.number
            return [(watch.cursor, "stale", {})]
        events = [event for event in watch.events if event[0] > self.number][:MOST]
        self.number = events[-1][0]
        return [(watch.event_id(number, offset), kind, data) for number, offset, kind, data in events]

    def close(self) -> None:
        """Stops listening."""
        if not self.closed:
            self.closed = True
            self.watch.remove_listener()


def _parts(cursor: str) -> tuple[str, int, int, str]:
    """Splits an event id into boot, number, offset and run; empty values for any other text."""
    boot, _, rest = cursor.partition(".")
    number, _, rest = rest.partition(".")
    offset, _, run = rest.partition(".")
    if not (_is_number(number) and _is_number(offset)):
        return ("", 0, 0, "")
    return (boot, int(number), int(offset), run)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15
