"""The import of a plan into the project: what would change is shown first, and asked about where it matters."""

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
    """Import a plan that has no errors."""
    home = context.home()
    given = prepare(context, home, reading, phase)
    make = None
    if projects.exists(home):
        found = intake.propose(home, projects.load(home), given)
    else:
        stages = [phases.canonical(phase) if phase else phases.DEFAULT_PHASE]
        make = plan_project(context, home, name=reading.plan.name[:100], description="", phases=stages)
        found = intake.propose_fresh(given)
    if not json:
        _show(found)
    if not dry_run:
        agree(found, yes=yes)
        if make is not None:
            project = make()
            err(harmless_line(f"project {project['name']} on branch {project['branch']}"))
        intake.carry_out(home, given, found, actor=actor)
    if json:
        emit({"dry_run": dry_run, "tasks": [_document(each) for each in found]})
    else:
        out(f"{intake.counts(found)}{' (dry run: nothing was done)' if dry_run else ''}")
    return 0


def prepare(context: Context, home: Home, reading: Reading, phase: str) -> Intake:
    """A plan with all that its import needs to know."""
    plan = reading.plan
    return Intake(
        plan,
        paths={source.name: intake.place_of(home, path_of(context, source.name)) for source in reading.sources},
        digests={source.name: intake.digest(source.text) for source in reading.sources},
        descriptions={task.id: description(plan, task) for task in plan.tasks},
        agents={task.id: rules.agent_of(task, plan, reading.agents) for task in plan.tasks},
        phase=phase,
    )


def _show(found: Sequence[Difference]) -> None:
    rows = [(each.kind, each.task, each.number, each.name, changes(each)) for each in found if each.kind != "same"]
    if rows:
        out(table([("", "TASK", "PLAN'S ID", "NAME", "CHANGE"), *rows[:MOST_ROWS]]))
    if len(rows) > MOST_ROWS:
        out(f"… and {len(rows) - MOST_ROWS} more")


def changes(each: Difference) -> str:
    """What an import would do to a task, in a line."""
    if each.kind == "gone":
        return "is no longer in the plan: it would be abandoned"
    words = [f"{field}: {before} → {after}" if before or after else field for field, before, after in each.fields]
    text = "; ".join(words)
    text = text if len(text) <= 200 else f"{text[:199]}…"
    return f"has ended: stays as it is ({text})" if each.kind == "ended" else text


def agree(found: Sequence[Difference], *, yes: bool) -> None:
    """New tasks need no consent; a change to what is here does."""
    touched = [each for each in found if each.kind in ("changed", "gone")]
    if not touched or yes:
        return
    tasks = f"{len(touched)} task{'' if len(touched) == 1 else 's'}"
    if not is_interactive():
        raise Waiting(f"the import changes {tasks}, which needs your word", "look at the changes above, then add --yes")
    if not confirm(f"Change {tasks}?"):
        raise Waiting("nothing was imported", "run the same command again when you are ready")


def _document(each: Difference) -> dict[str, object]:
    return {
        "change": each.kind,
        "task": each.task,
        "id": each.number,
        "name": each.name,
        "fields": [{"field": field, "before": before, "after": after} for field, before, after in each.fields],
    }
