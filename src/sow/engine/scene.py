"""What a run looks like at a moment: who works on what, what waits and why, how far it is and what it cost."""

from __future__ import annotations

from sow.domain import graph
from sow.domain.entry import Entry
from sow.domain.ids import is_member
from sow.system import clock
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORECAST_EVERY = 5.0  # seconds
AT_LEAST = 0.1  # what is left of a task that takes longer than was thought, as a part of that
ENOUGH = 2  # completed tasks that tell how wrong the times were that were thought
ENDINGS = {
    "completed": "completed",
    "failed": "failed",
    "abandoned": "abandoned",
    "paused": "asking",
    "asking": "asking",
}


class Spend:
    """Money as far as it is known."""

    __slots__ = ("known", "untold", "usd")

    def __init__(self) -> None:
        self.usd = 0.0
        self.known = 0
        self.untold = 0

    def add(self, cost: float | None) -> None:
        self.usd += cost or 0.0
        self.known += cost is not None
        self.untold += cost is None

    def words(self) -> str:
        """`$0.48`, `$0.48+` where a part is unknown, `?` where all is, and nothing before anything was spent."""
        if not self.known:
            return "?" if self.untold else ""
        return f"${self.usd:,.2f}{'+' if self.untold else ''}"


class AtWork:
    """One running task."""

    __slots__ = ("iteration", "since", "step")

    def __init__(self, since: float) -> None:
        self.since = since
        self.iteration = 1
        self.step = ""


