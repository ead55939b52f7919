"""The records of a run's history: its processes, tasks and turns, what they cost, and their spans in the timeline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sow.domain.text.units import dollars
from sow.store.formats.validation import is_timestamp
from sow.store.runs.run_folder import JournalEntry
from sow.system.clock import epoch_of

Span = dict[str, Any]

LONGEST = 400  # characters of the text of a span or a mark


@dataclass(slots=True)  # there is one for each task
class Cost:
    """An amount of money, with the number of known and unknown costs."""

    usd: float = 0.0
    known: int = 0
    unknown: int = 0

    def add(self, cost: float | None) -> None:
        self.usd += cost or 0.0
        self.known += cost is not None
        self.unknown += cost is None

    def text(self) -> str:
        """Formats the amount: `$0.48`, `$0.48+` if a part is unknown, `?` if all is unknown, "" if nothing is spent."""
        if not self.known:
            return "?" if self.unknown else ""
        return f"{dollars(self.usd)}{'+' if self.unknown else ''}"


class RunProcess:
    """One process of a run, with its time by the monotonic clock and by the wall clock.

    The entries of a process have milliseconds since its start, but only whole seconds of wall-clock time. An entry's
    whole second is never later than the entry, so the latest start that any entry allows is the most exact one.
    """

    first_at = ""  # earliest and latest time of its entries, even if the clock was changed
    last_at = ""
    seconds = 0.0  # from its first entry to its last
    started: float | None = None  # seconds since 1970
    t: float | None = None  # monotonic time of the last entry
    ended = False
    _first_t: float | None = None
    _at = ""  # the last timestamp and its value, because many entries share one
    _second = 0

    def is_older_than(self, entry: JournalEntry) -> bool:
        """Returns whether the entry belongs to a later process, whose monotonic clock started again."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and self.t is not None and t < self.t)

    def add(self, entry: JournalEntry) -> float | None:
        """Advances to this entry, and returns its time in seconds since 1970, or None if it is unknown."""
        t = entry.t
        if t is not None:
            self._first_t = t if self._first_t is None else self._first_t
            self.t = t
            self.seconds = max(self.seconds, t - self._first_t)
        at = entry.at
        second = self._second if at and at == self._at else epoch_of(at) if is_timestamp(at) else None
        if second is not None and second >= 0:
            if t is None and self._at:
                self.seconds += max(second - self._second, 0)
            self._at, self._second = at, second
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at, at)
            start = second - (self.t or 0.0)
            self.started = start if self.started is None else max(self.started, start)
        self.ended = self.ended or entry.event == "run_ended"
        return None if self.started is None else self.started + (self.t or 0.0)


class TurnRecord:
    """One turn of an agent. Unknown values are None."""

    __slots__ = (
        "at", "cost", "ended", "executor", "host", "input_tokens", "iteration", "kind", "outcome", "output_tokens",
        "role", "seconds", "span", "started", "task",
    )  # fmt: skip

    def __init__(self, entry: JournalEntry, begun: float | None) -> None:
        self.task = entry.task
        # Ten thousand turns share a few names.
        self.role, self.executor, self.kind = (sys.intern(entry.text(key)) for key in ("role", "executor", "kind"))
        self.host = ""  # the other machine that took it
        self.iteration = entry.count("iteration")
        self.at = entry.at
        self.started = begun  # seconds since the start of its process
        self.span: Span | None = None  # its open span in the timeline
        self.ended = False
        self.outcome = ""
        self.seconds: float | None = None
        self.cost: float | None = None
        self.input_tokens: float | None = None
        self.output_tokens: float | None = None

    @property
    def shown_executor(self) -> str:
        """Returns the executor, with the machine if it is another one: `claude-code@box-a`."""
        return f"{self.executor}@{self.host}" if self.host and self.executor else self.executor

    def end(self, entry: JournalEntry, moment: float) -> None:
        """Records the measurements at the end of the turn."""
        self.ended = True
        self.executor = sys.intern(entry.text("executor")) or self.executor
        self.outcome = sys.intern(entry.text("outcome"))
        measured = entry.number("seconds")
        self.seconds = measured if measured is not None else moment - self.started if self.started is not None else None
        self.cost = entry.number("cost_usd")
        self.input_tokens = entry.number("input_tokens")
        self.output_tokens = entry.number("output_tokens")

    def end_unrecorded(self, moment: float) -> None:
        """Records a turn whose end is not in the journal. It lasted at least until `moment`."""
        self.seconds = max(moment - self.started, 0.0) if self.started is not None else None


