"""Builds the pages of runs: the list, a report, a timeline, and journal lines page by page."""

from __future__ import annotations

import time

from sow.dashboard import paging
from sow.dashboard.run_scene import line_of
from sow.dashboard.stamps import stamp
from sow.domain.entry import Entry
from sow.engine import report, report_totals, timeline
from sow.engine.history import History
from sow.engine.scene import Scene
from sow.errors import SowError
from sow.store import runs
from sow.store.journal_tail import JournalTail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.dashboard.run_shelf import RunShelf
    from sow.engine.standpoint import Standpoint
    from sow.store.runs import RunFolder

    Document = dict[str, Any]

MOST_LINES = 1000


class RunPages:
    """The pages of a checkout's runs; the sums of a run are kept until its journal changes."""

    __slots__ = ("known", "shelf", "standpoint")

    def __init__(self, shelf: RunShelf, standpoint: Standpoint) -> None:
        self.shelf = shelf
        self.standpoint = standpoint
        self.known: dict[str, tuple[Any, Document]] = {}

    def listed(self) -> Document:
        """Returns every run with its sums, the newest first."""
        self.shelf.look()
        self.known = {folder.id: self._glance(folder) for folder in reversed(self.shelf.listed())}
        return {"runs": [document for _, document in self.known.values()]}

    def _glance(self, folder: RunFolder) -> tuple[Any, Document]:
        current, cached = mark(folder), self.known.get(folder.id)
        if cached is not None and cached[0] == current:
            return cached
        return current, {**report.glance(folder), **_sums(folder)}

    def report(self, folder: RunFolder) -> Document:
        """Returns the report of one run."""
        return report.facts(folder.home, folder, self.standpoint)

    def timeline(self, folder: RunFolder) -> Document:
        """Returns the timeline of one run."""
        live = runs.is_live(folder)
        tail = JournalTail(folder.journal_path)
        document = timeline.document(_entries(tail), run=folder.id, live=live, now=time.time())
        return {**document, "next": tail.place}

    def entries(self, folder: RunFolder, start: str, limit: str) -> Document:
        """Returns some journal lines from an offset; a negative offset counts from the end."""
        max_lines = min(paging.whole(limit, "limit", MOST_LINES), MOST_LINES)
        return _page(folder, paging.place(start), max_lines)


def mark(folder: RunFolder) -> tuple[Any, ...]:
    """Returns a value that changes when a run's files change, or its process starts or ends."""
    return (stamp(folder.journal_path), stamp(f"{folder.folder}/state.yaml"), runs.is_live(folder))


def _sums(folder: RunFolder) -> Document:
    """Returns duration, cost and estimate of a run, from its journal only."""
    try:
        history = History(folder.journal())
    except SowError:
        history = History(())
    total = report_totals.totals(history, (), history.turns)
    minutes = [task.plan.number("estimated_minutes") for task in history.tasks.values()]
    estimates = [estimate for estimate in minutes if estimate is not None]
    sums = {key: total[key] for key in ("speed_up", "cost_usd", "input_tokens", "output_tokens")}
    estimate = round(sum(estimates), 2) if estimates else None
    return {**sums, "seconds": total["wall_seconds"], "estimated_minutes": estimate}


def _entries(tail: JournalTail) -> Iterator[Any]:
    """Yields all entries of a journal, in pieces."""
    while True:
        yield from tail.take() or ()
        if not tail.more:
            return


def _page(folder: RunFolder, start: int, max_lines: int) -> Document:
    tail, scene = JournalTail(folder.journal_path, start), Scene()
    lines: list[Document] = []
    while True:
        for end, data in tail.take_placed() or ():
            entry = Entry(data)
            scene.take(entry, 0.0)
            line = line_of(folder.id, entry, scene)
            if line:
                lines.append(line)
            if len(lines) >= max_lines:
                return {"lines": lines, "next": end, "more": True}
        if not tail.more:
            return {"lines": lines, "next": tail.place, "more": False}
