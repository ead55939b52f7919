"""Builds the pages of runs: the list, a report, a timeline, and journal lines page by page."""

from __future__ import annotations

import time

from sow.dashboard.data import paging
from sow.dashboard.data.run_follower import entry_line
from sow.dashboard.data.task_cache import stamp
from sow.domain.runs.journal_entry import JournalEntry
from sow.errors import SowError
from sow.reports import run_report, timeline, totals
from sow.reports.live_run import LiveRun
from sow.reports.run_history import History
from sow.store.runs import run_folder
from sow.store.runs.journal import JournalTail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.dashboard.data.run_cache import RunCache
    from sow.reports.hint_context import HintContext
    from sow.store.runs.run_folder import RunFolder

    Document = dict[str, Any]

MOST_LINES = 1000


class RunPages:
    """The pages of a checkout's runs; the sums of a run are kept until its journal changes."""

    __slots__ = ("hint_context", "run_cache", "sums_by_run")

    def __init__(self, run_cache: RunCache, hint_context: HintContext) -> None:
        self.run_cache = run_cache
        self.hint_context = hint_context
        self.sums_by_run: dict[str, tuple[Any, Document]] = {}

    def listed(self) -> Document:
        """Returns every run with its sums, the newest first."""
        self.run_cache.look()
        self.sums_by_run = {folder.id: self._summary(folder) for folder in reversed(self.run_cache.listed())}
        return {"runs": [document for _, document in self.sums_by_run.values()]}

    def _summary(self, folder: RunFolder) -> tuple[Any, Document]:
        current, cached = fingerprint(folder), self.sums_by_run.get(folder.id)
        if cached is not None and cached[0] == current:
            return cached
        return current, {**run_report.run_summary(folder), **_sums(folder)}

    def report(self, folder: RunFolder) -> Document:
        """Returns the report of one run."""
        return run_report.report_data(folder.home, folder, self.hint_context)

    def timeline(self, folder: RunFolder) -> Document:
        """Returns the timeline of one run."""
        live = run_folder.is_live(folder)
        tail = JournalTail(folder.journal_path)
        document = timeline.document(_entries(tail), run=folder.id, live=live, now=time.time())
        return {**document, "next": tail.line_start}

    def entries(self, folder: RunFolder, start: str, limit: str) -> Document:
        """Returns some journal lines from an offset; a negative offset counts from the end."""
        max_lines = min(paging.whole_number(limit, "limit", MOST_LINES), MOST_LINES)
        return _page(folder, paging.parse_offset(start), max_lines)


def fingerprint(folder: RunFolder) -> tuple[Any, ...]:
    """Returns a value that changes when a run's files change, or its process starts or ends."""
    return (stamp(folder.journal_path), stamp(f"{folder.folder}/state.yaml"), run_folder.is_live(folder))


def _sums(folder: RunFolder) -> Document:
    """Returns duration, cost and estimate of a run, from its journal only."""
    try:
        history = History(folder.journal())
    except SowError:
        history = History(())
    total = totals.totals(history, (), history.turns)
    minutes = [task.start_entry.number("estimated_minutes") for task in history.tasks.values()]
    estimates = [estimate for estimate in minutes if estimate is not None]
    sums = {key: total[key] for key in ("speed_up", "cost_usd", "input_tokens", "output_tokens")}
    estimate = round(sum(estimates), 2) if estimates else None
    return {**sums, "seconds": total["wall_seconds"], "estimated_minutes": estimate}


def _entries(tail: JournalTail) -> Iterator[Any]:
    while True:
        yield from tail.read_new() or ()
        if not tail.has_more:
            return


def _page(folder: RunFolder, start: int, max_lines: int) -> Document:
    tail, live_run = JournalTail(folder.journal_path, start), LiveRun()
    lines: list[Document] = []
    while True:
        for end, data in tail.read_new_with_offsets() or ():
            entry = JournalEntry(data)
            live_run.add(entry, 0.0)
            line = entry_line(folder.id, entry, live_run)
            if line:
                lines.append(line)
            if len(lines) >= max_lines:
                return {"lines": lines, "next": end, "more": True}
        if not tail.has_more:
            return {"lines": lines, "next": tail.line_start, "more": False}
