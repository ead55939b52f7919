"""Imports a plan into the project after showing the changes and asking for consent."""

from __future__ import annotations

from sow.cli.output import emit, table
from sow.cli.plan_source import path_of
from sow.cli.project import plan_project
from sow.domain import intake as rules
from sow.domain import phase as phases
from sow.errors import Waiting
from sow.plans.describe import description
from sow.store import intake
from sow.store import project as projects
from sow.store.intake import Intake
from sow.system.terminal import confirm, err, harmless_line, is_interactive, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.cli.context import Context
    from sow.cli.plan_source import Reading
    from sow.domain.actor import Actor
    from sow.domain.intake import Difference
    from sow.store.home import Home

MOST_ROWS = 100


def take_in(
    context: Context, reading: Reading, actor: Actor, *, phase: str, yes: bool, dry_run: bool, json: bool
) -> int:
    """Imports a plan that has no errors."""
    home = context.home()
    request = prepare(context, home, reading, phase)
    create_project = None
    if projects.exists(home):
        differences = intake.propose(home, projects.load(home), request)
    else:
        stages = [phases.canonical(phase) if phase else phases.DEFAULT_PHASE]
        create_project = plan_project(context, home, name=reading.plan.name[:100], description="", phases=stages)
        differences = intake.propose_fresh(request)
    if not json:
        _show(differences)
    if not dry_run:
        agree(differences, yes=yes)
        if create_project is not None:
            project = create_project()
            err(harmless_line(f"project {project['name']} on branch {project['branch']}"))
        intake.carry_out(home, request, differences, actor=actor)
    if json:
        emit({"dry_run": dry_run, "tasks": [_document(difference) for difference in differences]})
    else:
        out(f"{intake.counts(differences)}{' (dry run: nothing was done)' if dry_run else ''}")
    return 0


def prepare(context: Context, home: Home, reading: Reading, phase: str) -> Intake:
    """Collects everything that the import of a plan needs."""
    plan = reading.plan
    return Intake(
        plan,
        paths={source.name: intake.place_of(home, path_of(context, source.name)) for source in reading.sources},
        digests={source.name: intake.digest(source.text) for source in reading.sources},
        descriptions={task.id: description(plan, task) for task in plan.tasks},
        agents={task.id: rules.agent_of(task, plan, reading.agents) for task in plan.tasks},
        phase=phase,
    )


def _show(differences: Sequence[Difference]) -> None:
    rows = [(d.kind, d.task, d.number, d.name, changes(d)) for d in differences if d.kind != "same"]
    if rows:
        out(table([("", "TASK", "PLAN'S ID", "NAME", "CHANGE"), *rows[:MOST_ROWS]]))
    if len(rows) > MOST_ROWS:
        out(f"… and {len(rows) - MOST_ROWS} more")


def changes(difference: Difference) -> str:
    """Describes on one line how an import would change a task."""
    if difference.kind == "gone":
        return "is no longer in the plan: it would be abandoned"
    parts = [f"{field}: {before} → {after}" if before or after else field for field, before, after in difference.fields]
    text = "; ".join(parts)
    text = text if len(text) <= 200 else f"{text[:199]}…"
    return f"has ended: stays as it is ({text})" if difference.kind == "ended" else text


def agree(differences: Sequence[Difference], *, yes: bool) -> None:
    """Asks for consent if existing tasks would change; new tasks need none."""
    touched = [difference for difference in differences if difference.kind in ("changed", "gone")]
    if not touched or yes:
        return
    tasks = f"{len(touched)} task{'' if len(touched) == 1 else 's'}"
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
