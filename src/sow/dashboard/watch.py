"""Looks for changes while a page listens, and keeps them as numbered events."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from sow.dashboard.complaint import complain
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.dashboard.picture import Change, Picture

    Event = tuple[int, int, str, Any]  # number, offset in the journal, kind and data

TICK = 0.1  # seconds between two looks at what is running
WHOLE = 1.0  # seconds between two looks at everything
SHARE = 20  # a look at everything takes at most 1/SHARE of the time
CHEAP = 0.05  # a look at everything that takes fewer seconds may be repeated at any time
CALM = 0.5  # seconds between two events about the run as a whole, or about the inbox
LASTING = 3.0  # seconds in which every look fails, before the pages are told
CLOSING = 0.5  # seconds for which the shutdown waits for the lock
MOST_KEPT = 2000  # events
MOST_ROWS = 200  # of one look; if more rows changed, the page loads everything again
MOVING = ("elapsed", "left_seconds")  # fields that a page counts on by itself
TURNS = ("run_started", "run_ended")
TROUBLE = "sow itself failed while it looked at the files; see what 'sow ui' says in its terminal"


class Watch:
    """Looks at the checkout and numbers the changes, for all pages that listen."""

    __slots__ = (
        "bell", "boot", "changes", "complaint", "cost", "dirty", "due", "events", "failing", "inbox", "is_first",
        "listeners", "looked", "number", "picture", "resting", "said", "spoken", "thread", "trouble", "urgent",
    )  # fmt: skip

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.boot = os.urandom(4).hex()
        self.bell = threading.Condition(threading.RLock())  # must be held to use the picture
        self.events: deque[Event] = deque(maxlen=MOST_KEPT)
        self.number = 0
        self.listeners = 0
        self.thread: threading.Thread | None = None
        self.due = 0.0  # when everything is looked at again
        self.looked = 0.0  # when everything was looked at last
        self.cost = 0.0  # seconds that this look took
        self.changes = 0  # number of looks that found a change
        self.dirty = False  # something changed since the inbox was read
        self.spoken = 0.0
        self.inbox: Any = None
        self.said: Any = None
        self.is_first = True
        self.urgent = False
        self.trouble = ""  # why the shown data may be old
        self.complaint = ""  # the last problem printed on the terminal
        self.failing = 0.0  # since when every look failed
        self.resting = 0.0  # after a bug, no look before this time

    @property
    def place(self) -> tuple[str, int]:
        """Returns the run that is followed, and how far its journal was read."""
        run = self.picture.run
        return (run.id, run.place) if run else ("", 0)

    @property
    def cursor(self) -> str:
        """Returns the id from which a feed continues without a gap."""
        return self.name(self.number, self.place[1])

    def name(self, number: int, offset: int) -> str:
        """Returns the id of an event."""
        return f"{self.boot}.{number}.{offset}.{self.place[0]}"

    @property
    def is_due(self) -> bool:
        """True if everything may be looked at again for a request: always if that is cheap."""
        return self.cost < CHEAP or time.monotonic() >= self.looked + 2 * self.cost

    def look(self, *, whole: bool = False) -> None:
        """Looks for changes now and adds events; pauses after a failure of its own."""
        with self.bell:
            now = time.monotonic()
            if now < self.resting:
                return
            try:
                self._look(now, everything=whole or self.urgent or bool(self.trouble) or now >= self.due)
            except (SowError, OSError):
                raise
            except Exception as error:  # a bug: the thread must not end silently, and the page must be told
                self._stumble(error, now)

    def _look(self, now: float, *, everything: bool) -> None:
        change = self.picture.look(whole=everything)
        if everything:
            self.looked = time.monotonic()
            self.cost = 0.0 if self.is_first else self.looked - now  # the first look reads everything
            self.due = self.looked + max(WHOLE, SHARE * self.cost)
        self.urgent = any(item.entry.event in TURNS for item in change.heard)
        self._tell(change)
        self.failing = 0.0
        if self.trouble:
            self._say_trouble("")
            self._push("stale", {})

    def _stumble(self, error: Exception, started: float) -> None:
        """Reports a bug once, and pauses before everything is read again."""
        self.picture.distrust()
        now = time.monotonic()
        self.resting = now + max(WHOLE, SHARE * (now - started))
        self._admit(error, TROUBLE)

    def _miss(self, error: Exception) -> None:
        """Looks again soon: a file may disappear during a look, so only a lasting failure is reported."""
        self.urgent = True
        self.failing = self.failing or time.monotonic()
        if time.monotonic() >= self.failing + LASTING:
            self._admit(error, f"the files cannot be read: {error}")

    def _admit(self, error: Exception, trouble: str) -> None:
        """Reports a problem on the terminal and to the pages, unless it was reported already."""
        message = f"{type(error).__name__}: {error}"
        if message != self.complaint:
            self.complaint = message
            complain(error)
        if trouble != self.trouble:
            self._say_trouble(trouble)

    def _say_trouble(self, message: str) -> None:
        """Tells the pages; the state document has the problem too."""
        self.trouble = message
        self.changes += 1
        self._push("trouble", {"text": message})
        self.bell.notify_all()

    def _tell(self, change: Change) -> None:
        before = self.number
        self.changes += bool(change.heard or change.tasks or change.stale)
        self._tell_entries(change)
        if self.is_first:
            self.picture.rows()  # fills the dependencies between rows
            self.inbox, self.said, self.is_first = self.picture.inbox(), self._run(), False
            return
        self._tell_tasks(change)
        self._tell_whole(change)
        if change.stale:
            self._push("stale", {})
        if self.number != before:
            self.bell.notify_all()

    def _push(self, kind: str, data: Any, offset: int | None = None) -> None:
        self.number += 1
        self.events.append((self.number, self.place[1] if offset is None else offset, kind, data))

    def _tell_entries(self, change: Change) -> None:
        run = self.place[0]
        for item in change.heard:
            if item.line:
                self._push("line", item.line, item.end)
            if item.gain.spans or item.gain.marks:
                self._push("spans", {"run": run, "add": item.gain.spans, "marks": item.gain.marks}, item.end)

    def _tell_tasks(self, change: Change) -> None:
        """Adds events for changed rows; if they are many, or some no longer exist, the page loads everything again."""
        if not change.tasks:
            return
        rows = self.picture.some_rows(self.picture.around(change.tasks)) if len(change.tasks) <= MOST_ROWS else []
        change.stale |= not change.tasks <= {row["id"] for row in rows}
        for row in rows:
            self._push("task", row)

    def _tell_whole(self, change: Change) -> None:
        """Adds events for the inbox and the run if they changed, at most one per CALM seconds."""
        self.dirty |= bool(change.tasks) or change.stale
        if time.monotonic() < self.spoken + CALM and not change.stale:
            return
        self.spoken = time.monotonic()
        run = self._run()
        if run != self.said:
            self.said = run
            if self.picture.run:
                self._push("run", self.picture.run.document(time.time()))
        if self.dirty:
            self.dirty, before, self.inbox = False, self.inbox, self.picture.inbox()
            if self.inbox != before:
                self._push("inbox", {"items": self.inbox})

    def _run(self) -> dict[str, Any] | None:
        """Returns the run without the fields that change with time."""
        run = self.picture.run
        document = run.document(time.time()) if run else {}
        return {key: value for key, value in document.items() if key not in MOVING} or None

    def enter(self) -> None:
        """Counts one more listener, and starts the thread."""
        with self.bell:
            self.listeners += 1
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._follow, name="watch", daemon=True)
                self.thread.start()

    def leave(self) -> None:
        with self.bell:
            self.listeners -= 1
            self.bell.notify_all()

    def _follow(self) -> None:
        """Looks again and again, until nobody listens."""
        while True:
            with self.bell:
                if self.listeners <= 0:
                    self.thread = None
                    return
                try:
                    self.look()
                except (SowError, OSError) as error:
                    self._miss(error)
            time.sleep(TICK)

    def close(self) -> None:
        """Wakes all listeners; does not wait for a first look at a large project."""
        self.listeners = 0
        if self.bell.acquire(timeout=CLOSING):
            try:
                self.bell.notify_all()
            finally:
                self.bell.release()