class Scene:
    """Told of every entry of the journal; times are those of the clock of whoever tells."""

    def __init__(self, expected: Mapping[str, float] | None = None) -> None:
        self.tasks: dict[str, Entry] = {}
        self.running: dict[str, AtWork] = {}
        self.ended: dict[str, str] = {}
        self.questions: dict[str, tuple[str, str]] = {}
        self.pauses: dict[str, str] = {}
        self.stops: dict[str, str] = {}  # why nothing new begins
        self.final = ""  # what the final checks do
        self.spend: dict[str, Spend] = {}
        self.total = Spend()
        self.started: float | None = None
        self.slots = 1
        self._expected = dict(expected or {})
        self._done: dict[str, tuple[float, float]] = {}  # minutes that a completed task took, and was thought to take
        self._left: tuple[float, float | None] | None = None

    def take(self, entry: Entry, now: float) -> None:
        """Let an entry change the picture."""
        if self.started is None:
            self.started = now
        if entry.event != "waiting":
            self.stops.pop("waiting", None)
        self.final = ""
        if not entry.task and entry.event not in OF_THE_RUN:
            return
        if entry.event in OF_A_TASK:
            self._work(entry, now)
        handle = EVENTS.get(entry.event)
        if handle:
            handle(self, entry, now)

    def elapsed(self, now: float) -> float:
        return max(now - self.started, 0.0) if self.started is not None else 0.0

    def called(self, ident: str) -> str:
        """A task by its plan's number, our id and its name; an agent of a workflow by its name alone."""
        if is_member(ident):
            return ident
        known = self.tasks.get(ident) or Entry({})
        number, name = known.word("number"), known.text("name")
        return harmless_line(f"{number} ({ident}) {name}" if number and number != ident else f"{ident} {name}")

    def count(self, status: str) -> int:
        return sum(each == status for each in self.ended.values())

    def waiting(self) -> list[str]:
        """The tasks that nobody has begun or that have to begin again, and that nobody is asked about."""
        return [ident for ident in self.tasks if ident not in self.running and ident not in self.ended]

    def waits_for(self, ident: str) -> list[str]:
        """What a task still needs."""
        return [each for each in self.tasks[ident].texts("needs") if self.ended.get(each) != "completed"]

    def left(self, now: float) -> float | None:
        """Seconds until the end by forecast; None where a task's time is not known."""
        if self._left is None or now - self._left[0] >= FORECAST_EVERY:
            self._left = (now, self._forecast(now))
        since, seconds = self._left
        return None if seconds is None else max(seconds - (now - since), 0.0)

    def _forecast(self, now: float) -> float | None:
        minutes = {ident: self._minutes(ident, now) for ident in self._open()}
        known = {ident: each for ident, each in minutes.items() if each is not None}
        if not known or len(known) != len(minutes):
            return None
        needs = {ident: [each for each in self.tasks[ident].texts("needs") if each in known] for ident in known}
        return max(end for _, _, end in graph.schedule(needs, known, workers=self.slots)) * 60

    def _open(self) -> list[str]:
        """The tasks that can still be completed without anybody's act."""
        stuck = {ident for ident, status in self.ended.items() if status != "completed"}
        found: list[str] = []
        for wave in graph.waves(self._needs()):
            for ident in wave:
                if stuck.intersection(self.tasks[ident].texts("needs")):
                    stuck.add(ident)
                elif ident not in self.ended:
                    found.append(ident)
        return found

    def _needs(self) -> dict[str, list[str]]:
        return {
            ident: [each for each in task.texts("needs") if each in self.tasks] for ident, task in self.tasks.items()
        }

    def _minutes(self, ident: str, now: float) -> float | None:
        expected = self._thought(ident)
        if not expected:
            return None
        expected *= self._pace()
        if ident not in self.running:
            return expected
        return max(expected - (now - self.running[ident].since) / 60, expected * AT_LEAST)

    def _thought(self, ident: str) -> float | None:
        return self._expected.get(ident) or self.tasks[ident].number("estimated_minutes")

    def _pace(self) -> float:
        """How much longer than thought this run's own tasks take, as soon as some have told."""
        if len(self._done) < ENOUGH:
            return 1.0
        return sum(took for took, _ in self._done.values()) / sum(thought for _, thought in self._done.values())

    def _work(self, entry: Entry, now: float) -> None:
        """A word from a task that is worked on, whether its start was seen or not."""
        self.tasks.setdefault(entry.task, Entry({"id": entry.task}))
        work = self.running.setdefault(entry.task, AtWork(now))
        work.iteration = max(work.iteration, entry.count("iteration"))
        self.ended.pop(entry.task, None)

    def _run_started(self, entry: Entry, now: float) -> None:
        self.slots = max(entry.entry("settings").count("max_concurrency"), 1)
        self.running.clear()
        for task in entry.entries("tasks"):
            ident = task.text("id")
            if ident:
                self.tasks[ident] = task
            status = task.text("status")
            if ident and status in ENDINGS:
                self.ended[ident] = ENDINGS[status]
            elif ident and status:  # answered or sent on between two calls
                self.ended.pop(ident, None)
                self.questions.pop(ident, None)
        self._left = None

    def _turn_started(self, entry: Entry, now: float) -> None:
        self.running[entry.task].step = " on ".join(filter(None, (entry.text("role"), entry.text("executor"))))
        self.pauses.pop(entry.text("executor"), None)
        self.stops.pop("breaker", None)

    def _turn_ended(self, entry: Entry, now: float) -> None:
        cost = entry.number("cost_usd")
        self.spend.setdefault(entry.task, Spend()).add(cost)
        self.total.add(cost)

    def _step(self, entry: Entry, now: float) -> None:
        self.running[entry.task].step = entry.text("text")

    def _check(self, entry: Entry, now: float) -> None:
        self.running[entry.task].step = f"checked: {entry.text('command')}"

    def _final_step(self, entry: Entry, now: float) -> None:
        self.final = entry.text("text")
        self._left = None  # no task is open any more

    def _question(self, entry: Entry, now: float) -> None:
        if self.ended.get(entry.task) == "completed":  # a final check reopened it
            self.ended[entry.task] = "asking"
        self.questions[entry.task] = (entry.word("number"), entry.text("text"))

    def _answered(self, entry: Entry, now: float) -> None:
        self.questions.pop(entry.task, None)
        if self.ended.get(entry.task) == "asking":
            del self.ended[entry.task]

    def _task_ended(self, entry: Entry, now: float) -> None:
        self.tasks.setdefault(entry.task, Entry({"id": entry.task}))
        work = self.running.pop(entry.task, None)
        status = ENDINGS.get(entry.text("status"))
        thought = self._thought(entry.task)
        if status == "completed" and work and thought:
            self._done[entry.task] = ((now - work.since) / 60, thought)
        if status:
            self.ended[entry.task] = status
        if status != "asking":
            self.questions.pop(entry.task, None)

    def _limit(self, entry: Entry, now: float) -> None:
        self.pauses[entry.text("executor")] = stop_of(entry)

    def _stop(self, entry: Entry, now: float) -> None:
        self.stops[entry.event] = stop_of(entry)


def stop_of(entry: Entry) -> str:
    """Why something does not go on, and until when: `claude-code pauses until 14:30: usage limit`."""
    subject = {"limit": f"{entry.text('executor')} pauses", "waiting": "waiting"}.get(entry.event, "nothing new starts")
    reason = entry.text("reason")
    if entry.event == "breaker":
        reason = f"{entry.count('failures')} starts failed in a row"
    until = entry.number("until")
    return subject + (f" until {clock.local(until)}" if until else "") + (f": {reason}" if reason else "")


OF_THE_RUN = frozenset({"run_started", "final_step", "limit", "breaker", "budget", "waiting"})
OF_A_TASK = frozenset(
    {
        "task_started",
        "turn_started",
        "turn_ended",
        "step",
        "collected",
        "check",
        "reviewed",
        "sent_back",
        "merged",
        "escalated",
        "resolved",
        "verification",
    }
)
EVENTS: dict[str, Callable[[Scene, Entry, float], None]] = {
    "run_started": Scene._run_started,
    "turn_started": Scene._turn_started,
    "turn_ended": Scene._turn_ended,
    "step": Scene._step,
    "check": Scene._check,
    "final_step": Scene._final_step,
    "question": Scene._question,
    "answered": Scene._answered,
    "task_ended": Scene._task_ended,
    "limit": Scene._limit,
    "breaker": Scene._stop,
    "budget": Scene._stop,
    "waiting": Scene._stop,
}
