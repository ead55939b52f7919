"""Estimates how long a run still takes, from the estimates of its tasks, finished tasks and its own speed."""

from __future__ import annotations

from collections.abc import Mapping

from sow.domain.plans import graph
from sow.domain.plans.graph import GUESSED, Forecast
from sow.errors import SowError
from sow.reports.run_history import RunHistory
from sow.reports.run_records import TaskRecord
from sow.store.projects import past_tasks, task_folder
from sow.store.projects import project as projects
from sow.store.runs.run_folder import RunFolder

FORECAST_EVERY = 5.0  # seconds
AT_LEAST = 0.1  # minimum remaining share of a task that takes longer than expected
ENOUGH = 2  # completed tasks needed to correct the estimates


def expected_minutes(folder: RunFolder) -> dict[str, float]:
    """Returns minutes by task. Mere guesses and tasks that cannot be read are left out."""
    home = folder.home
    try:
        tasks = task_folder.load_readable_or_raise(home, projects.load(home), folder.run["tasks"])
    except SowError:
        return {}
    forecast = Forecast(past_tasks.finished_tasks(home))
    forecasts = {task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")) for task in tasks}
    return {task_id: expectation.minutes for task_id, expectation in forecasts.items() if expectation.origin != GUESSED}


class RemainingTime:
    """The forecast for one run, which is made again every few seconds."""

    def __init__(self, history: RunHistory, expected: Mapping[str, float] | None = None) -> None:
        self.history = history
        self.expected = expected or {}
        self._made_for = -1  # the tasks as a whole for which the forecast was made
        self._made_at = 0.0
        self._forecast: float | None = None

    def seconds_left(self, now: float) -> float | None:
        """Returns the expected seconds until the end, or None if the time of a task is unknown."""
        if self._made_for != self.history.schedules or now - self._made_at >= FORECAST_EVERY:
            self._made_for, self._made_at, self._forecast = self.history.schedules, now, self._seconds(now)
        return None if self._forecast is None else max(self._forecast - (now - self._made_at), 0.0)

    def _seconds(self, now: float) -> float | None:
        factor = self._estimate_factor()
        minutes = {ident: self._minutes(ident, task, factor, now) for ident, task in self._open().items()}
        durations = {ident: value for ident, value in minutes.items() if value is not None}
        if not durations or len(durations) != len(minutes):
            return None
        needs = {ident: needs for ident, needs in self._needs(durations).items() if ident in durations}
        return max(end for _, _, end in graph.schedule(needs, durations, workers=self.history.slots)) * 60

    def _needs(self, idents: Mapping[str, object]) -> dict[str, list[str]]:
        """Returns the known dependencies of each task."""
        tasks = self.history.tasks.items()
        return {ident: [need for need in task.start_entry.texts("needs") if need in idents] for ident, task in tasks}

    def _open(self) -> dict[str, TaskRecord]:
        """Returns the tasks that can still be completed without help."""
        tasks = self.history.tasks
        stuck = {ident for ident, task in tasks.items() if task.ending not in ("", "completed")}
        open_tasks = {}
        for ident in (ident for wave in graph.waves(self._needs(tasks)) for ident in wave):
            if stuck.intersection(tasks[ident].start_entry.texts("needs")):
                stuck.add(ident)
            elif not tasks[ident].ending:
                open_tasks[ident] = tasks[ident]
        return open_tasks

    def _minutes(self, ident: str, task: TaskRecord, factor: float, now: float) -> float | None:
        expected = (self._estimate(ident, task) or 0.0) * factor
        if not expected or ident not in self.history.running:
            return expected or None
        return max(expected - (now - task.since) / 60, expected * AT_LEAST)

    def _estimate(self, ident: str, task: TaskRecord) -> float | None:
        return self.expected.get(ident) or task.start_entry.number("estimated_minutes")

    def _estimate_factor(self) -> float:
        """Returns how much longer this run's tasks take than expected, once enough are completed."""
        durations = [
            (task.minutes, estimate)
            for ident, task in self.history.tasks.items()
            if task.minutes is not None and (estimate := self._estimate(ident, task))
        ]
        if len(durations) < ENOUGH:
            return 1.0
        return sum(actual for actual, _ in durations) / sum(estimate for _, estimate in durations)
