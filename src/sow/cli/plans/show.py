"""Shows a plan and its waves, as tables or as JSON."""

from __future__ import annotations

from sow.cli.output import emit, table
from sow.cli.plans import load
from sow.domain.plans import graph
from sow.domain.task import DEFAULT_AGENT
from sow.domain.text.units import counted, format_minutes
from sow.system.terminal import escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.cli.context import Context
    from sow.cli.plans.load import LoadedPlan
    from sow.domain.plans.plan import Plan, PlanFinding, PlanTask


def finding(warning: PlanFinding) -> dict[str, Any]:
    """Returns a finding as JSON."""
    location = {"file": warning.file, "line": warning.line, "kind": warning.kind}
    return {**location, "message": warning.message, "hint": warning.hint or None, "asks": warning.needs_confirmation}


def validate(context: Context, *, plan: list[str], json: bool) -> int:
    reading = load.read(context, plan)
    parsed = reading.plan
    for problem in parsed.warnings if json else (*parsed.errors, *parsed.warnings):
        load.print_finding(problem)
    if json:
        errors = [finding(error) for error in parsed.errors]
        emit({"valid": not errors, "errors": errors, "warnings": [finding(warning) for warning in parsed.warnings]})
        return load.BAD_PLAN if errors else 0
    error_count, warning_count = len(parsed.errors), len(parsed.warnings)
    names = ", ".join(parsed.files) or ", ".join(plan)
    counts = (
        _counted_or_no(len(parsed.tasks), "task"),
        _counted_or_no(error_count, "error"),
        _counted_or_no(warning_count, "warning"),
    )
    out(escape_line(f"{names}: {', '.join(counts)}"))
    return load.BAD_PLAN if error_count else 0


def _counted_or_no(count: int, noun: str) -> str:
    return counted(count, noun) if count else f"no {noun}s"


def show(context: Context, *, plan: list[str], graph: str, json: bool) -> int:
    reading = load.load_valid(context, plan)
    if reading is None:
        return load.BAD_PLAN
    if graph:
        from sow.cli.plans.graph import draw

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
    sure = f" ({guessed} of them without an estimate)" if guessed and guessed < len(plan.tasks) else ""
    if guessed < len(plan.tasks):
        out(f"work: {format_minutes(total)}{sure}; at least {format_minutes(longest)}, however many work at once")
    out(escape_line(f"critical path: {' → '.join(path)}"))
    for task in plan.tasks:
        if task.protected:
            out(escape_line(f"protected in task {task.id}: {', '.join(task.protected)}"))
    if any(task.implied_dependencies for task in plan.tasks):
        out("(n) waits for task n because both write the same file, or are of one worktree group")
    return 0


def summary(plan: Plan, levels: list[list[str]]) -> dict[str, Any]:
    """Returns a plan as JSON, without its tasks."""
    return {
        "name": plan.name,
        "files": plan.files,
        "default_agent": plan.default_agent or None,
        "max_concurrency": plan.max_concurrency,
        "quality_control": plan.quality_control or None,
        "worktree_groups": plan.worktree_groups,
        "tasks": [],
        "waves": levels,
        "critical_path": [],
        "warnings": [finding(warning) for warning in plan.warnings],
    }


def _headline(plan: Plan, levels: int) -> str:
    files = ", ".join(plan.files[:3]) + (f" and {len(plan.files) - 3} more" if len(plan.files) > 3 else "")
    size = f"{counted(len(plan.tasks), 'task')} in {counted(levels, 'wave')}"
    return f"{paint(escape_line(plan.name), 'bold')} ({escape_line(files)}): {size}"


def _rows(plan: Plan, levels: list[list[str]]) -> list[tuple[str, ...]]:
    tasks = {task.id: task for task in plan.tasks}
    rows: list[tuple[str, ...]] = [("WAVE", "ID", "TASK", "AGENT", "AFTER", "TIME", "STATUS")]
    for number, wave in enumerate(levels, 1):
        rows += [_row(plan, tasks[ident], str(number) if not index else "") for index, ident in enumerate(wave)]
    return rows


def _row(plan: Plan, task: PlanTask, wave: str) -> tuple[str, ...]:
    name = task.name if len(task.name) <= 60 else f"{task.name[:59]}…"
    after = [*task.depends_on, *(f"({ident})" for ident in task.implied_dependencies)]
    time = format_minutes(task.estimated_minutes) if task.estimated_minutes is not None else "-"
    agent = task.agent or plan.default_agent or DEFAULT_AGENT
    return wave, task.id, name, agent, ", ".join(after) or "-", time, task.status


def waves(context: Context, *, plan: list[str], json: bool) -> int:
    reading = load.load_valid(context, plan)
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