@dataclass(slots=True)  # a run may have ten thousand tasks
class TaskRecord:
    """The journal's data about one task or one agent of a workflow."""

    start_entry: JournalEntry = field(default_factory=lambda: JournalEntry({}))  # the task's part of run_started
    started: float | None = None  # start of the current work, in seconds of its process
    begun: float | None = None  # the same in seconds since 1970
    active: float = 0.0  # seconds of finished work
    started_at: str = ""
    ended_at: str = ""
    status: str = ""  # at its end
    result: str = ""
    reason: str = ""
    iteration: int = 0
    retries: int | None = None
    sent_back: int = 0
    reviews: Sequence[dict[str, Any]] = ()
    passed_checks: int = 0
    failed_checks: int = 0
    merges: int = 0
    conflicts: int = 0
    spend: Cost | None = None
    since: float = 0.0  # since when it runs, by the clock of the caller
    step: str = ""  # its current step
    ending: str = ""  # its outcome in a live view
    minutes: float | None = None  # how long it ran until it was completed
    shown_status: str = ""  # the current status in the timeline
    last: float = 0.0  # time of its last entry
    waits: Sequence[Span] = ()  # its open waits
    last_review: Span | None = None  # the last review, whose verdict comes after its end

    @property
    def name(self) -> str:
        return self.start_entry.text("name")

    @property
    def number(self) -> str:
        """The task's number in the plan."""
        return self.start_entry.name_or_number("number")

    def stop(self, moment: float) -> None:
        """Stops counting the task's active time."""
        if self.started is not None:
            self.active += max(moment - self.started, 0.0)
            self.started = self.begun = None


@dataclass(slots=True)
class TimelineDelta:
    """What one entry adds to the timeline. A span replaces an earlier one with the same number."""

    spans: list[Span] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    changes: list[tuple[float, str, str, str]] = field(default_factory=list)
    gaps: list[dict[str, float]] = field(default_factory=list)


class TimelineRecorder:
    """Records the spans and marks of one entry after the other."""

    def __init__(self) -> None:
        self.delta = TimelineDelta()  # of the last entry
        self.moment = 0.0  # time of the last entry
        self._count = 0

    def open_span(self, kind: str, task: str | None, begin: float, **fields: Any) -> Span:
        """Starts a span, which stays open until it is closed."""
        self._count += 1
        defaults = {"role": "", "executor": "", "from": begin, "to": None, "outcome": "", "text": ""}
        span: Span = {"id": self._count, "task": task, "kind": kind, **defaults, **fields}
        span["text"] = span["text"][:LONGEST]
        self.delta.spans.append(dict(span))
        return span

    def update_span(self, span: Span) -> None:
        """Records a change of an open span."""
        self.delta.spans.append(dict(span))

    def close_span(self, span: Span, moment: float, outcome: str) -> None:
        span |= {"to": max(moment, span["from"]), "outcome": outcome or span["outcome"]}
        self.delta.spans.append(dict(span))

    def mark(self, kind: str, task: str | None, text: str) -> None:
        self.delta.marks.append({"at": self.moment, "task": task, "kind": kind, "text": text[:LONGEST]})

    def change(self, ident: str, status: str, step: str) -> None:
        """Records the status and the current step of a task."""
        self.delta.changes.append((self.moment, ident, status, step[:LONGEST]))
