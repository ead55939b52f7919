"""Looks for changes while a page listens, and keeps them as numbered events."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any

from sow.dashboard.data.checkout_view import CheckoutView, ViewChange
from sow.dashboard.data.page_errors import print_traceback
from sow.errors import SowError

Event = tuple[int, int, str, Any]  # number, offset in the journal, kind and data

TICK = 0.1  # seconds between two refreshes of what is running
WHOLE = 1.0  # seconds between two refreshes of everything
SHARE = 20  # a full refresh takes at most 1/SHARE of the time
CHEAP = 0.05  # a full refresh that takes fewer seconds may be repeated at any time
CALM = 0.5  # seconds between two events about the run as a whole, or about the inbox
LASTING = 3.0  # seconds in which every refresh fails, before the pages are told
CLOSING = 0.5  # seconds for which the shutdown waits for the lock
MOST_KEPT = 2000  # events
MOST_ROWS = 200  # of one refresh; if more rows changed, the page loads everything again
TIMED_FIELDS = ("elapsed", "left_seconds")  # fields that a page counts on by itself
RUN_EVENTS = ("run_started", "run_ended")
TROUBLE = "internal error while reading the files; see the terminal of 'sow ui'"


class ChangeWatcher:
    """Looks at the checkout and numbers the changes, for all pages that listen."""

    def __init__(self, view: CheckoutView) -> None:
        self.view = view
        self.boot = os.urandom(4).hex()
        self.condition = threading.Condition(threading.RLock())  # must be held to use the view
        self.events: deque[Event] = deque(maxlen=MOST_KEPT)
        self.number = 0
        self.listeners = 0
        self.thread: threading.Thread | None = None
        self.next_full_refresh = 0.0  # when everything is looked at again
        self.last_full_refresh = 0.0  # the time of the last full refresh
        self.refresh_seconds = 0.0  # seconds that this refresh took
        self.changes = 0  # number of refreshes that found a change
        self.dirty = False  # something changed since the inbox was read
        self.last_summary_at = 0.0
        self.inbox: Any = None
        self.last_run: Any = None
        self.is_first = True
        self.urgent = False
        self.trouble = ""  # why the shown data may be old
        self.complaint = ""  # the last problem printed on the terminal
        self.failing_since = 0.0  # since when every refresh failed
        self.pause_until = 0.0  # after a bug, no refresh before this time

    @property
    def journal_position(self) -> tuple[str, int]:
        """Returns the run that is followed, and how far its journal was read."""
        run = self.view.run
        return (run.id, run.offset) if run else ("", 0)

    @property
    def cursor(self) -> str:
        """Returns the id from which a feed continues without a gap."""
        return self.event_id(self.number, self.journal_position[1])

    def event_id(self, number: int, offset: int) -> str:
        """Returns the id of an event."""
        return f"{self.boot}.{number}.{offset}.{self.journal_position[0]}"

    @property
    def is_due(self) -> bool:
        """Returns whether everything may be looked at again for a request: always if that is cheap."""
        return self.refresh_seconds < CHEAP or time.monotonic() >= self.last_full_refresh + 2 * self.refresh_seconds

    def refresh(self, *, whole: bool = False) -> None:
        """Looks for changes now and adds events; pauses after a failure of its own."""
        with self.condition:
            now = time.monotonic()
            if now < self.pause_until:
                return
            try:
                is_full = whole or self.urgent or bool(self.trouble) or now >= self.next_full_refresh
                self._refresh(now, everything=is_full)
            except (SowError, OSError):
                raise
            except Exception as error:  # a bug: the thread must not end silently, and the page must be told
                self._handle_bug(error, now)

    def _refresh(self, now: float, *, everything: bool) -> None:
        change = self.view.refresh(whole=everything)
        if everything:
            self.last_full_refresh = time.monotonic()
            # The first refresh reads every file anew, so its time says nothing about later ones.
            self.refresh_seconds = 0.0 if self.is_first else self.last_full_refresh - now
            self.next_full_refresh = self.last_full_refresh + max(WHOLE, SHARE * self.refresh_seconds)
        self.urgent = any(item.entry.event in RUN_EVENTS for item in change.entries)
        self._add_events(change)
        self.failing_since = 0.0
        if self.trouble:
            self._set_trouble("")
            self._push("stale", {})

    def _handle_bug(self, error: Exception, started: float) -> None:
        """Reports a bug once, and pauses before everything is read again."""
        self.view.invalidate()
        now = time.monotonic()
        self.pause_until = now + max(WHOLE, SHARE * (now - started))
        self._report_problem(error, TROUBLE)

    def _handle_failure(self, error: Exception) -> None:
        """Refreshes again soon: a file may disappear during a refresh, so only a lasting failure is reported."""
        self.urgent = True
        self.failing_since = self.failing_since or time.monotonic()
        if time.monotonic() >= self.failing_since + LASTING:
            self._report_problem(error, f"the files cannot be read: {error}")

    def _report_problem(self, error: Exception, trouble: str) -> None:
        """Reports a problem on the terminal and to the pages, unless it was reported already."""
        message = f"{type(error).__name__}: {error}"
        if message != self.complaint:
            self.complaint = message
            print_traceback(error)
        if trouble != self.trouble:
            self._set_trouble(trouble)

    def _set_trouble(self, message: str) -> None:
        """Tells the pages; the state document has the problem too."""
        self.trouble = message
        self.changes += 1
        self._push("trouble", {"text": message})
        self.condition.notify_all()

    def _add_events(self, change: ViewChange) -> None:
        before = self.number
        self.changes += bool(change.entries or change.tasks or change.stale)
        self._add_entry_events(change)
        if self.is_first:
            self.view.rows()  # fills the dependencies between rows
            self.inbox, self.last_run, self.is_first = self.view.inbox(), self._run(), False
            return
        self._add_task_events(change)
        self._add_summary_events(change)
        if change.stale:
            self._push("stale", {})
        if self.number != before:
            self.condition.notify_all()

    def _push(self, kind: str, data: Any, offset: int | None = None) -> None:
        self.number += 1
        self.events.append((self.number, self.journal_position[1] if offset is None else offset, kind, data))

    def _add_entry_events(self, change: ViewChange) -> None:
        run = self.journal_position[0]
        for item in change.entries:
            if item.line:
                self._push("line", item.line, item.end)
            if item.gain.spans or item.gain.marks:
                self._push("spans", {"run": run, "add": item.gain.spans, "marks": item.gain.marks}, item.end)

    def _add_task_events(self, change: ViewChange) -> None:
        """Adds events for changed rows; if they are many, or some no longer exist, the page loads everything again."""
        if not change.tasks:
            return
        rows = self.view.some_rows(self.view.with_dependents(change.tasks)) if len(change.tasks) <= MOST_ROWS else []
        change.stale |= not change.tasks <= {row["id"] for row in rows}
        for row in rows:
            self._push("task", row)

    def _add_summary_events(self, change: ViewChange) -> None:
        """Adds events for the inbox and the run if they changed, at most one per CALM seconds."""
        self.dirty |= bool(change.tasks) or change.stale
        if time.monotonic() < self.last_summary_at + CALM and not change.stale:
            return
        self.last_summary_at = time.monotonic()
        run = self._run()
        if run != self.last_run:
            self.last_run = run
            if self.view.run:
                self._push("run", self.view.run.document(time.time()))
        if self.dirty:
            self.dirty, before, self.inbox = False, self.inbox, self.view.inbox()
            if self.inbox != before:
                self._push("inbox", {"items": self.inbox})

    def _run(self) -> dict[str, Any] | None:
        """Returns the run without the fields that change with time."""
        run = self.view.run
        document = run.document(time.time()) if run else {}
        return {key: value for key, value in document.items() if key not in TIMED_FIELDS} or None

    def add_listener(self) -> None:
        """Counts one more listener, and starts the thread."""
        with self.condition:
            self.listeners += 1
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run_thread, name="watch", daemon=True)
                self.thread.start()

    def remove_listener(self) -> None:
        with self.condition:
            self.listeners -= 1
            self.condition.notify_all()

    def _run_thread(self) -> None:
        """Looks again and again, until nobody listens."""
        while True:
            with self.condition:
                if self.listeners <= 0:
                    self.thread = None
                    return
                try:
                    self.refresh()
                except (SowError, OSError) as error:
                    self._handle_failure(error)
            time.sleep(TICK)

    def close(self) -> None:
        """Wakes all listeners; does not wait for the first refresh of a large project."""
        self.listeners = 0
        if self.condition.acquire(timeout=CLOSING):
            try:
                self.condition.notify_all()
            finally:
                self.condition.release()
