"""Who worked when, and what stood in the way: the entries of a journal as spans, marks and changes of status.

One entry after the other, and nothing is kept but what is open: a run of any length is followed in little memory.
"""

from __future__ import annotations

from sow.domain.ids import is_member, is_task_id
from sow.engine import report_crew
from sow.engine.entry_times import EntryTimes
from sow.engine.scene import stop_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from sow.domain.entry import Entry

    Span = dict[str, Any]

CUT_OFF = "cut off"
LONGEST = 400  # characters of what is said about a span or a mark
SHORTEST_GAP = 1.0  # seconds; the journal knows when a call began to the second only
INTEGRATOR = "integrator"
MOST_STEPS = 2000  # tasks


class Gain:
    """What one entry adds. A span with the number of an earlier one takes its place."""

    __slots__ = ("changes", "gaps", "marks", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.marks: list[dict[str, Any]] = []
        self.changes: list[tuple[float, str, str, str]] = []
        self.gaps: list[dict[str, float]] = []


class Lane:
    """One task, or one agent of a workflow, as far as it must be remembered."""

    __slots__ = ("active", "begun", "judged", "last", "name", "open", "plan_id", "status")

    def __init__(self, name: str = "", plan_id: str = "") -> None:
        self.name = name
        self.plan_id = plan_id
        self.active = 0.0  # seconds
        self.begun: float | None = None  # since when it is worked on
        self.last = 0.0
        self.status = ""
        self.open: list[Span] = []
        self.judged: Span | None = None  # the last look of a judge at it, whose verdict comes after its end

    def stop(self, moment: float) -> None:
        """Its time goes on no further."""
        if self.begun is not None:
            self.active += max(moment - self.begun, 0.0)
            self.begun = None


class Timeline:
    """Told of every entry of one journal, in its order."""

    __slots__ = ("begun", "count", "gain", "lanes", "over", "times", "waits", "wall")

    def __init__(self) -> None:
        self.times = EntryTimes()
        self.lanes: dict[str, Lane] = {}
        self.begun: float | None = None
        self.wall = 0.0  # seconds in which earlier calls were alive
        self.count = 0
        self.waits: Span | None = None  # all stand still
        self.over = False
        self.gain = Gain()

    @property
    def moment(self) -> float:
        """The time of the last entry."""
        return self.times.moment

    def elapsed(self, now: float) -> float:
        """Seconds in which a call was alive, the present one until now."""
        return self.wall + max(now - (self.times.begun or now), 0.0)

    def take(self, entry: Entry) -> Gain:
        """Let an entry change the picture; returns what it adds."""
        gain = self.gain = Gain()
        before, call, fresh = self.times.moment, self.times.begun, self.times.is_new_call(entry)
        now = self.times.of(entry)
        if self.begun is None:
            self.begun = now
        elif fresh:
            self._end_call(before, call, now)
        if self.waits is not None and entry.event != "waiting":
            self._close(self.waits, now, "")
            self.waits = None
        lane = self._lane(entry, now)
        handle = EVENTS.get(entry.event)
        if handle and (lane is not None or entry.event in OF_THE_RUN):
            handle(self, entry, lane or Lane(), now)
        if lane is not None:
            lane.last = now
        return gain

    def _lane(self, entry: Entry, now: float) -> Lane | None:
        """Whom an entry is about; what it stood in line for is over with it."""
        if not _is_worker(entry.task):
            return None
        lane = self.lanes.setdefault(entry.task, Lane())
        for span in [each for each in lane.open if each["kind"] == "wait" and each["role"] == "queue"]:
            self._close(span, now, "", lane)
        return lane

    def _end_call(self, before: float, call: float | None, now: float) -> None:
        """The call before ended with its last entry, whether it could say so or not."""
        self.wall += max(before - (call if call is not None else before), 0.0)
        for lane in self.lanes.values():
            lane.stop(before)
            for span in [each for each in lane.open if each["kind"] != "wait"]:
                self._close(span, before, CUT_OFF, lane)
        if self.waits is not None:
            self._close(self.waits, before, "")
            self.waits = None
        if now - before >= SHORTEST_GAP:
            self.gain.gaps.append({"from": before, "to": now})

    def _add(self, kind: str, task: str | None, begin: float, lane: Lane | None = None, **more: Any) -> Span:
        """A new span, open until somebody closes it."""
        self.count += 1
        empty = {"role": "", "executor": "", "from": begin, "to": None, "outcome": "", "text": ""}
        span: Span = {"id": self.count, "task": task, "kind": kind, **empty, **more}
        span["text"] = span["text"][:LONGEST]
        if lane is not None:
            lane.open.append(span)
        self.gain.spans.append(dict(span))
        return span

    def _close(self, span: Span, now: float, outcome: str, lane: Lane | None = None) -> None:
        span |= {"to": max(now, span["from"]), "outcome": outcome or span["outcome"]}
        if lane is not None:
            lane.open.remove(span)
        self.gain.spans.append(dict(span))

    def _before(self, now: float, seconds: float | None) -> float:
        """So many seconds ago, and not before the run began."""
        return round(max(now - (seconds or 0.0), self.begun or 0.0), 3)

    def _mark(self, kind: str, task: str | None, now: float, text: str) -> None:
        self.gain.marks.append({"at": now, "task": task, "kind": kind, "text": text[:LONGEST]})

    def _change(self, task: str, lane: Lane, now: float, status: str, step: str = "") -> None:
        lane.status = status or lane.status
        self.gain.changes.append((now, task, lane.status, step[:LONGEST]))

    def _run_started(self, entry: Entry, _: Lane, now: float) -> None:
        self.over = False
        if entry.data.get("recovered") is True:
            self._mark("recovered", None, now, "the run goes on from where it was")
        for task in entry.entries("tasks"):
            ident = task.text("id")
            if not _is_worker(ident):
                continue
            lane = self.lanes.setdefault(ident, Lane())
            lane.name, lane.plan_id = task.text("name"), task.word("number")
            status = task.text("status") or lane.status or "pending"
            if status != "paused":  # answered between two calls
                self._answer(lane, now)
            self._change(ident, lane, now, status)

    def _answer(self, lane: Lane, now: float) -> None:
        for span in [each for each in lane.open if each["kind"] == "wait"]:
            self._close(span, now, "answered", lane)

    def _task_started(self, entry: Entry, lane: Lane, now: float) -> None:
        lane.stop(now)
        lane.begun = now
        self._answer(lane, now)
        self._change(entry.task, lane, now, "in_progress")

    def _task_ended(self, entry: Entry, lane: Lane, now: float) -> None:
        if lane.begun is None:
            lane.active += entry.number("seconds") or 0.0
        lane.stop(now)
        status = _status(entry.text("status"))
        for span in [each for each in lane.open if each["kind"] != "wait" or status != "paused"]:
            self._close(span, now, CUT_OFF if span["kind"] != "wait" else "", lane)
        self._change(entry.task, lane, now, status or lane.status)

    def _turn_started(self, entry: Entry, lane: Lane, now: float) -> None:
        for lost in [each for each in lane.open if _same(each, entry)]:
            self._close(lost, now, CUT_OFF, lane)
        role, executor = entry.text("role"), entry.text("executor")
        self._add(_kind(entry), entry.task, now, lane, role=role, executor=executor)
        status = lane.status if _kind(entry) == "review" else "in_progress"
        self._change(entry.task, lane, now, status or "in_progress", " on ".join(filter(None, (role, executor))))

    def _turn_ended(self, entry: Entry, lane: Lane, now: float) -> None:
        """The turn that is meant; one that another executor took over ends under that one's name."""
        own = [each for each in lane.open if each["role"] == entry.text("role")]
        exact = [each for each in own if each["executor"] == entry.text("executor")]
        text = "; ".join(filter(None, (entry.text("reason"), *entry.texts("remarks"))))
        if exact or own:
            span = (exact or own)[0]
        else:  # its start is not in the journal
            begin = self._before(now, entry.number("seconds"))
            span = self._add(_kind(entry), entry.task, begin, lane, role=entry.text("role"))
        span |= {"executor": entry.text("executor") or span["executor"], "text": text[:LONGEST]}
        self._close(span, now, entry.text("outcome") or "ended", lane)
        lane.judged = span if span["kind"] == "review" else lane.judged
        self._change(entry.task, lane, now, _status(entry.text("status")) or lane.status)

    def _reviewed(self, entry: Entry, lane: Lane, now: float) -> None:
        """The verdict on it, from a judge whose turn has ended."""
        verdict = entry.text("verdict") or entry.text("result")
        if lane.judged is not None and (entry.event == "verification" or lane.judged["role"] == entry.text("by")):
            lane.judged |= {"outcome": verdict or lane.judged["outcome"], "text": entry.text("feedback")[:LONGEST]}
            self.gain.spans.append(dict(lane.judged))
        lane.judged = None

    def _step(self, entry: Entry, lane: Lane, now: float) -> None:
        text = entry.text("text")
        if text.startswith("waits for "):
            self._add("wait", entry.task, now, lane, role="queue", text=text)
        self._change(entry.task, lane, now, lane.status or "in_progress", text)

    def _check(self, entry: Entry, lane: Lane, now: float) -> None:
        command = entry.text("command")
        span = self._add("check", entry.task, self._before(now, entry.number("seconds")), text=command)
        self._close(span, now, "passed" if entry.data.get("passed") is True else "failed")
        self._change(entry.task, lane, now, lane.status or "in_progress", f"checked: {command}")

    def _merged(self, entry: Entry, lane: Lane, now: float) -> None:
        span = self._add("merge", entry.task, lane.last or now, text=f"merged as {entry.text('commit')[:10]}")
        self._close(span, now, "merged")

    def _conflict(self, entry: Entry, lane: Lane, now: float) -> None:
        text = f"merge conflict in {', '.join(entry.texts('paths')) or 'its files'}"
        self._close(self._add("merge", entry.task, lane.last or now, text=text), now, "conflict")
        self._mark("conflict", entry.task, now, text)

    def _sent_back(self, entry: Entry, lane: Lane, now: float) -> None:
        self._mark("sent_back", entry.task, now, entry.text("reason"))
        self._change(entry.task, lane, now, "in_progress", "sent back")

    def _question(self, entry: Entry, lane: Lane, now: float) -> None:
        self._answer(lane, now)
        self._add("wait", entry.task, now, lane, role="person", text=entry.text("text"))
        self._mark("question", entry.task, now, entry.text("text"))
        self._change(entry.task, lane, now, "paused")

    def _answered(self, entry: Entry, lane: Lane, now: float) -> None:
        self._answer(lane, now)
        origin = f" by {entry.text('origin')}" if entry.text("origin") else ""
        self._mark("answered", entry.task, now, f"question {entry.word('number')} is answered{origin}")
        self._change(entry.task, lane, now, "in_progress")

    def _limit(self, entry: Entry, _: Lane, now: float) -> None:
        text, until = stop_of(entry), entry.number("until")
        span = self._add("limit", None, now, executor=entry.text("executor"), text=text)
        self._close(span, until if until is not None else now, "")
        self._mark("limit", None, now, text)

    def _budget(self, entry: Entry, _: Lane, now: float) -> None:
        self._mark("budget", None, now, stop_of(entry))

    def _waiting(self, entry: Entry, _: Lane, now: float) -> None:
        if self.waits is None:
            self.waits = self._add("wait", None, now, text=stop_of(entry))

    def _run_ended(self, entry: Entry, _: Lane, now: float) -> None:
        self.over = True
        self._mark("ended", None, now, f"the run is {entry.text('status') or 'over'}")

    def cut(self) -> list[Span]:
        """The ends of what is still open, for a run in which nobody works any more; questions wait on."""
        left = [span for lane in self.lanes.values() for span in lane.open if span["kind"] != "wait"]
        return [{**each, "to": max(self.moment, each["from"]), "outcome": CUT_OFF} for each in left]


def _is_worker(text: str) -> bool:
    return is_task_id(text) or is_member(text)


def _status(word: str) -> str:
    """A status of a task, of a job or of an agent, in the words of a task; nothing for none."""
    return {"asking": "paused", "waiting": "pending"}.get(word) or (report_crew.status_of(word) if word else "")


def _kind(entry: Entry) -> str:
    if entry.text("role") == INTEGRATOR:
        return "merge"
    return "review" if entry.text("kind") == "review" else "work"


def _same(span: Span, entry: Entry) -> bool:
    return (span["role"], span["executor"]) == (entry.text("role"), entry.text("executor"))


def document(
    entries: Iterable[Mapping[str, Any]], *, run: str, live: bool, now: float | None = None, most: int = MOST_STEPS
) -> dict[str, Any]:
    """The whole timeline of a run; `now` is the present time where it is live.

    Of a run with more tasks than `most`, only those changes are told that are changes of status.
    """
    from sow.domain.entry import Entry

    line = Timeline()
    spans: dict[int, Span] = {}
    found: dict[str, list[Any]] = {"marks": [], "changes": [], "gaps": []}
    statuses: dict[str, str] = {}
    for data in entries:
        gain = line.take(Entry(data))
        spans |= {each["id"]: each for each in gain.spans}
        found["marks"] += gain.marks
        found["gaps"] += gain.gaps
        for change in gain.changes:
            if len(line.lanes) <= most or statuses.get(change[1]) != change[2]:
                found["changes"].append(change)
            statuses[change[1]] = change[2]
    if not live:
        spans |= {each["id"]: each for each in line.cut()}
    lanes = [{"id": ident, "name": lane.name, "plan_id": lane.plan_id or None} for ident, lane in line.lanes.items()]
    whole = {"run": run, "from": line.begun or 0.0, "to": line.moment, "now": now if live else None, "lanes": lanes}
    return {**whole, "spans": list(spans.values()), **found}


OF_THE_RUN = frozenset({"run_started", "limit", "breaker", "budget", "waiting", "run_ended"})
EVENTS: dict[str, Callable[[Timeline, Entry, Lane, float], None]] = {
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
