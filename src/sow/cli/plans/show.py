"""Shows a plan and its waves, as tables, as JSON or as a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.plans import load
from sow.domain.plans import graph
from sow.domain.plans.graph import GUESS
from sow.domain.plans.plan import Plan, PlanFinding, PlanTask
from sow.domain.task import DEFAULT_AGENT
from sow.domain.text.units import counted, dollars, format_minutes
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.system.terminal import escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def finding(warning: PlanFinding) -> dict[str, Any]:
    """Returns a finding as JSON."""
    location = {"file": warning.file, "line": warning.line, "kind": warning.kind}
    return {**location, "message": warning.message, "hint": warning.hint or None, "asks": warning.needs_confirmation}


def validate(context: Context, *, plan: list[str], json: bool, **options: object) -> int:
    reading = load.read(context, plan, **options)
    parsed = reading.plan
    for problem in parsed.warnings if json else (*parsed.errors, *parsed.warnings):
        load.print_finding(problem)
    if json:
        errors = [finding(error) for error in parsed.errors]
        emit({"valid": not errors, "errors": errors, "warnings": [finding(warning) for warning in parsed.warnings]})
        return load.BAD_PLAN if errors else 0
    error_count, warning_count = len(parsed.errors), len(parsed.warnings)
    names = _files(parsed) or ", ".join(plan)
    counts = (
        _counted_or_no(len(parsed.tasks), "task"),
        _counted_or_no(error_count, "error"),
        _counted_or_no(warning_count, "warning"),
    )
    out(escape_line(f"{names}: {', '.join(counts)}"))
    return load.BAD_PLAN if error_count else 0


def _counted_or_no(count: int, noun: str) -> str:
    return counted(count, noun) if count else f"no {noun}s"


def show(context: Context, *, plan: list[str], graph: str, json: bool, **options: object) -> int:
    reading = load.load_valid(context, plan, **options)
    if reading is None:
        return load.BAD_PLAN
    if graph:
        out(draw(reading, graph))
        return 0
    return print_plan(reading, json=json)


def print_plan(reading: LoadedPlan, *, json: bool) -> int:
    """Prints the whole plan."""
    plan = reading.plan
    needs = plan.needs()
    expected = reading.expected()
    minutes = {task: estimate.minutes for task, estimate in expected.items()}
    levels = graph.waves(needs)
    path = graph.critical_path(needs, minutes)
    longest = sum(minutes[task] for task in path)
    if json:
        document = summary(plan, levels)
        document["tasks"] = [
            task.document()
            | {
                "expected_minutes": round(expected[task.id].minutes, 2),
                "expected_from": expected[task.id].origin,
            }
            for task in plan.tasks
        ]
        document["critical_path"] = path
        document["order"] = graph.ready_order(needs, minutes)
        document["minutes"] = {"work": round(sum(minutes.values()), 2), "critical_path": round(longest, 2)}
        return emit(document)
    out(_headline(plan, len(levels)))
    out("")
    out(table(_rows(plan, levels)))
    out("")
    total = sum(minutes.values())
    guessed = sum(estimate.origin == "guess" for estimate in expected.values())
    guesses = f" ({counted(guessed, 'task')} assumed to take {format_minutes(GUESS)})" if guessed else ""
    if guessed < len(plan.tasks):
        out(f"estimated work: {format_minutes(total)}{guesses}, done after {format_minutes(longest)} at the earliest")
    out(escape_line(f"critical path: {' → '.join(path)}"))
    for task in plan.tasks:
        if task.protected:
            out(escape_line(f"protected in task {task.id}: {', '.join(task.protected)}"))
    if any(task.implied_dependencies for task in plan.tasks):
        out("(n): waits for task n, because both write the same file or share a worktree group")
    return 0


def cost_text(reading: LoadedPlan, roles: Mapping[str, str], limit: float | None = None) -> str:
    """Returns the expected cost of these tasks as text, with a warning if it is above --max-cost."""
    money = reading.expected_cost(roles)["cost_usd"]
    if money is None:
        return "cost: unknown, because no task with a known cost has finished here"
    warning = f", which is above --max-cost {dollars(limit)}" if limit is not None and money > limit else ""
    return f"cost: about {dollars(money)}, from earlier tasks{warning}"


def summary(plan: Plan, levels: list[list[str]]) -> dict[str, Any]:
    """Returns a plan as JSON, without its tasks."""
    return {
        "name": plan.name,
        "files": plan.files,
        "formats": plan.formats,
        "default_agent": plan.default_agent or None,
        "max_concurrency": plan.max_concurrency,
        "quality_control": plan.quality_control or None,
        "worktree_groups": plan.worktree_groups,
        "tasks": [],
        "waves": levels,
        "critical_path": [],
        "warnings": [finding(warning) for warning in plan.warnings],
    }


def _files(plan: Plan) -> str:
    return ", ".join(plan.files[:3]) + (f" and {len(plan.files) - 3} more" if len(plan.files) > 3 else "")


def _headline(plan: Plan, levels: int) -> str:
    size = f"{counted(len(plan.tasks), 'task')} in {counted(levels, 'wave')}"
    return f"{paint(escape_line(plan.name), 'bold')} ({escape_line(_files(plan))}): {size}"


def _rows(plan: Plan, levels: list[list[str]]) -> list[tuple[str, ...]]:
    tasks = {task.id: task for task in plan.tasks}
    rows: list[tuple[str, ...]] = [("WAVE", "ID", "TASK", "ROLE", "DEPENDS ON", "ESTIMATE", "STATUS")]
    for number, wave in enumerate(levels, 1):
        rows += [_row(plan, tasks[ident], str(number) if not index else "") for index, ident in enumerate(wave)]
    return rows


def _row(plan: Plan, task: PlanTask, wave: str) -> tuple[str, ...]:
    after = [*task.depends_on, *(f"({ident})" for ident in task.implied_dependencies)]
    time = format_minutes(task.estimated_minutes) if task.estimated_minutes is not None else "-"
    agent = task.agent or plan.default_agent or DEFAULT_AGENT
    return wave, task.id, task.name, agent, ", ".join(after) or "-", time, task.status


def waves(context: Context, *, plan: list[str], json: bool, **options: object) -> int:
    reading = load.load_valid(context, plan, **options)
    if reading is None:
        return load.BAD_PLAN
    parsed = reading.plan
    levels = graph.waves(parsed.needs())
    if json:
        limit = parsed.max_concurrency
        return emit(
            {
                "name": parsed.name,
                "waves": [
                    {"name": f"Wave {number}", "tasks": wave, "max_concurrency": limit}
                    for number, wave in enumerate(levels, 1)
                ],
            }
        )
    names = {task.id: task.name for task in parsed.tasks}
    for number, wave in enumerate(levels, 1):
        out(paint(f"Wave {number}", "bold"))
        out(table([(ident, names[ident]) for ident in wave], indent="  "))
    return 0


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
