"""Writes the graph of a plan as Mermaid or Graphviz text."""

from __future__ import annotations

from itertools import pairwise

from sow.domain.plans import graph
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.cli.plans.load import LoadedPlan

# status → fill and stroke
COLOURS = {
    "pending": ("#f4f4f5", "#71717a"),
    "in_progress": ("#dbeafe", "#2563eb"),
    "completed": ("#dcfce7", "#16a34a"),
    "failed": ("#fee2e2", "#dc2626"),
    "skipped": ("#fafafa", "#a1a1aa"),
}


def draw(reading: LoadedPlan, form: str) -> str:
    """Returns the graph as text; the critical path is thick and implied edges are dashed."""
    plan = reading.plan
    minutes = {task: estimate.minutes for task, estimate in reading.expected().items()}
    path = graph.critical_path(plan.needs(), minutes)
    critical = set(pairwise(path))
    return "\n".join((_mermaid if form == "mermaid" else _dot)(reading, critical))


def _nodes(reading: LoadedPlan) -> dict[str, str]:
    """Returns a node name for every task that Mermaid and Graphviz accept."""
    return {task.id: f"t{index}" for index, task in enumerate(reading.plan.tasks, 1)}


def _edges(reading: LoadedPlan) -> Iterator[tuple[str, str, bool]]:
    for task in reading.plan.tasks:
        yield from ((before, task.id, False) for before in task.depends_on)
        yield from ((before, task.id, True) for before in task.implied_dependencies)


def _mermaid(reading: LoadedPlan, critical: set[tuple[str, str]]) -> Iterator[str]:
    nodes = _nodes(reading)
    yield "flowchart TD"
    for task in reading.plan.tasks:
        label = escape_line(f"{task.id}: {task.name}")
        for letter, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
            label = label.replace(letter, code)
        yield f'    {nodes[task.id]}["{label}"]:::{task.status}'
    for before, task_id, implied in _edges(reading):
        arrow = "-.->" if implied else "==>" if (before, task_id) in critical else "-->"
        yield f"    {nodes[before]} {arrow} {nodes[task_id]}"
    for status, (fill, stroke) in COLOURS.items():
        yield f"    classDef {status} fill:{fill},stroke:{stroke},color:#18181b"


def _dot(reading: LoadedPlan, critical: set[tuple[str, str]]) -> Iterator[str]:
    nodes = _nodes(reading)
    yield "digraph plan {"
    yield '    rankdir=TB; node [shape=box, style="rounded,filled", fontname="sans-serif"];'
    for task in reading.plan.tasks:
        fill, stroke = COLOURS[task.status]
        label = escape_line(f"{task.id}: {task.name}").replace("\\", "\\\\").replace('"', '\\"')
        yield f'    {nodes[task.id]} [label="{label}", fillcolor="{fill}", color="{stroke}"];'
    for before, task_id, implied in _edges(reading):
        style = " [style=dashed]" if implied else " [penwidth=3]" if (before, task_id) in critical else ""
        yield f"    {nodes[before]} -> {nodes[task_id]}{style};"
    yield "}"
