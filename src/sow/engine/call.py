"""One call of `sow run` as its journal shows it, with a clock that no change of the machine's time can turn."""

from __future__ import annotations

import calendar
import time

from sow.store.formats import is_timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.entry import Entry


def epoch(at: str) -> int | None:
    """A time of our files in seconds since 1970."""
    try:
        return calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return None


class Call:
    """From the first to the last entry of one process; `moment` is how many seconds into it the last entry was."""

    __slots__ = ("ended", "first_at", "last_at", "latest", "moment", "start_t", "t")

    def __init__(self) -> None:
        self.first_at = ""  # the earliest and the latest time of its entries, whatever the clock did meanwhile
        self.last_at = ""
        self.latest = ""
        self.start_t: float | None = None
        self.t: float | None = None
        self.moment = 0.0
        self.ended = False

    def is_before(self, entry: Entry) -> bool:
        """Whether the entry belongs to a later call: that one's own clock began anew."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and self.t is not None and t < self.t)

    def take(self, entry: Entry) -> None:
        """Move on to this entry's time."""
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
