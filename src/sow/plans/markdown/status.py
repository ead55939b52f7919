"""Finds where the status of a task is in Markdown, or where to insert it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from sow.domain.plans.plan import PlanTask
from sow.plans import values
from sow.plans.markdown import field_labels
from sow.plans.values import Edit, StatusRefusal

# Signs of more than a status: another label, a comment, a table.
MORE = ("**", "<!--", "|")


def status_editor(text: str) -> Callable[[PlanTask, str], Edit]:
    """Returns a function that computes the edit for a task and a status word."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def edit(task: PlanTask, word: str) -> Edit:
        size = field_labels.box(lines[task.line - 1])
        if not task.status_line and size and word in ("pending", "completed"):
            place = starts[task.line - 1] + size - 3
            return place, place + 1, "x" if word == "completed" else " "
        if not task.status_line:
            fact = lines[task.last_field_line - 1] if task.last_field_line > task.line else "  **" * bool(size)
            return _new_line(fact, starts[task.last_field_line] - 1, word)
        start, end, new = _value(lines[task.status_line - 1], word)
        offset = starts[task.status_line - 1]
        return offset + start, offset + end, new

    return edit


def _new_line(fact: str, end: int, word: str) -> Edit:
    """Inserts a line after the last field, with its bullet or indentation."""
    prefix = fact[: max(fact.find("**"), 0)]
    return end, end, f"\n{prefix}**Status**: {word}"


def _value(line: str, word: str) -> Edit:
    """Replaces the value after `**Status**:` or `**Status:**`; a backslash for a line break is not part of it."""
    opening = line.find("**")
    closing = line.find("**", opening + 2)
    if opening < 0 or closing < 0:
        raise StatusRefusal("it has a heading of its own")
    label = closing + 2
    rest = line[label:].lstrip()
    if rest.startswith(":"):
        label = len(line) - len(rest) + 1
        rest = rest[1:]
    value = rest.strip().removesuffix("\\").rstrip()
    if not value:
        return label, label, f" {word}"
    if values.status(value) is None and any(mark in value.strip("*`_ ") for mark in MORE):
        raise StatusRefusal("its line has more than a status")
    start = line.index(value, label)
    return start, start + len(value), word
