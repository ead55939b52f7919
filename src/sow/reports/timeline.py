"""Turns the entries of a journal into spans, marks and status changes: when each task was worked on or waited.

It takes one entry at a time and keeps only what is open, so a run of any length needs little memory.
"""

from __future__ import annotations

from sow.domain.ids import is_member, is_task_id
from sow.reports import crew_rows
from sow.reports.live_run import stop_reason
from sow.reports.run_history import EntryTimes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from sow.domain.runs.journal_entry import JournalEntry

    Span = dict[str, Any]

CUT_OFF = "cut off"
LONGEST = 400  # characters of the text of a span or a mark
SHORTEST_GAP = 1.0  # seconds; the start of a process is known only to the second
INTEGRATOR = "integrator"
MOST_STEPS = 2000  # tasks


class TimelineDelta:
    """The additions of one entry. A span replaces an earlier one with the same number."""

    __slots__ = ("changes", "gaps", "marks", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.marks: list[dict[str, Any]] = []
        self.changes: list[tuple[float, str, str, str]] = []
        self.gaps: list[dict[str, float]] = []


class TaskLane:
    """The remembered state of one task or one agent of a workflow."""

    __slots__ = ("active", "begun", "last", "last_review", "name", "open", "plan_id", "status")

    def __init__(self, name: str = "", plan_id: str = "") -> None:
        self.name = name
        self.plan_id = plan_id
        self.active = 0.0  # seconds
        self.begun: float | None = None  # start of the current work
        self.last = 0.0
        self.status = ""
        self.open: list[Span] = []
        self.last_review: Span | None = None  # the last review, whose verdict comes after its end

    def stop(self, moment: float) -> None:
        """Stop counting the active time."""
        if self.begun is not None:
            self.active += max(moment - self.begun, 0.0)
            self.begun = None


class Timeline:
    """Takes every entry of one journal in order."""

    __slots__ = ("count", "delta", "ended", "lanes", "started", "times", "waits", "wall")

    def __init__(self) -> None:
        self.times = EntryTimes()
        self.lanes: dict[str, TaskLane] = {}
        self.started: float | None = None
        self.wall = 0.0  # seconds in which earlier processes were alive
        self.count = 0
        self.waits: Span | None = None  # set while everything waits
        self.ended = False
        self.delta = TimelineDelta()

    @property
    def moment(self) -> float:
        """The time of the last entry."""
        return self.times.moment

    def elapsed(self, now: float) -> float:
        """Return the seconds in which a process was alive, the current one until now."""
        return self.wall + max(now - (self.times.started or now), 0.0)

    def add(self, entry: JournalEntry) -> TimelineDelta:
        """Update the state with an entry, and return its additions."""
        delta = self.delta = TimelineDelta()
        last_moment, call_start, is_new = self.times.moment, self.times.started, self.times.is_new_call(entry)
        now = self.times.time_of(entry)
        if self.started is None:
            self.started = now
        elif is_new:
            self._end_call(last_moment, call_start, now)
        if self.waits is not None and entry.event != "waiting":
            self._close(self.waits, now, "")
            self.waits = None
        lane = self._lane(entry, now)
        handle = EVENTS.get(entry.event)
        if handle and (lane is not None or entry.event in RUN_EVENTS):
            handle(self, entry, lane or TaskLane(), now)
        if lane is not None:
            lane.last = now
        return delta

    def _lane(self, entry: JournalEntry, now: float) -> TaskLane | None:
        """Return the lane of an entry. The entry also ends the lane's time in a queue."""
        if not _is_worker(entry.task):
            return None
        lane = self.lanes.setdefault(entry.task, TaskLane())
        for span in [span for span in lane.open if span["kind"] == "wait" and span["role"] == "queue"]:
            self._close(span, now, "", lane)
        return lane

    def _end_call(self, last_moment: float, call_start: float | None, now: float) -> None:
        """End everything that was open in the previous process, at the time of its last entry."""
        self.wall += max(last_moment - (call_start if call_start is not None else last_moment), 0.0)
        for lane in self.lanes.values():
            lane.stop(last_moment)
            for span in [span for span in lane.open if span["kind"] != "wait"]:
                self._close(span, last_moment, CUT_OFF, lane)
        if self.waits is not None:
            self._close(self.waits, last_moment, "")
            self.waits = None
        if now - last_moment >= SHORTEST_GAP:
            self.delta.gaps.append({"from": last_moment, "to": now})

    def _add(self, kind: str, task: str | None, begin: float, lane: TaskLane | None = None, **fields: Any) -> Span:
        """Start a span, which stays open until it is closed."""
        self.count += 1
        defaults = {"role": "", "executor": "", "from": begin, "to": None, "outcome": "", "text": ""}
        span: Span = {"id": self.count, "task": task, "kind": kind, **defaults, **fields}
        span["text"] = span["text"][:LONGEST]
        if lane is not None:
            lane.open.append(span)
        self.delta.spans.append(dict(span))
        return span

    def _close(self, span: Span, now: float, outcome: str, lane: TaskLane | None = None) -> None:
        span |= {"to": max(now, span["from"]), "outcome": outcome or span["outcome"]}
        if lane is not None:
            lane.open.remove(span)
        self.delta.spans.append(dict(span))

    def _seconds_ago(self, now: float, seconds: float | None) -> float:
        """Return the time so many seconds ago, but not before the run started."""
        return round(max(now - (seconds or 0.0), self.started or 0.0), 3)

    def _mark(self, kind: str, task: str | None, now: float, text: str) -> None:
        self.delta.marks.append({"at": now, "task": task, "kind": kind, "text": text[:LONGEST]})

    def _change(self, task: str, lane: TaskLane, now: float, status: str, step: str = "") -> None:
        lane.status = status or lane.status
        self.delta.changes.append((now, task, lane.status, step[:LONGEST]))

    def _run_started(self, entry: JournalEntry, _: TaskLane, now: float) -> None:
        self.ended = False
        if entry.data.get("recovered") is True:
            self._mark("recovered", None, now, "the run goes on from where it was")
        for task in entry.entries("tasks"):
            ident = task.text("id")
            if not _is_worker(ident):
                continue
            lane = self.lanes.setdefault(ident, TaskLane())
            lane.name, lane.plan_id = task.text("name"), task.name_or_number("number")
            status = task.text("status") or lane.status or "pending"
            if status != "paused":  # answered between two processes
                self._answer(lane, now)
            self._change(ident, lane, now, status)

    def _answer(self, lane: TaskLane, now: float) -> None:
        for span in [span for span in lane.open if span["kind"] == "wait"]:
            self._close(span, now, "answered", lane)

    def _task_started(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        lane.stop(now)
        lane.begun = now
        self._answer(lane, now)
        self._change(entry.task, lane, now, "in_progress")

    def _task_ended(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        if lane.begun is None:
            lane.active += entry.number("seconds") or 0.0
        lane.stop(now)
        status = _status(entry.text("status"))
        for span in [span for span in lane.open if span["kind"] != "wait" or status != "paused"]:
            self._close(span, now, CUT_OFF if span["kind"] != "wait" else "", lane)
        self._change(entry.task, lane, now, status or lane.status)

    def _turn_started(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        for open_span in [span for span in lane.open if _same(span, entry)]:
            self._close(open_span, now, CUT_OFF, lane)
        role, executor = entry.text("role"), entry.text("executor")
        self._add(_kind(entry), entry.task, now, lane, role=role, executor=executor)
        status = lane.status if _kind(entry) == "review" else "in_progress"
        self._change(entry.task, lane, now, status or "in_progress", " on ".join(filter(None, (role, executor))))

    def _turn_ended(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        """End the turn of an entry. If another executor took over, the turn ends under that executor's name."""
        same_role = [span for span in lane.open if span["role"] == entry.text("role")]
        exact = [span for span in same_role if span["executor"] == entry.text("executor")]
        text = "; ".join(filter(None, (entry.text("reason"), *entry.texts("remarks"))))
        if exact or same_role:
            span = (exact or same_role)[0]
        else:  # its start is not in the journal
            begin = self._seconds_ago(now, entry.number("seconds"))
            span = self._add(_kind(entry), entry.task, begin, lane, role=entry.text("role"))
        span |= {"executor": entry.text("executor") or span["executor"], "text": text[:LONGEST]}
        self._close(span, now, entry.text("outcome") or "ended", lane)
        lane.last_review = span if span["kind"] == "review" else lane.last_review
        self._change(entry.task, lane, now, _status(entry.text("status")) or lane.status)

    def _reviewed(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        """Add the verdict of a judge whose turn has ended."""
        verdict = entry.text("verdict") or entry.text("result")
        if lane.last_review is not None and (
            entry.event == "verification" or lane.last_review["role"] == entry.text("by")
        ):
            lane.last_review |= {
                "outcome": verdict or lane.last_review["outcome"],
                "text": entry.text("feedback")[:LONGEST],
            }
            self.delta.spans.append(dict(lane.last_review))
        lane.last_review = None

    def _step(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        text = entry.text("text")
        if text.startswith("waits for "):
            self._add("wait", entry.task, now, lane, role="queue", text=text)
        self._change(entry.task, lane, now, lane.status or "in_progress", text)

    def _check(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        command = entry.text("command")
        span = self._add("check", entry.task, self._seconds_ago(now, entry.number("seconds")), text=command)
        self._close(span, now, "passed" if entry.data.get("passed") is True else "failed")
        self._change(entry.task, lane, now, lane.status or "in_progress", f"checked: {command}")

    def _merged(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        span = self._add("merge", entry.task, lane.last or now, text=f"merged as {entry.text('commit')[:10]}")
        self._close(span, now, "merged")

    def _conflict(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        text = f"merge conflict in {', '.join(entry.texts('paths')) or 'its files'}"
        self._close(self._add("merge", entry.task, lane.last or now, text=text), now, "conflict")
        self._mark("conflict", entry.task, now, text)

    def _sent_back(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        self._mark("sent_back", entry.task, now, entry.text("reason"))
        self._change(entry.task, lane, now, "in_progress", "sent back")

    def _question(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        self._answer(lane, now)
        self._add("wait", entry.task, now, lane, role="person", text=entry.text("text"))
        self._mark("question", entry.task, now, entry.text("text"))
        self._change(entry.task, lane, now, "paused")

    def _answered(self, entry: JournalEntry, lane: TaskLane, now: float) -> None:
        self._answer(lane, now)
        origin = f" by {entry.text('origin')}" if entry.text("origin") else ""
        self._mark("answered", entry.task, now, f"question {entry.name_or_number('number')} is answered{origin}")
        self._change(entry.task, lane, now, "in_progress")

    def _limit(self, entry: JournalEntry, _: TaskLane, now: float) -> None:
        text, until = stop_reason(entry), entry.number("until")
        span = self._add("limit", None, now, executor=entry.text("executor"), text=text)
        self._close(span, until if until is not None else now, "")
        self._mark("limit", None, now, text)

    def _budget(self, entry: JournalEntry, _: TaskLane, now: float) -> None:
        self._mark("budget", None, now, stop_reason(entry))

    def _waiting(self, entry: JournalEntry, _: TaskLane, now: float) -> None:
        if self.waits is None:
            self.waits = self._add("wait", None, now, text=stop_reason(entry))

    def _run_ended(self, entry: JournalEntry, _: TaskLane, now: float) -> None:
        self.ended = True
        self._mark("ended", None, now, f"the run is {entry.text('status') or 'over'}")

    def unfinished_spans(self) -> list[Span]:
        """Return the ends of open spans for a run without a live process. Questions stay open."""
        open_spans = [span for lane in self.lanes.values() for span in lane.open if span["kind"] != "wait"]
        return [{**span, "to": max(self.moment, span["from"]), "outcome": CUT_OFF} for span in open_spans]


def _is_worker(text: str) -> bool:
    return is_task_id(text) or is_member(text)


def _status(word: str) -> str:
    """Return the status of a task, job or agent as a task status, or "" for none."""
    return {"asking": "paused", "waiting": "pending"}.get(word) or (crew_rows.status_of(word) if word else "")


def _kind(entry: JournalEntry) -> str:
    if entry.text("role") == INTEGRATOR:
        return "merge"
    return "review" if entry.text("kind") == "review" else "work"


def _same(span: Span, entry: JournalEntry) -> bool:
    return (span["role"], span["executor"]) == (entry.text("role"), entry.text("executor"))


def document(
    entries: Iterable[Mapping[str, Any]], *, run: str, live: bool, now: float | None = None, limit: int = MOST_STEPS
) -> dict[str, Any]:
    """Return the whole timeline of a run. `now` is the current time of a live run.

    If a run has more tasks than `limit`, only changes of status are listed.
    """
    from sow.domain.runs.journal_entry import JournalEntry

    timeline = Timeline()
    spans: dict[int, Span] = {}
    parts: dict[str, list[Any]] = {"marks": [], "changes": [], "gaps": []}
    statuses: dict[str, str] = {}
    for data in entries:
        delta = timeline.add(JournalEntry(data))
        spans |= {span["id"]: span for span in delta.spans}
        parts["marks"] += delta.marks
        parts["gaps"] += delta.gaps
        for change in delta.changes:
            if len(timeline.lanes) <= limit or statuses.get(change[1]) != change[2]:
                parts["changes"].append(change)
            statuses[change[1]] = change[2]
    if not live:
        spans |= {span["id"]: span for span in timeline.unfinished_spans()}
    lanes = [
        {"id": ident, "name": lane.name, "plan_id": lane.plan_id or None} for ident, lane in timeline.lanes.items()
    ]
    header = {
        "run": run,
        "from": timeline.started or 0.0,
        "to": timeline.moment,
        "now": now if live else None,
        "lanes": lanes,
    }
    return {**header, "spans": list(spans.values()), **parts}


RUN_EVENTS = frozenset({"run_started", "limit", "breaker", "budget", "waiting", "run_ended"})
EVENTS: dict[str, Callable[[Timeline, JournalEntry, TaskLane, float], None]] = {
    "run_started": Timeline._run_started,
    "task_started": Timeline._task_started,
    "task_ended": Timeline._task_ended,
    "turn_started": Timeline._turn_started,
    "turn_ended": Timeline._turn_ended,
    "step": Timeline._step,
    "check": Timeline._check,
    "reviewed": Timeline._reviewed,
    "verification": Timeline._reviewed,
    "merged": Timeline._merged,
    "conflict": Timeline._conflict,
    "sent_back": Timeline._sent_back,
    "question": Timeline._question,
    "answered": Timeline._answered,
    "limit": Timeline._limit,
    "breaker": Timeline._budget,
    "budget": Timeline._budget,
    "waiting": Timeline._waiting,
    "run_ended": Timeline._run_ended,
}
