"""Imports a plan into the project after showing the changes and asking for consent."""

from __future__ import annotations

from collections.abc import Sequence

from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.plans import load
from sow.cli.progress import Progress
from sow.domain import task
from sow.domain.plans.plan import Difference
from sow.domain.text.units import counted
from sow.engine.launch.preflight import confirm_changes, describe_changes
from sow.store.projects import plan_import
from sow.store.projects import project as projects
from sow.system.terminal import err, escape_line, out

MOST_ROWS = 100


def import_plan(
    context: Context,
    *,
    plan: list[str],
    issue: str,
    label: str,
    phase: str,
    yes: bool,
    dry_run: bool,
    json: bool,
    **options: object,
) -> int:
    actor = context.require_non_worker("import a plan")
    plan = load.plan_or_issues(context, "plan import", plan, issue=issue, label=label)
    reading = load.load_valid(context, plan, **options)
    if reading is None:
        return load.BAD_PLAN
    home = context.project_home()
    request = reading.intake(home, phase)
    create_project = None
    if projects.exists(home):
        differences = plan_import.propose(home, projects.load(home), request)
    else:
        stages = [task.canonical(phase) if phase else task.DEFAULT_PHASE]
        create_project = plan_import.prepare_project(home, name=reading.plan.name[:100], phases=stages, actor=actor)
        differences = plan_import.propose_without_project(request)
    if not json:
        _show(differences)
    if not dry_run:
        confirm_changes(differences, yes=yes)
        if create_project is not None:
            project = create_project()
            err(escape_line(f"project {project['name']} on branch {project['branch']}"))
        with Progress(f"Importing {counted(len(differences), 'task')}"):
            plan_import.apply(home, request, differences, actor=actor)
    if json:
        emit({"dry_run": dry_run, "tasks": [_document(difference) for difference in differences]})
    else:
        out(f"{plan_import.counts(differences)}{' (dry run: nothing was changed)' if dry_run else ''}")
    return 0


def _show(differences: Sequence[Difference]) -> None:
    rows = [(d.kind, d.task, d.number, d.name, describe_changes(d)) for d in differences if d.kind != "same"]
    if rows:
        out(table([("", "TASK", "PLAN'S ID", "NAME", "CHANGE"), *rows[:MOST_ROWS]]))
    if len(rows) > MOST_ROWS:
        out(f"… and {len(rows) - MOST_ROWS} more")


def _document(difference: Difference) -> dict[str, object]:
    return {
        "change": difference.kind,
        "task": difference.task,
        "id": difference.number,
        "name": difference.name,
        "fields": [{"field": field, "before": before, "after": after} for field, before, after in difference.fields],
    }
