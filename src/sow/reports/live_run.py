"""Tracks a run from its journal: running tasks, waits and their reasons, progress and cost."""

from __future__ import annotations

from sow.domain.ids import is_member
from sow.domain.plans import graph
from sow.domain.runs.journal_entry import JournalEntry
from sow.system import clock
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORECAST_EVERY = 5.0  # seconds
AT_LEAST = 0.1  # minimum remaining share of a task that takes longer than expected
ENOUGH = 2  # completed tasks needed to correct the estimates
ENDINGS = {
    "completed": "completed",
    "failed": "failed",
    "abandoned": "abandoned",
    "paused": "asking",
    "asking": "asking",
}


class Cost:
    """An amount of money, with the number of known and unknown costs."""

    __slots__ = ("known", "unknown", "usd")

    def __init__(self) -> None:
        self.usd = 0.0
        self.known = 0
        self.unknown = 0

    def add(self, cost: float | None) -> None:
        self.usd += cost or 0.0
        self.known += cost is not None
        self.unknown += cost is None

    def text(self) -> str:
        """Format the amount: `$0.48`, `$0.48+` if a part is unknown, `?` if all is unknown, "" if nothing was spent."""
        if not self.known:
            return "?" if self.unknown else ""
        return f"${self.usd:,.2f}{'+' if self.unknown else ''}"


class RunningTask:
    """One running task."""

    __slots__ = ("iteration", "started", "step")

    def __init__(self, since: float) -> None:
        self.started = since
        self.iteration = 1
        self.step = ""


