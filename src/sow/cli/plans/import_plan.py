"""Imports a plan into the project after showing the changes and asking for consent."""

from __future__ import annotations

from sow.cli.output import emit, table
from sow.cli.plans import load
from sow.cli.project.project import prepare_project
from sow.domain import phase as phases
from sow.domain.plans import plan_import as rules
from sow.domain.text.units import counted
from sow.errors import Waiting
from sow.plans.describe import description
from sow.store.projects import plan_import
from sow.store.projects import project as projects
from sow.store.projects.plan_import import PlanImport
from sow.system.terminal import confirm, err, escape_line, is_interactive, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.cli.context import Context
    from sow.cli.plans.load import LoadedPlan
    from sow.domain.plans.plan_import import Difference
    from sow.store.files.checkout_home import Home

MOST_ROWS = 100


def import_plan(context: Context, *, plan: list[str], phase: str, yes: bool, dry_run: bool, json: bool) -> int:
    actor = context.require_non_worker("import a plan")
    reading = load.load_valid(context, plan)
    if reading is None:
        return load.BAD_PLAN
    home = context.project_home()
    request = intake_of(context, home, reading, phase)
    create_project = None
    if projects.exists(home):
        differences = plan_import.propose(home, projects.load(home), request)
    else:
        stages = [phases.canonical(phase) if phase else phases.DEFAULT_PHASE]
        create_project = prepare_project(context, home, name=reading.plan.name[:100], description="", phases=stages)
        differences = plan_import.propose_without_project(request)
    if not json:
        _show(differences)
    if not dry_run:
        confirm_changes(differences, yes=yes)
        if create_project is not None:
            project = create_project()
            err(escape_line(f"project {project['name']} on branch {project['branch']}"))
        plan_import.apply(home, request, differences, actor=actor)
    if json:
        emit({"dry_run": dry_run, "tasks": [_document(difference) for difference in differences]})
    else:
        out(f"{plan_import.counts(differences)}{' (dry run: nothing was done)' if dry_run else ''}")
    return 0


def intake_of(context: Context, home: Home, reading: LoadedPlan, phase: str) -> PlanImport:
    """Collects everything that the import of a plan needs."""
    plan = reading.plan
    return PlanImport(
        plan,
        paths={
            source.name: plan_import.state_path(home, load.path_of(context, source.name)) for source in reading.sources
        },
        digests={source.name: plan_import.digest(source.text) for source in reading.sources},
        descriptions={task.id: description(plan, task) for task in plan.tasks},
        agents={task.id: rules.agent_of(task, plan, reading.agents) for task in plan.tasks},
        phase=phase,
    )


def _show(differences: Sequence[Difference]) -> None:
    rows = [(d.kind, d.task, d.number, d.name, describe_changes(d)) for d in differences if d.kind != "same"]
    if rows:
        out(table([("", "TASK", "PLAN'S ID", "NAME", "CHANGE"), *rows[:MOST_ROWS]]))
    if len(rows) > MOST_ROWS:
        out(f"… and {len(rows) - MOST_ROWS} more")


def describe_changes(difference: Difference) -> str:
    """Describes on one line how an import would change a task."""
    if difference.kind == "gone":
        return "is no longer in the plan: it would be abandoned"
    parts = [f"{field}: {before} → {after}" if before or after else field for field, before, after in difference.fields]
    text = "; ".join(parts)
    text = text if len(text) <= 200 else f"{text[:199]}…"
    return f"has ended: stays as it is ({text})" if difference.kind == "ended" else text


def confirm_changes(differences: Sequence[Difference], *, yes: bool) -> None:
    """Asks for consent if existing tasks would change; new tasks need none."""
    touched = [difference for difference in differences if difference.kind in ("changed", "gone")]
    if not touched or yes:
        return
    tasks = counted(len(touched), "task")
    if not is_interactive():
        raise Waiting(f"the import changes {tasks}, which needs your word", "look at the changes above, then add --yes")
    if not confirm(f"Change {tasks}?"):
        raise Waiting("nothing was imported", "run the same command again when you are ready")


def _document(difference: Difference) -> dict[str, object]:
    return {
        "change": difference.kind,
        "task": difference.task,
        "id": difference.number,
        "name": difference.name,
        "fields": [{"field": field, "before": before, "after": after} for field, before, after in difference.fields],
    }
