"""Shows, checks, simulates, imports and updates plan files (`sow plan`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.plans import load
from sow.cli.plans.load import print_finding
from sow.system.terminal.terminal import escape_line, out

BAD_PLAN = 2
PLAN = Argument("plan", "A plan file, or a folder of them", repeat=True, completes="files")


def show(context: Context, *, plan: list[str], graph: str, json: bool) -> int:
    reading = load.load_valid(context, plan)
    if reading is None:
        return BAD_PLAN
    if graph:
        from sow.cli.plans.graph import draw

        out(draw(reading, graph))
        return 0
    from sow.cli.plans import show

    return show.show(reading, json=json)


def validate(context: Context, *, plan: list[str], json: bool) -> int:
    reading = load.read(context, plan)
    parsed = reading.plan
    for problem in parsed.warnings if json else (*parsed.errors, *parsed.warnings):
        print_finding(problem)
    if json:
        from sow.cli.output import emit
        from sow.cli.plans.show import finding

        errors = [finding(error) for error in parsed.errors]
        emit({"valid": not errors, "errors": errors, "warnings": [finding(warning) for warning in parsed.warnings]})
        return BAD_PLAN if errors else 0
    error_count, warning_count = len(parsed.errors), len(parsed.warnings)
    names = ", ".join(parsed.files) or ", ".join(plan)
    counts = (_counted(len(parsed.tasks), "task"), _counted(error_count, "error"), _counted(warning_count, "warning"))
    out(escape_line(f"{names}: {', '.join(counts)}"))
    return BAD_PLAN if error_count else 0


def _counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def waves(context: Context, *, plan: list[str], json: bool) -> int:
    reading = load.load_valid(context, plan)
    if reading is None:
        return BAD_PLAN
    from sow.cli.plans import show

    return show.waves(reading, json=json)


def simulate(context: Context, *, plan: list[str], max_concurrency: str, schedule: str, json: bool) -> int:
    from sow.cli.plans import simulate

    count = simulate.parse_concurrency(max_concurrency) if max_concurrency else 0
    reading = load.load_valid(context, plan)
    return simulate.simulate(reading, count, schedule, json=json) if reading else BAD_PLAN


def import_plan(context: Context, *, plan: list[str], phase: str, yes: bool, dry_run: bool, json: bool) -> int:
    from sow.cli.plans import import_plan

    actor = context.require_non_worker("import a plan")
    reading = load.load_valid(context, plan)
    if reading is None:
        return BAD_PLAN
    return import_plan.import_plan(context, reading, actor, phase=phase, yes=yes, dry_run=dry_run, json=json)


def update(context: Context, *, plan: list[str], dry_run: bool, json: bool) -> int:
    from sow.cli.plans import write_back

    context.require_non_worker("write into a plan")
    return write_back.update(context, plan, dry_run=dry_run, json=json)


COMMANDS = (
    Command(
        "plan show",
        show,
        "Show a plan: waves, tasks, dependencies, estimates, the critical path and what was not understood",
        arguments=(PLAN,),
        options=(Option("--graph", "FORMAT", "Print the graph instead", choices=("mermaid", "dot")),),
        json=True,
    ),
    Command(
        "plan validate",
        validate,
        "Check a plan and say everything that is wrong with it (exit 0 or 2)",
        arguments=(PLAN,),
        json=True,
    ),
    Command("plan waves", waves, "Show which tasks of a plan can run side by side", arguments=(PLAN,), json=True),
    Command(
        "plan simulate",
        simulate,
        "Show how long a plan takes with so many tasks at once, from its estimates and from history",
        arguments=(PLAN,),
        options=(
            Option("--max-concurrency", "N", "Draw the timeline for N at once; without: the plan's own, or 3"),
            Option(
                "--schedule",
                "HOW",
                "Start a task when its own dependencies are done, or wave by wave",
                choices=("ready", "waves"),
                default="ready",
            ),
        ),
        json=True,
    ),
    Command(
        "plan import",
        import_plan,
        "Make the tasks of a plan tasks of the project; again: show what changed, and apply it with your consent",
        arguments=(PLAN,),
        options=(
            Option(
                "--phase",
                "PHASE",
                "Which phase they belong to; without: implementation, or the current one",
                completes="phases",
            ),
            Option("--yes", help="Apply changes to tasks that are here already without asking"),
            Option("--dry-run", help="Show what would happen and do nothing"),
        ),
        json=True,
        details="New tasks need no consent. Finished tasks are never touched. Without a project one is made.",
    ),
    Command(
        "plan update",
        update,
        "Write the status of each task back into the plan file, and keep every other byte of it",
        arguments=(
            Argument(
                "plan", "Which plan; without: all that were imported", repeat=True, optional=True, completes="files"
            ),
        ),
        options=(Option("--dry-run", help="Show what would be written and write nothing"),),
        json=True,
    ),
)
