"""What happens, as events with numbers: looked for while somebody listens, kept for those who come back."""

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

    Event = tuple[int, int, str, Any]  # its number, the place in the journal, its kind and what it tells

TICK = 0.1  # seconds between two looks at what is at work
WHOLE = 1.0  # seconds between two looks at everything
SHARE = 20  # such a look takes no more than this part of the time
CHEAP = 0.05  # seconds of a look that may be repeated at any time
CALM = 0.5  # seconds between two words about the run as a whole, or about the inbox
LASTING = 3.0  # seconds in which no look succeeds, until that is told
CLOSING = 0.5  # seconds that an end may take to be told
MOST_KEPT = 2000  # events
MOST_ROWS = 200  # of one look: who changes more at once is looked at as a whole
MOVING = ("elapsed", "left_seconds")  # what a page counts on by itself
TURNS = ("run_started", "run_ended")
TROUBLE = "sow itself failed while it looked at the files; see what 'sow ui' says in its terminal"


class Watch:
    """Looks, and numbers what it sees; one for all who listen."""

    __slots__ = (
        "bell", "boot", "changes", "complaint", "cost", "dirty", "due", "events", "failing", "inbox", "is_first",
        "listeners", "looked", "number", "picture", "resting", "said", "spoken", "thread", "trouble", "urgent",
    )  # fmt: skip

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.boot = os.urandom(4).hex()
        self.bell = threading.Condition(threading.RLock())  # whoever uses the picture holds it
        self.events: deque[Event] = deque(maxlen=MOST_KEPT)
        self.number = 0
        self.listeners = 0
        self.thread: threading.Thread | None = None
        self.due = 0.0  # when everything is looked at again
        self.looked = 0.0  # when that was done last
        self.cost = 0.0  # seconds that it took
        self.changes = 0  # looks that found something
        self.dirty = False  # something changed since the inbox was looked at
        self.spoken = 0.0
        self.inbox: Any = None
        self.said: Any = None
        self.is_first = True
        self.urgent = False
        self.trouble = ""  # why what is shown may be old
        self.complaint = ""  # what was said of that last
        self.failing = 0.0  # since when no look has succeeded
        self.resting = 0.0  # until when there is no other look after one that failed

    @property
    def place(self) -> tuple[str, int]:
        """The run that is followed, and how far its journal was read."""
        run = self.picture.run
        return (run.id, run.place) if run else ("", 0)

    @property
    def cursor(self) -> str:
        """From where a feed goes on without a gap."""
        return self.name(self.number, self.place[1])

    def name(self, number: int, place: int) -> str:
        """The id of an event."""
        return f"{self.boot}.{number}.{place}.{self.place[0]}"

    @property
    def is_due(self) -> bool:
        """Whether everything may be looked at again for somebody who asks: at once where that costs little."""
        return self.cost < CHEAP or time.monotonic() >= self.looked + 2 * self.cost

    def look(self, *, whole: bool = False) -> None:
        """Look around now, and tell what is new; after a failure of our own not at once again."""
        with self.bell:
            now = time.monotonic()
            if now < self.resting:
                return
            try:
                self._look(now, everything=whole or self.urgent or bool(self.trouble) or now >= self.due)
            except (SowError, OSError):
                raise
            except Exception as error:  # a bug of ours: who looks must not end silently, and the page must hear of it
                self._stumble(error, now)

    def _look(self, now: float, *, everything: bool) -> None:
        change = self.picture.look(whole=everything)
        if everything:
            self.looked = time.monotonic()
            self.cost = 0.0 if self.is_first else self.looked - now  # the first look reads everything
            self.due = self.looked + max(WHOLE, SHARE * self.cost)
        self.urgent = any(heard.entry.event in TURNS for heard in change.heard)
        self._tell(change)
        self.failing = 0.0
        if self.trouble:
            self._say_trouble("")
            self._push("stale", {})

    def _stumble(self, error: Exception, begun: float) -> None:
        """Say once what went wrong, and rest before everything is looked at anew."""
        self.picture.distrust()
        now = time.monotonic()
        self.resting = now + max(WHOLE, SHARE * (now - begun))
        self._admit(error, TROUBLE)

    def _miss(self, error: Exception) -> None:
        """Look again soon: a file may come and go while we look, and only what lasts is told."""
        self.urgent = True
        self.failing = self.failing or time.monotonic()
        if time.monotonic() >= self.failing + LASTING:
            self._admit(error, f"the files cannot be read: {error}")

    def _admit(self, error: Exception, trouble: str) -> None:
        """Say what went wrong, on the terminal and to the pages, unless it was said already."""
        words = f"{type(error).__name__}: {error}"
        if words != self.complaint:
            self.complaint = words
            complain(error)
        if trouble != self.trouble:
            self._say_trouble(trouble)

    def _say_trouble(self, words: str) -> None:
        """Tell the pages; in the state that they fetch it stands as well."""
        self.trouble = words
        self.changes += 1
        self._push("trouble", {"text": words})
        self.bell.notify_all()

    def _tell(self, change: Change) -> None:
        before = self.number
        self.changes += bool(change.heard or change.tasks or change.stale)
        self._tell_entries(change)
        if self.is_first:
            self.picture.rows()  # so that it knows who needs whom
            self.inbox, self.said, self.is_first = self.picture.inbox(), self._run(), False
            return
        self._tell_tasks(change)
        self._tell_whole(change)
        if change.stale:
            self._push("stale", {})
        if self.number != before:
            self.bell.notify_all()

    def _push(self, kind: str, data: Any, place: int | None = None) -> None:
        self.number += 1
        self.events.append((self.number, self.place[1] if place is None else place, kind, data))

    def _tell_entries(self, change: Change) -> None:
        run = self.place[0]
        for heard in change.heard:
            if heard.line:
                self._push("line", heard.line, heard.end)
            if heard.gain.spans or heard.gain.marks:
                self._push("spans", {"run": run, "add": heard.gain.spans, "marks": heard.gain.marks}, heard.end)

    def _tell_tasks(self, change: Change) -> None:
        """The rows that are others; where they are many, or some can be shown no more, all is looked at anew."""
        if not change.tasks:
            return
        rows = self.picture.some_rows(self.picture.around(change.tasks)) if len(change.tasks) <= MOST_ROWS else []
        change.stale |= not change.tasks <= {row["id"] for row in rows}
        for row in rows:
            self._push("task", row)

    def _tell_whole(self, change: Change) -> None:
        """The inbox and the run, where they are others, and not more often than a person can read."""
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
        """The run without what only the time changes."""
        run = self.picture.run
        known = run.document(time.time()) if run else {}
        return {key: value for key, value in known.items() if key not in MOVING} or None

    def enter(self) -> None:
        """One more listens."""
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
        """Look again and again, until nobody listens."""
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
        """Let all who listen go; a first look at a large project is not waited for."""
        self.listeners = 0
        if self.bell.acquire(timeout=CLOSING):
            try:
                self.bell.notify_all()
            finally:
                self.bell.release()
