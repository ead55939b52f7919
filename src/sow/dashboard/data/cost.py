"""Adds up costs by agent, executor and run. Turns without a known cost are counted, and never as zero."""

from __future__ import annotations

import os

from sow.dashboard.data.task_cache import stamp
from sow.domain.ids import is_task_id
from sow.errors import SowError
from sow.reports import crew_rows, totals
from sow.reports.run_history import History
from sow.reports.turn_records import session_turns
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sow.dashboard.data.run_cache import RunCache
    from sow.reports.run_history import TurnRecord
    from sow.store.files.checkout_home import Home
    from sow.store.runs.run_folder import RunFolder

    Row = dict[str, Any]
    Window = tuple[str, str]

OUTSIDE = "outside of runs"
MOST_TASKS = 2000  # whose sessions are read for turns outside of runs
SUMS = ("cost_usd", "input_tokens", "output_tokens")


class Sums:
    """The sums of one run's turns."""

    __slots__ = ("agents", "executors", "stamp", "total")

    def __init__(self, turns: Sequence[TurnRecord], mark: Any) -> None:
        self.agents = groups(turns, lambda turn: turn.role)
        self.executors = groups(turns, lambda turn: turn.executor)
        self.total = _row("total", turns)
        self.stamp = mark


class Costs:
    """The costs of one checkout; a run is added up again only if its journal changed."""

    __slots__ = ("home", "run_cache", "sums_by_run")

    def __init__(self, run_cache: RunCache) -> None:
        self.home = run_cache.home
        self.run_cache = run_cache
        self.sums_by_run: dict[str, Sums] = {}

    def document(self) -> dict[str, Any]:
        """Returns all rows, the most expensive first."""
        self.run_cache.look()
        folders = self.run_cache.listed()
        sums = self.sums_by_run = {folder.id: self._sums(folder) for folder in folders}
        outside = Sums(_turns_outside_runs(self.home, folders), None)
        parts = [*sums.values(), outside]
        runs = [
            {**sums[folder.id].total, "name": folder.id, "title": folder.run["name"]} for folder in reversed(folders)
        ]
        runs += [{**outside.total, "name": OUTSIDE, "title": OUTSIDE}] if outside.total["turns"] else []
        return {
            "by_agent": _merge_by_name([row for part in parts for row in part.agents]),
            "by_executor": _merge_by_name([row for part in parts for row in part.executors]),
            "by_run": runs,
            "total": _sum_rows("total", [part.total for part in parts]),
        }

    def _sums(self, folder: RunFolder) -> Sums:
        mark = stamp(folder.journal_path)
        sums = self.sums_by_run.get(folder.id)
        return sums if sums is not None and sums.stamp == mark else Sums(_turns(folder), mark)


def _turns(folder: RunFolder) -> list[TurnRecord]:
    try:
        return History(folder.journal("run_started", "turn_started", "turn_ended")).turns
    except SowError:  # the run's report says what is wrong with the journal
        return []


def _turns_outside_runs(home: Home, folders: Sequence[RunFolder]) -> list[TurnRecord]:
    of_tasks: dict[str, list[Window]] = {}
    of_crews: list[Window] = []  # verifiers and architects are not in the plan, but work in its runs
    for folder in folders:
        window = (folder.run["started_at"], folder.run.get("ended_at", "9"))
        if crew_rows.is_workflow_run([plan["path"] for plan in folder.run["plans"]]):
            of_crews.append(window)
        for task in folder.run["tasks"]:
            of_tasks.setdefault(task, []).append(window)
    turns = []
    for name in _names(f"{home.sow}/local/sessions")[:MOST_TASKS]:
        windows = of_tasks.get(name, []) if is_task_id(name) else of_crews
        turns += [turn for turn in _recorded(home, name) if not any(start <= turn.at <= end for start, end in windows)]
    return turns


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _recorded(home: Home, task: str) -> list[TurnRecord]:
    try:
        return [turn for record in sessions.records(TaskFolder(home, "", task)) for turn in session_turns(record)]
    except (SowError, OSError):  # the task's page says what is wrong with the records
        return []


def groups(turns: Sequence[TurnRecord], name_of: Callable[[TurnRecord], str]) -> list[Row]:
    """Returns one row per name."""
    by_name: dict[str, list[TurnRecord]] = {}
    for turn in turns:
        by_name.setdefault(name_of(turn) or "unknown", []).append(turn)
    return [_row(name, group) for name, group in by_name.items()]


def _row(name: str, turns: Sequence[TurnRecord]) -> Row:
    money = totals.cost_and_tokens(turns)
    facts = {"name": name, "turns": len(turns), "seconds": totals.seconds_of(turns)}
    return {**facts, "untold": money["cost_unknown_turns"], **{key: money[key] for key in SUMS}}


def _merge_by_name(rows: Sequence[Row]) -> list[Row]:
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    merged = [_sum_rows(name, group) for name, group in by_name.items()]
    return sorted(merged, key=lambda row: (-(row["cost_usd"] or 0.0), -row["seconds"], row["name"]))


def _sum_rows(name: str, rows: Sequence[Row]) -> Row:
    """Adds rows up to one; a value that no row has stays None."""
    columns = {key: [row[key] for row in rows if row[key] is not None] for key in SUMS}
    sums = {key: round(sum(values), 6) if values else None for key, values in columns.items()}
    counts = {key: sum(row[key] for row in rows) for key in ("turns", "untold")}
    return {"name": name, **counts, "seconds": round(sum(row["seconds"] for row in rows), 3), **sums}