class LiveRun:
    """Takes every entry of the journal. Times come from the clock of the caller."""

    def __init__(self, expected: Mapping[str, float] | None = None) -> None:
        self.tasks: dict[str, JournalEntry] = {}
        self.running: dict[str, RunningTask] = {}
        self.ended: dict[str, str] = {}
        self.questions: dict[str, tuple[str, str]] = {}
        self.pauses: dict[str, str] = {}
        self.stops: dict[str, str] = {}  # why nothing new begins
        self.final = ""  # what the final checks do
        self.spend: dict[str, Cost] = {}
        self.total = Cost()
        self.started: float | None = None
        self.slots = 1
        self._expected = dict(expected or {})
        self._durations: dict[str, tuple[float, float]] = {}  # actual and expected minutes of a completed task
        self._cached_forecast: tuple[float, float | None] | None = None

    def add(self, entry: JournalEntry, now: float) -> None:
        """Update the state with an entry."""
        if self.started is None:
            self.started = now
        if entry.event != "waiting":
            self.stops.pop("waiting", None)
        self.final = ""
        if not entry.task and entry.event not in RUN_EVENTS:
            return
        if entry.event in TASK_EVENTS:
            self._mark_running(entry, now)
        handle = EVENTS.get(entry.event)
        if handle:
            handle(self, entry, now)

    def elapsed(self, now: float) -> float:
        return max(now - self.started, 0.0) if self.started is not None else 0.0

    def task_label(self, ident: str) -> str:
        """Return a task's plan number, id and name, or the name of a workflow's agent."""
        if is_member(ident):
            return ident
        task = self.tasks.get(ident) or JournalEntry({})
        number, name = task.name_or_number("number"), task.text("name")
        return escape_line(f"{number} ({ident}) {name}" if number and number != ident else f"{ident} {name}")

    def count(self, status: str) -> int:
        return sum(ending == status for ending in self.ended.values())

    def waiting(self) -> list[str]:
        """List the tasks that have not started or must start again, without those that ask a question."""
        return [ident for ident in self.tasks if ident not in self.running and ident not in self.ended]

    def waits_for(self, ident: str) -> list[str]:
        """List the unfinished dependencies of a task."""
        return [need for need in self.tasks[ident].texts("needs") if self.ended.get(need) != "completed"]

    def seconds_left(self, now: float) -> float | None:
        """Return the expected seconds until the end, or None if the time of a task is unknown."""
        if self._cached_forecast is None or now - self._cached_forecast[0] >= FORECAST_EVERY:
            self._cached_forecast = (now, self._forecast(now))
        since, seconds = self._cached_forecast
        return None if seconds is None else max(seconds - (now - since), 0.0)

    def _forecast(self, now: float) -> float | None:
        minutes = {ident: self._minutes(ident, now) for ident in self._open()}
        durations = {ident: value for ident, value in minutes.items() if value is not None}
        if not durations or len(durations) != len(minutes):
            return None
        needs = {ident: [need for need in self.tasks[ident].texts("needs") if need in durations] for ident in durations}
        return max(end for _, _, end in graph.schedule(needs, durations, workers=self.slots)) * 60

    def _open(self) -> list[str]:
        """List the tasks that can still be completed without help."""
        stuck = {ident for ident, status in self.ended.items() if status != "completed"}
        open_tasks: list[str] = []
        for wave in graph.waves(self._needs()):
            for ident in wave:
                if stuck.intersection(self.tasks[ident].texts("needs")):
                    stuck.add(ident)
                elif ident not in self.ended:
                    open_tasks.append(ident)
        return open_tasks

    def _needs(self) -> dict[str, list[str]]:
        return {
            ident: [need for need in task.texts("needs") if need in self.tasks] for ident, task in self.tasks.items()
        }

    def _minutes(self, ident: str, now: float) -> float | None:
        expected = self._estimate(ident)
        if not expected:
            return None
        expected *= self._estimate_factor()
        if ident not in self.running:
            return expected
        return max(expected - (now - self.running[ident].started) / 60, expected * AT_LEAST)

    def _estimate(self, ident: str) -> float | None:
        return self._expected.get(ident) or self.tasks[ident].number("estimated_minutes")

    def _estimate_factor(self) -> float:
        """Return how much longer this run's tasks take than expected, once enough are completed."""
        if len(self._durations) < ENOUGH:
            return 1.0
        durations = self._durations.values()
        return sum(actual for actual, _ in durations) / sum(estimate for _, estimate in durations)

    def _mark_running(self, entry: JournalEntry, now: float) -> None:
        """Mark a task as running, even if its start was not seen."""
        self.tasks.setdefault(entry.task, JournalEntry({"id": entry.task}))
        work = self.running.setdefault(entry.task, RunningTask(now))
        work.iteration = max(work.iteration, entry.count("iteration"))
        self.ended.pop(entry.task, None)

    def _run_started(self, entry: JournalEntry, now: float) -> None:
        self.slots = max(entry.entry("settings").count("max_concurrency"), 1)
        self.running.clear()
        for task in entry.entries("tasks"):
            ident = task.text("id")
            if ident:
                self.tasks[ident] = task
            status = task.text("status")
            if ident and status in ENDINGS:
                self.ended[ident] = ENDINGS[status]
            elif ident and status:  # answered or sent on between two processes
                self.ended.pop(ident, None)
                self.questions.pop(ident, None)
        self._cached_forecast = None

    def _turn_started(self, entry: JournalEntry, now: float) -> None:
        self.running[entry.task].step = " on ".join(filter(None, (entry.text("role"), entry.text("executor"))))
        self.pauses.pop(entry.text("executor"), None)
        self.stops.pop("breaker", None)

    def _turn_ended(self, entry: JournalEntry, now: float) -> None:
        cost = entry.number("cost_usd")
        self.spend.setdefault(entry.task, Cost()).add(cost)
        self.total.add(cost)

    def _step(self, entry: JournalEntry, now: float) -> None:
        self.running[entry.task].step = entry.text("text")

    def _check(self, entry: JournalEntry, now: float) -> None:
        self.running[entry.task].step = f"checked: {entry.text('command')}"

    def _final_step(self, entry: JournalEntry, now: float) -> None:
        self.final = entry.text("text")
        self._cached_forecast = None  # no task is open any more

    def _question(self, entry: JournalEntry, now: float) -> None:
        if self.ended.get(entry.task) == "completed":  # a final check reopened it
            self.ended[entry.task] = "asking"
        self.questions[entry.task] = (entry.name_or_number("number"), entry.text("text"))

    def _answered(self, entry: JournalEntry, now: float) -> None:
        self.questions.pop(entry.task, None)
        if self.ended.get(entry.task) == "asking":
            del self.ended[entry.task]

    def _task_ended(self, entry: JournalEntry, now: float) -> None:
        self.tasks.setdefault(entry.task, JournalEntry({"id": entry.task}))
        work = self.running.pop(entry.task, None)
        status = ENDINGS.get(entry.text("status"))
        estimate = self._estimate(entry.task)
        if status == "completed" and work and estimate:
            self._durations[entry.task] = ((now - work.started) / 60, estimate)
        if status:
            self.ended[entry.task] = status
        if status != "asking":
            self.questions.pop(entry.task, None)

    def _limit(self, entry: JournalEntry, now: float) -> None:
        self.pauses[entry.text("executor")] = stop_reason(entry)

    def _stop(self, entry: JournalEntry, now: float) -> None:
        self.stops[entry.event] = stop_reason(entry)


def stop_reason(entry: JournalEntry) -> str:
    """Return what does not continue, why and until when: `claude-code pauses until 14:30: usage limit`."""
    subject = {"limit": f"{entry.text('executor')} pauses", "waiting": "waiting"}.get(entry.event, "nothing new starts")
    reason = entry.text("reason")
    if entry.event == "breaker":
        reason = f"{entry.count('failures')} starts failed in a row"
    until = entry.number("until")
    return subject + (f" until {clock.local(until)}" if until else "") + (f": {reason}" if reason else "")


RUN_EVENTS = frozenset({"run_started", "final_step", "limit", "breaker", "budget", "waiting"})
TASK_EVENTS = frozenset(
    {
        "task_started", "turn_started", "turn_ended", "step", "collected", "check", "reviewed", "sent_back",
        "merged", "escalated", "resolved", "verification",
    }
)  # fmt: skip
EVENTS: dict[str, Callable[[LiveRun, JournalEntry, float], None]] = {
    "run_started": LiveRun._run_started,
    "turn_started": LiveRun._turn_started,
    "turn_ended": LiveRun._turn_ended,
    "step": LiveRun._step,
    "check": LiveRun._check,
    "final_step": LiveRun._final_step,
    "question": LiveRun._question,
    "answered": LiveRun._answered,
    "task_ended": LiveRun._task_ended,
    "limit": LiveRun._limit,
    "breaker": LiveRun._stop,
    "budget": LiveRun._stop,
    "waiting": LiveRun._stop,
}
