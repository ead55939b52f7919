"""When each entry of a journal was written, by the clock on the wall, to the millisecond."""

from __future__ import annotations

from sow.engine.call import epoch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.entry import Entry


class EntryTimes:
    """Told of every entry of a journal in its order.

    A call's entries count from its start to the millisecond, and know the wall's clock to the second only. An entry's
    whole second is never later than the entry, so the latest start that any of them allows is the nearest one.
    """

    __slots__ = ("_at", "_epoch", "begun", "moment", "t")

    def __init__(self) -> None:
        self.begun: float | None = None  # when the present call began
        self.moment = 0.0  # of the last entry
        self.t = 0.0
        self._at = ""  # the last text of a second, and what it stands for: many entries share one
        self._epoch: int | None = None

    def is_new_call(self, entry: Entry) -> bool:
        """Whether the entry belongs to a later call: that one's own clock began anew."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and t < self.t)

    def of(self, entry: Entry) -> float:
        """The seconds since 1970 of an entry; never before those of an earlier one."""
        if self.is_new_call(entry):
            self.begun, self.t = None, 0.0
        given = entry.t
        t, at = given if given is not None else self.t, self._second(entry.at)
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
