"""Rebuilds what a run did from its journal: processes, tasks, turns, waits and times. Unreadable lines are skipped."""

from __future__ import annotations

import calendar
import time

from sow.domain.ids import is_member, is_task_id
from sow.domain.runs.journal_entry import JournalEntry
from sow.store.formats.validation import is_timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from sow.domain.runs.journal_entry import JournalEntry


class TurnRecord:
    """One turn of an agent. Unknown values are None."""

    __slots__ = (
        "at", "cost", "ended", "executor", "input_tokens", "iteration", "kind", "outcome", "output_tokens", "role",
        "seconds", "started", "task",
    )  # fmt: skip

    def __init__(self, entry: JournalEntry, begun: float | None) -> None:
        self.task = entry.task
        self.role = entry.text("role")
        self.executor = entry.text("executor")
        self.kind = entry.text("kind")
        self.iteration = entry.count("iteration")
        self.at = entry.at
        self.started = begun  # seconds since the start of its process
        self.ended = False
        self.outcome = ""
        self.seconds: float | None = None
        self.cost: float | None = None
        self.input_tokens: float | None = None
        self.output_tokens: float | None = None

    def end(self, entry: JournalEntry, moment: float) -> None:
        """Record the measurements at the end of the turn."""
        self.ended = True
        self.executor = entry.text("executor") or self.executor
        self.outcome = entry.text("outcome")
        measured = entry.number("seconds")
        self.seconds = measured if measured is not None else moment - self.started if self.started is not None else None
        self.cost = entry.number("cost_usd")
        self.input_tokens = entry.number("input_tokens")
        self.output_tokens = entry.number("output_tokens")

    def end_unrecorded(self, moment: float) -> None:
        """Record a turn whose end is not in the journal. It lasted at least until `moment`."""
        self.seconds = max(moment - self.started, 0.0) if self.started is not None else None


class TaskHistory:
    """The journal's data about one task."""

    __slots__ = (
        "active", "checks", "conflicts", "ended_at", "iteration", "merges", "reason", "result", "retries", "reviews",
        "sent_back", "start_entry", "started", "started_at", "status",
    )  # fmt: skip

    def __init__(self) -> None:
        self.start_entry = JournalEntry({})  # the task's part of run_started
        self.started: float | None = None
        self.active = 0.0
        self.started_at = ""
        self.ended_at = ""
        self.status = ""
        self.result = ""
        self.iteration = 0
        self.retries: int | None = None
        self.sent_back = 0
        self.reviews: list[dict[str, Any]] = []
        self.checks = {"passed": 0, "failed": 0}
        self.merges = 0
        self.conflicts = 0
        self.reason = ""

    def stop(self, moment: float) -> None:
        """Stop counting the task's active time."""
        if self.started is not None:
            self.active += max(moment - self.started, 0.0)
            self.started = None


def _number(entry: JournalEntry) -> int | str | None:
    """Return a question's number: 3 in a project, w1 in a workflow."""
    return entry.count("number") or entry.text("number") or None


def _is_worker(text: str) -> bool:
    return is_task_id(text) or is_member(text)


