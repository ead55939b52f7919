"""Collects the timeline of a run: when each task was worked on or waited, as spans, marks and changes of status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sow.reports.run_history import RunHistory
from sow.reports.run_records import Span, TimelineDelta
from sow.store.runs.run_folder import JournalEntry

MOST_STEPS = 2000  # tasks; if a run has more, only changes of status are listed


class TimelineBuilder:
    """Adds up what the entries of a journal add to the timeline."""

    def __init__(self, history: RunHistory) -> None:
        self.history = history
        self.spans: dict[int, Span] = {}
        self.parts: dict[str, list[Any]] = {"marks": [], "changes": [], "gaps": []}
        self._statuses: dict[str, str] = {}

    def read(self, entries: Iterable[Mapping[str, Any]]) -> TimelineBuilder:
        """Takes all entries."""
        for entry in entries:
            self._add(self.history.add(JournalEntry(entry)))
        return self

    def _add(self, delta: TimelineDelta) -> None:
        self.spans |= {span["id"]: span for span in delta.spans}
        self.parts["marks"] += delta.marks
        self.parts["gaps"] += delta.gaps
        for change in delta.changes:
            if len(self.history.tasks) <= MOST_STEPS or self._statuses.get(change[1]) != change[2]:
                self.parts["changes"].append(change)
            self._statuses[change[1]] = change[2]

    def document(self, *, run: str, live: bool, now: float | None) -> dict[str, Any]:
        """Returns the whole timeline. `now` is the current time of a live run."""
        history = self.history
        unfinished = [] if live else history.unfinished_spans()
        spans = self.spans | {span["id"]: span for span in unfinished}
        lanes = [
            {"id": ident, "name": task.name, "plan_id": task.number or None} for ident, task in history.tasks.items()
        ]
        return {
            "run": run,
            "from": history.started or 0.0,
            "to": history.moment,
            "now": now if live else None,
            "lanes": lanes,
            "spans": list(spans.values()),
            **self.parts,
        }


def document(entries: Iterable[Mapping[str, Any]], *, run: str, live: bool, now: float | None = None) -> dict[str, Any]:
    """Returns the timeline of a run from its journal."""
    return TimelineBuilder(RunHistory()).read(entries).document(run=run, live=live, now=now)
