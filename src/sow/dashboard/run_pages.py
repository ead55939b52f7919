"""The pages of runs: the list, one report, one timeline, and the lines of a journal page by page."""

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
    """The runs of a checkout; what was summed up once is kept until the journal is another, or the run is gone."""

    __slots__ = ("known", "shelf", "standpoint")

    def __init__(self, shelf: RunShelf, standpoint: Standpoint) -> None:
        self.shelf = shelf
        self.standpoint = standpoint
        self.known: dict[str, tuple[Any, Document]] = {}

    def listed(self) -> Document:
        """Every run with its sums, the newest first."""
        self.shelf.look()
        self.known = {folder.id: self._glance(folder) for folder in reversed(self.shelf.listed())}
        return {"runs": [found for _, found in self.known.values()]}

    def _glance(self, folder: RunFolder) -> tuple[Any, Document]:
        now, known = mark(folder), self.known.get(folder.id)
        if known is not None and known[0] == now:
            return known
        return now, {**report.glance(folder), **_sums(folder)}

    def report(self, folder: RunFolder) -> Document:
        """All that is known of one run."""
        return report.facts(folder.home, folder, self.standpoint)

    def timeline(self, folder: RunFolder) -> Document:
        """Who worked when."""
        live = runs.is_live(folder)
        tail = JournalTail(folder.journal_path)
        found = timeline.document(_entries(tail), run=folder.id, live=live, now=time.time())
        return {**found, "next": tail.place}

    def entries(self, folder: RunFolder, start: str, limit: str) -> Document:
        """Some lines of the journal, from a place in it; a negative place counts from its end."""
        most = min(paging.whole(limit, "limit", MOST_LINES), MOST_LINES)
        return _page(folder, paging.place(start), most)


def mark(folder: RunFolder) -> tuple[Any, ...]:
    """What is another one as soon as a run's own files are, or its process comes or goes."""
    return (stamp(folder.journal_path), stamp(f"{folder.folder}/state.yaml"), runs.is_live(folder))


def _sums(folder: RunFolder) -> Document:
    """What a run took and cost, by its journal alone."""
    try:
        history = History(folder.journal())
    except SowError:
        history = History(())
    total = report_totals.totals(history, (), history.turns)
    minutes = [each.plan.number("estimated_minutes") for each in history.tasks.values()]
    known = [each for each in minutes if each is not None]
    sums = {key: total[key] for key in ("speed_up", "cost_usd", "input_tokens", "output_tokens")}
    estimate = round(sum(known), 2) if known else None
    return {**sums, "seconds": total["wall_seconds"], "estimated_minutes": estimate}


def _entries(tail: JournalTail) -> Iterator[Any]:
    """All entries of a journal, in pieces."""
    while True:
        yield from tail.take() or ()
        if not tail.more:
            return


def _page(folder: RunFolder, start: int, most: int) -> Document:
    tail, scene = JournalTail(folder.journal_path, start), Scene()
    lines: list[Document] = []
    while True:
        for end, data in tail.take_placed() or ():
            entry = Entry(data)
            scene.take(entry, 0.0)
            line = line_of(folder.id, entry, scene)
            if line:
                lines.append(line)
            if len(lines) >= most:
                return {"lines": lines, "next": end, "more": True}
        if not tail.more:
            return {"lines": lines, "next": tail.place, "more": False}