class History:
    """The whole journal of a run."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self.calls: list[RunProcess] = []
        self.tasks: dict[str, TaskHistory] = {}
        self.turns: list[TurnRecord] = []
        self.questions: list[dict[str, Any]] = []
        self.limits: list[dict[str, Any]] = []
        self.stops: list[str] = []
        self.git_changes: list[str] = []  # to settings, hooks and lists in the git folder
        self.remarks: list[str] = []  # foreign changes that the run undid or ignored
        self.budget_reason = ""  # the reason why the last process could start nothing more
        self.recovered = 0
        self.used_options: list[Any] = []  # names of the options of the last process
        self.check_seconds = 0.0
        self.final_checks = {"passed": 0, "failed": 0}  # check lists that ran on the final tree
        self.waited = {"people": 0.0, "limits": 0.0}
        self._waits: tuple[str, float] | None = None
        self._open: list[TurnRecord] = []
        for data in entries:
            self._add(JournalEntry(data))
        self.unfinished = {task for task, history in self.tasks.items() if history.started is not None}
        self._end_process()

    @property
    def wall(self) -> float:
        """Seconds in which a process of the run was alive, according to the journal."""
        return sum(call.moment for call in self.calls)

    @property
    def now(self) -> float:
        return self.calls[-1].moment

    def task(self, ident: str) -> TaskHistory:
        """Return the history of one task, creating it if needed."""
        return self.tasks.setdefault(ident, TaskHistory())

    def _add(self, entry: JournalEntry) -> None:
        if not self.calls or self.calls[-1].is_older_than(entry):
            self._end_process()
            self.calls.append(RunProcess())
        self.calls[-1].add(entry)
        self._end_wait(entry)
        handle = EVENTS.get(entry.event)
        if handle and (_is_worker(entry.task) or entry.event in RUN_EVENTS):
            handle(self, entry)

    def _end_process(self) -> None:
        """End everything that is open, because the previous process has ended."""
        for turn in self._open:
            turn.end_unrecorded(self.now)
        self._open, self._waits = [], None
        for task in self.tasks.values():
            task.stop(self.now if self.calls else 0.0)

    def _end_wait(self, entry: JournalEntry) -> None:
        """End a wait at the first entry that is not `waiting`."""
        if self._waits and entry.event != "waiting":
            kind, begun = self._waits
            self.waited[kind] += self.now - begun
            self._waits = None

    def _waiting(self, entry: JournalEntry) -> None:
        if not self._open and not self._waits:
            self._waits = ("people" if entry.number("until") is None else "limits", self.now)

    def _git_changed(self, entry: JournalEntry) -> None:
        self.git_changes += entry.texts("changes")

    def _run_started(self, entry: JournalEntry) -> None:
        self.budget_reason = ""
        self.recovered += entry.data.get("recovered") is True
        options = entry.data.get("asked")
        self.used_options = options if isinstance(options, list) else []
        for task in entry.entries("tasks"):
            if _is_worker(task.text("id")):
                self.task(task.text("id")).start_entry = task

    def _task_started(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        task.stop(self.now)
        task.started = self.now
        task.started_at = task.started_at or entry.at
        task.ended_at = ""

    def _task_ended(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        if task.started is None:
            task.active += entry.number("seconds") or 0.0
        task.stop(self.now)
        task.ended_at = entry.at
        task.status = entry.text("status")
        task.result = entry.text("result") or task.result
        task.reason = entry.text("reason") or task.reason
        task.retries = entry.count("retry_count") if entry.number("retry_count") is not None else task.retries

    def _task_of(self, entry: JournalEntry) -> TaskHistory:
        task = self.task(entry.task)
        task.iteration = max(task.iteration, entry.count("iteration"))
        return task

    def _turn_started(self, entry: JournalEntry) -> None:
        self._task_of(entry)
        open_turn = self._find_open_turn(entry, exactly=True)
        if open_turn:
            open_turn.end_unrecorded(self.now)
            self._open.remove(open_turn)
        turn = TurnRecord(entry, self.now)
        self.turns.append(turn)
        self._open.append(turn)

    def _turn_ended(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        turn = self._find_open_turn(entry)
        if turn:
            self._open.remove(turn)
        else:
            turn = TurnRecord(entry, None)
            self.turns.append(turn)
        turn.end(entry, self.now)
        if turn.outcome not in ("", "done"):
            task.reason = f"{turn.role or 'its agent'} ended with: {turn.outcome}"

    def _find_open_turn(self, entry: JournalEntry, *, exactly: bool = False) -> TurnRecord | None:
        """Find the open turn of an entry. If another executor took over, the turn ends under that executor's name."""
        candidates = [turn for turn in self._open if (turn.task, turn.role) == (entry.task, entry.text("role"))]
        exact = [turn for turn in candidates if turn.executor == entry.text("executor")]
        return next(iter(exact if exactly else exact + candidates), None)

    def _check(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        passed = entry.data.get("passed") is True
        task.checks["passed" if passed else "failed"] += 1
        self.check_seconds += entry.number("seconds") or 0.0
        if not passed:
            task.reason = f"this check failed: {entry.text('command')}"

    def _final_check(self, entry: JournalEntry) -> None:
        self.final_checks["passed" if entry.data.get("passed") is True else "failed"] += 1
        self.check_seconds += entry.number("seconds") or 0.0

    def _reviewed(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        verdict = entry.text("verdict")
        iteration, findings = entry.count("iteration"), entry.count("findings")
        task.reviews.append({"iteration": iteration, "verdict": verdict, "by": entry.text("by"), "findings": findings})
        task.reason = entry.text("feedback") or task.reason if verdict == "RED" else task.reason

    def _sent_back(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        task.sent_back += 1
        task.result = ""  # a result from before is out of date
        task.reason = entry.text("reason") or task.reason

    def _merged(self, entry: JournalEntry) -> None:
        self._task_of(entry).merges += 1

    def _conflict(self, entry: JournalEntry) -> None:
        task = self._task_of(entry)
        task.conflicts += 1
        task.reason = f"a merge conflict in {', '.join(entry.texts('paths')[:5]) or 'its files'}"

    def _question(self, entry: JournalEntry) -> None:
        self._task_of(entry).result = ""
        self.questions.append(
            {
                "task": entry.task,
                "number": _number(entry),
                "text": entry.text("text"),
                "asked_at": entry.at,
                "answered_at": None,
                "origin": None,
                "waited_seconds": None,
                "moment": (len(self.calls), self.now),
            }
        )

    def _answered(self, entry: JournalEntry) -> None:
        self._task_of(entry)
        number = _number(entry)
        for question in self.questions:
            if question["task"] == entry.task and question["number"] == number and question["answered_at"] is None:
                question |= {"answered_at": entry.at, "origin": entry.text("origin") or None}
                call, moment = question["moment"]
                difference = max((epoch(entry.at) or 0) - (epoch(question["asked_at"]) or 0), 0)
                question["waited_seconds"] = self.now - moment if call == len(self.calls) else difference

    def _branch_moved(self, entry: JournalEntry) -> None:
        remark = f"{entry.text('branch')} was moved to {entry.text('found')[:12]} by somebody else and set back"
        self.remarks.append(f"{remark}; that commit is kept as {entry.text('pin')}" if entry.text("pin") else remark)

    def _limit(self, entry: JournalEntry) -> None:
        until = entry.number("until")
        self.limits.append(
            {"executor": entry.text("executor"), "at": entry.at, "until": until, "reason": entry.text("reason")}
        )

    def _breaker(self, entry: JournalEntry) -> None:
        self.stops.append(f"{entry.count('failures')} starts failed in a row")

    def _budget(self, entry: JournalEntry) -> None:
        self.budget_reason = entry.text("reason") or "a budget is spent"
        self.stops.append(self.budget_reason)


RUN_EVENTS = frozenset(
    {"run_started", "limit", "breaker", "budget", "waiting", "git_changed", "branch_moved", "final_check"}
)
EVENTS: dict[str, Callable[[History, JournalEntry], None]] = {
    "run_started": History._run_started,
    "task_started": History._task_started,
    "task_ended": History._task_ended,
    "turn_started": History._turn_started,
    "turn_ended": History._turn_ended,
    "check": History._check,
    "final_check": History._final_check,
    "reviewed": History._reviewed,
    "sent_back": History._sent_back,
    "merged": History._merged,
    "conflict": History._conflict,
    "question": History._question,
    "answered": History._answered,
    "branch_moved": History._branch_moved,
    "limit": History._limit,
    "breaker": History._breaker,
    "budget": History._budget,
    "waiting": History._waiting,
    "git_changed": History._git_changed,
}


def epoch(at: str) -> int | None:
    """Return a timestamp of our files in seconds since 1970, or None if it is invalid."""
    try:
        return calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return None


class RunProcess:
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

    def is_older_than(self, entry: JournalEntry) -> bool:
        """Whether the entry belongs to a later process, whose monotonic clock started again."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and self.t is not None and t < self.t)

    def add(self, entry: JournalEntry) -> None:
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


class EntryTimes:
    """Takes every entry of a journal in order and returns its time.

    The entries of a process have milliseconds since its start, but only whole seconds of wall-clock time. An entry's
    whole second is never later than the entry, so the latest start that any entry allows is the most exact one.
    """

    __slots__ = ("_at", "_epoch", "moment", "started", "t")

    def __init__(self) -> None:
        self.started: float | None = None  # start of the current process
        self.moment = 0.0  # of the last entry
        self.t = 0.0
        self._at = ""  # the last timestamp and its value, because many entries share one
        self._epoch: int | None = None

    def is_new_call(self, entry: JournalEntry) -> bool:
        """Whether the entry belongs to a later process, whose monotonic clock started again."""
        t = entry.t
        return entry.event == "run_started" or (t is not None and t < self.t)

    def time_of(self, entry: JournalEntry) -> float:
        """Return the seconds since 1970 of an entry, never less than those of an earlier one."""
        if self.is_new_call(entry):
            self.started, self.t = None, 0.0
        monotonic = entry.t
        t, at = monotonic if monotonic is not None else self.t, self._second(entry.at)
        self.t = t
        if at is not None and at >= 0:
            self.started = at - t if self.started is None else max(self.started, at - t)
        if self.started is not None:
            self.moment = round(max(self.moment, self.started + t), 3)
        return self.moment

    def _second(self, at: str) -> int | None:
        if at != self._at:
            self._at, self._epoch = at, epoch(at)
        return self._epoch
