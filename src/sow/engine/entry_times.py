"""Computes the wall-clock time of each journal entry to the millisecond."""

from __future__ import annotations

from sow.engine.call import epoch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.entry import Entry


class EntryTimes:
    """Takes every entry of a journal in order and returns its time.

    The entries of a process have milliseconds since its start, but only whole seconds of wall-clock time. An entry's
    whole second is never later than the entry, so the latest start that any entry allows is the most exact one.
    """

    __slots__ = ("_at", "_epoch", "begun", "moment", "t")

    def __init__(self) -> None:
        self.begun: float | None = None  # start of the current process
        self.moment = 0.0  # of the last entry
        self.t = 0.0
        self._at = ""  # the last timestamp and its value, because many entries share one
        self._epoch: int | None = None

    def is_new_call(self, entry: Entry) -> bool:
        """Whether the entry belongs to a later process, whose monotonic clock started again."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and t < self.t)

    def of(self, entry: Entry) -> float:
        """Return the seconds since 1970 of an entry, never less than those of an earlier one."""
        if self.is_new_call(entry):
            self.begun, self.t = None, 0.0
        monotonic = entry.t
        t, at = monotonic if monotonic is not None else self.t, self._second(entry.at)
        self.t = t
        if at is not None and at >= 0:
            self.begun = at - t if self.begun is None else max(self.begun, at - t)
        if self.begun is not None:
            self.moment = round(max(self.moment, self.begun + t), 3)
        return self.moment

    def _second(self, at: str) -> int | None:
        if at != self._at:
            self._at, self._epoch = at, epoch(at)
        return self._epoch
