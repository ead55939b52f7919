"""Collects what the entries of a run's journal add to its timeline: spans, marks, changes of status and gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Span = dict[str, Any]

LONGEST = 400  # characters of the text of a span or a mark


@dataclass(slots=True)
class TimelineDelta:
    """What one entry adds to the timeline. A span replaces an earlier one with the same number."""

    spans: list[Span] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    changes: list[tuple[float, str, str, str]] = field(default_factory=list)
    gaps: list[dict[str, float]] = field(default_factory=list)


class TimelineRecorder:
    """Records the spans and marks of one entry after the other."""

    def __init__(self) -> None:
        self.delta = TimelineDelta()  # of the last entry
        self.moment = 0.0  # time of the last entry
        self._count = 0

    def open_span(self, kind: str, task: str | None, begin: float, **fields: Any) -> Span:
        """Starts a span, which stays open until it is closed."""
        self._count += 1
        defaults = {"role": "", "executor": "", "from": begin, "to": None, "outcome": "", "text": ""}
        span: Span = {"id": self._count, "task": task, "kind": kind, **defaults, **fields}
        span["text"] = span["text"][:LONGEST]
        self.delta.spans.append(dict(span))
        return span

    def update_span(self, span: Span) -> None:
        """Records a change of an open span."""
        self.delta.spans.append(dict(span))

    def close_span(self, span: Span, moment: float, outcome: str) -> None:
        span |= {"to": max(moment, span["from"]), "outcome": outcome or span["outcome"]}
        self.delta.spans.append(dict(span))

    def mark(self, kind: str, task: str | None, text: str) -> None:
        self.delta.marks.append({"at": self.moment, "task": task, "kind": kind, "text": text[:LONGEST]})

    def change(self, ident: str, status: str, step: str) -> None:
        """Records the status and the current step of a task."""
        self.delta.changes.append((self.moment, ident, status, step[:LONGEST]))
