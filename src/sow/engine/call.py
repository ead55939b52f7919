"""Measures one process of `sow run` from its journal entries, independently of changes to the system clock."""

from __future__ import annotations

import calendar
import time

from sow.store.formats import is_timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.entry import Entry


def epoch(at: str) -> int | None:
    """Return a timestamp of our files in seconds since 1970, or None if it is invalid."""
    try:
        return calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return None


class Call:
    """The entries of one process. `moment` is the number of seconds from its start to its last entry."""

    __slots__ = ("ended", "first_at", "last_at", "latest", "moment", "start_t", "t")

    def __init__(self) -> None:
        self.first_at = ""  # earliest and latest time of its entries, even if the clock was changed
        self.last_at = ""
        self.latest = ""
        self.start_t: float | None = None
        self.t: float | None = None
        self.moment = 0.0
        self.ended = False

    def is_before(self, entry: Entry) -> bool:
        """Whether the entry belongs to a later process, whose monotonic clock started again."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and self.t is not None and t < self.t)

    def take(self, entry: Entry) -> None:
        """Advance to the time of this entry."""
        at = entry.at if is_timestamp(entry.at) else ""
        t = entry.t
        if t is not None:
            self.start_t = t if self.start_t is None else self.start_t
            self.t = t
            self.moment = max(self.moment, t - self.start_t)
        elif at and self.latest:
            self.moment += max((epoch(at) or 0) - (epoch(self.latest) or 0), 0)
        if at:
            self.latest = at
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at, at)
        self.ended = self.ended or entry.event == "run_ended"
