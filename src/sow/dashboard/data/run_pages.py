"""Builds the pages of runs: the list, a report, a timeline, journal lines page by page, and the costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sow.dashboard.data import paging
from sow.dashboard.data.runs import RunCache, entry_line
from sow.domain.inputs import is_task_id
from sow.errors import SowError
from sow.reports import run_report, task_rows, timeline
from sow.reports.next_steps import HintContext
from sow.reports.run_history import RunHistory, read_history
from sow.reports.run_records import TurnRecord
from sow.reports.task_rows import session_turns
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import FileCache, fingerprint
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import JournalEntry, JournalTail, RunFolder

Document = dict[str, Any]
Window = tuple[str, str]

MOST_LINES = 1000
OUTSIDE = "outside of runs"
MOST_TASKS = 2000  # whose sessions are read for turns outside of runs
SUMS = ("cost_usd", "input_tokens", "output_tokens")


def run_mark(folder: RunFolder) -> tuple[Any, ...]:
    """Returns a value that changes when a run's files change, or its process starts or ends."""
    state = fingerprint(f"{folder.folder}/state.yaml")
    return (fingerprint(folder.journal_path), state, run_folder.is_live(folder))


class RunPages:
    """The pages of a checkout's runs; the sums of a run are kept until its files change."""

    def __init__(self, run_cache: RunCache, hint_context: HintContext) -> None:
        self.run_cache = run_cache
        self.hint_context = hint_context
        self.summaries: FileCache[Document] = FileCache()
        self.costs: FileCache[Document] = FileCache()

    def page_of_runs(self) -> Document:
        """Returns every run with its sums, the newest first."""
        folders = self._folders(self.summaries)
        return {"runs": [self.summaries.current(run.id, run_mark(run), partial(_summary, run)) for run in folders]}

    def _folders(self, cache: FileCache[Document]) -> list[RunFolder]:
        """Returns the runs, the newest first, and drops what is cached of other runs."""
        self.run_cache.refresh()
        folders = self.run_cache.all_folders()[::-1]
        cache.keep_only(folder.id for folder in folders)
        return folders

    def report(self, folder: RunFolder) -> Document:
        """Returns the report of one run."""
        return run_report.report_data(folder.home, folder, self.hint_context)

    def timeline(self, folder: RunFolder) -> Document:
        """Returns the timeline of one run."""
        live = run_folder.is_live(folder)
        tail = JournalTail(folder.journal_path)
        document = timeline.document(tail.read_to_end(), run=folder.id, live=live, now=time.time())
        return {**document, "next": tail.line_start}

    def entries(self, folder: RunFolder, start: str, limit: str) -> Document:
        """Returns some journal lines from an offset; a negative offset counts from the end."""
        max_lines = min(paging.whole_number(limit, "limit", MOST_LINES), MOST_LINES)
        return _page(folder, paging.parse_offset(start), max_lines)

    def cost(self) -> Document:
        """Returns the costs by agent, executor and run, the most expensive first."""
        folders = self._folders(self.costs)
        sums = [self.costs.current(run.id, fingerprint(run.journal_path), partial(_costs, run)) for run in folders]
        outside = _cost_sums(_turns_outside_runs(self.run_cache.home, folders))
        rows = [
            {**part["total"], "name": run.id, "title": run.run["name"]} for run, part in zip(folders, sums, strict=True)
        ]
        rows += [{**outside["total"], "name": OUTSIDE, "title": OUTSIDE}] if outside["total"]["turns"] else []
        parts = [*sums, outside]
        return {
            "by_agent": _merge_by_name([row for part in parts for row in part["agents"]]),
            "by_executor": _merge_by_name([row for part in parts for row in part["executors"]]),
            "by_run": rows,
            "total": _sum_rows("total", [part["total"] for part in parts]),
        }


def _history(folder: RunFolder, *events: str) -> RunHistory:
    try:
        return read_history(folder, *events)
    except SowError:  # the run's report says what is wrong with the journal
        return RunHistory()


def _summary(folder: RunFolder) -> Document:
    """Returns the outcomes, duration, cost and estimate of a run."""
    history = _history(folder)
    total = task_rows.totals(history, (), history.turns)
    minutes = [task.start_entry.number("estimated_minutes") for task in history.tasks.values()]
    estimates = [estimate for estimate in minutes if estimate is not None]
    return {
        **run_report.run_summary(folder, history),
        **{key: total[key] for key in ("speed_up", *SUMS)},
        "seconds": total["wall_seconds"],
        "estimated_minutes": round(sum(estimates), 2) if estimates else None,
    }


def _page(folder: RunFolder, start: int, max_lines: int) -> Document:
    tail, history = JournalTail(folder.journal_path, start), RunHistory()
    lines: list[Document] = []
    while True:
        for end, data in tail.read_new_with_offsets() or ():
            entry = JournalEntry(data)
            history.add(entry)
            line = entry_line(folder.id, entry, history)
            if line:
                lines.append(line)
            if len(lines) >= max_lines:
                return {"lines": lines, "next": end, "more": True}
        if not tail.has_more:
            return {"lines": lines, "next": tail.line_start, "more": False}


def _costs(folder: RunFolder) -> Document:
    return _cost_sums(_history(folder, "run_started", "turn_started", "turn_ended").turns)


def _cost_sums(turns: Sequence[TurnRecord]) -> Document:
    """Returns the sums of some turns; turns without a known cost are counted, and never as zero."""
    return {
        "agents": _groups(turns, lambda turn: turn.role),
        "executors": _groups(turns, lambda turn: turn.executor),
        "total": _row("total", task_rows.turn_totals(turns)),
    }


def _turns_outside_runs(home: Home, folders: Sequence[RunFolder]) -> list[TurnRecord]:
    of_tasks: dict[str, list[Window]] = {}
    of_crews: list[Window] = []  # verifiers and architects are not in the plan, but work in its runs
    for folder in folders:
        window = (folder.run["started_at"], folder.run.get("ended_at", "9"))
        if run_folder.is_workflow_run(folder.run):
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


def _groups(turns: Sequence[TurnRecord], name_of: Callable[[TurnRecord], str]) -> list[Document]:
    return [_row(row["name"], row) for row in task_rows.group_totals(turns, name_of)]


def _row(name: str, total: Document) -> Document:
    facts = {"name": name, "turns": total["turns"], "seconds": total["work_seconds"]}
    return {**facts, **{key: total[key] for key in ("cost_unknown_turns", *SUMS)}}


def _merge_by_name(rows: Sequence[Document]) -> list[Document]:
    by_name: dict[str, list[Document]] = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    merged = [_sum_rows(name, group) for name, group in by_name.items()]
    return sorted(merged, key=lambda row: (-(row["cost_usd"] or 0.0), -row["seconds"], row["name"]))


def _sum_rows(name: str, rows: Sequence[Document]) -> Document:
    """Adds rows up to one; a value that no row has stays None."""
    columns = {key: [row[key] for row in rows if row[key] is not None] for key in SUMS}
    sums = {key: round(sum(values), 6) if values else None for key, values in columns.items()}
    counts = {key: sum(row[key] for row in rows) for key in ("turns", "cost_unknown_turns")}
    return {"name": name, **counts, "seconds": round(sum(row["seconds"] for row in rows), 3), **sums}
