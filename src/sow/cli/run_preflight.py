"""Everything that can refuse a run, or asks about it, before the first byte is written and the branch is left."""

from __future__ import annotations

from sow.cli import command_consent, feature_branch, plan_import, run_setup
from sow.domain import text
from sow.domain.ids import slug_of
from sow.engine import consent
from sow.errors import InvalidFile, SowError, Waiting
from sow.store import desk as desks
from sow.store import intake, layout
from sow.store import project as projects
from sow.store.home import FORBIDDEN_BRANCHES
from sow.system.terminal import confirm, err, harmless_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.cli.context import Context
    from sow.cli.plan_source import Reading
    from sow.cli.run import Wish
    from sow.config import Config
    from sow.domain.agreed import Agreed
    from sow.domain.intake import Difference
    from sow.domain.plan import Finding
    from sow.domain.shapes import ProjectState, Task
    from sow.store.home import Home


def branch_of(reading: Reading) -> str:
    """The branch that a run makes where main or master is checked out."""
    return f"sow/{slug_of(reading.plan.name) or 'plan'}"


def doubts(reading: Reading, wish: Wish) -> list[Finding]:
    """The warnings that could change order or scope; with --agent the plan's agents do not matter."""
    found = [each for each in reading.plan.warnings if each.doubtful]
    return [each for each in found if not (each.kind == "agent" and "agent" in wish.settings)]


def confirm_doubts(context: Context, home: Home, reading: Reading, wish: Wish) -> None:
    """Ask before a run of a plan in which something was not understood that could change order or scope."""
    count = len(doubts(reading, wish))
    if not count or wish.yes:
        return
    these = f"{count} of the warnings above" if len(reading.plan.warnings) > 1 else "the warning above"
    err(f"With {these}, tasks, their order, their agents or their checks may not be what the plan means.")
    hint = f"correct the plan, or accept it as it is read: {wish.again(context, home, yes='')}"
    if not is_interactive() or not confirm("Run it as it is read?"):
        raise Waiting("the plan was not understood completely; nothing was started", hint)


def look_ahead(
    context: Context, home: Home, config: Config, reading: Reading, wish: Wish
) -> tuple[list[Difference], Agreed]:
    """Check and ask everything; returns the changes of tasks and the commands that the user agreed to."""
    branch = feature_branch.wanted(home, branch_of(reading))
    layout.check(home)
    text.line(reading.plan.name[:100] or "Plan", "the project's name", 100)
    agreed = consent.agreed_in(home, config, context.environment)
    try:
        project = stored(home, reading)
    except InvalidFile:
        if branch != home.checkout.branch():
            raise
        return [], agreed  # an earlier run may have a copy of the state: everything is asked when that is back
    if wish.settings["isolation"] == "none" and project is not None:
        refuse_work_apart(context, home, config, project, reading, wish)
    found = changes(context, home, project, reading)
    agree_to_changes(found, wish)
    commands = of_run(home, project, found, wish)
    if wish.yes or not is_interactive():  # on a terminal the setup has a question of its own, which allows a no
        commands |= {each: ["setup"] for each in run_setup.missing(context, home, config, wish)}
    return found, ask(context, home, agreed, commands, wish)


def stored(home: Home, reading: Reading) -> ProjectState | None:
    """The project that a run continues; None if there is none."""
    if not projects.exists(home):
        return None
    project, current = projects.load_anywhere(home), home.checkout.branch()
    branch = branch_of(reading) if current in FORBIDDEN_BRANCHES else current
    if project["branch"] != branch:
        where = f"the run to {branch}" if branch else "HEAD is detached"
        raise SowError(
            f"{home.relative(projects.path(home))} belongs to branch {project['branch']}, and {where}",
            f"git switch {project['branch']}, or remove the project of another branch: sow project delete",
        )
    return project


def changes(context: Context, home: Home, project: ProjectState | None, reading: Reading) -> list[Difference]:
    """The changes that the import of the plan would make."""
    given = plan_import.prepare(context, home, reading, "")
    return intake.propose_fresh(given) if project is None else intake.propose(home, project, given)


def agree_to_changes(found: Sequence[Difference], wish: Wish) -> None:
    """Show what an import would change in tasks that are here, and ask for consent."""
    for each in found:
        if each.kind in ("changed", "gone"):
            err(harmless_line(f"task {each.task}, {each.number} in the plan: {plan_import.changes(each)}"))
    plan_import.agree(found, yes=wish.yes)


def of_run(home: Home, project: ProjectState | None, found: Sequence[Difference], wish: Wish) -> dict[str, list[str]]:
    """The commands that a run would run, each with the ids of its tasks: of the plan, and of tasks that stay as is."""
    kept = [task for _, task in desks.load_all(home, project)[0]] if project is not None else []
    coming = {each.task: each.wanted for each in found if each.kind in ("new", "changed")}
    gone = {each.task for each in found if each.kind == "gone"}
    wanted = set(wish.tasks)
    planned = [
        (each.task, each.wanted.fields.get("checks", ()))
        for each in found
        if each.wanted is not None
        and each.task in coming
        and each.wanted.status != "skipped"
        and (not wanted or wanted & {each.task, each.number} or each.wanted.status == "completed")
    ]
    about = {each.task for each in found if not wanted or wanted & {each.task, each.number}}
    staying = [task for task in kept if task["id"] not in coming and task["id"] not in gone]
    commands = command_consent.collect(planned)
    for command, tasks in command_consent.of_tasks(staying, about).items():
        commands[command] = [*commands.get(command, ()), *tasks]
    return commands


def ask(context: Context, home: Home, agreed: Agreed, commands: dict[str, list[str]], wish: Wish) -> Agreed:
    """Ask for consent to commands."""
    hint = wish.again(context, home, yes="")
    return command_consent.agree(home, context.environment, agreed, commands, yes=wish.yes, again=hint)


def refuse_work_apart(
    context: Context, home: Home, config: Config, project: ProjectState, reading: Reading, wish: Wish
) -> None:
    """Refuse a run in one folder if an earlier run left work in worktrees."""
    from sow.engine import apart

    tasks = chosen(home, project, plan_import.prepare(context, home, reading, "").paths.values(), wish)
    usual = config.setting("run", "isolation") == "worktree"
    apart.refuse(home, tasks, wish.again(context, home, isolation=None if usual else "worktree"))


def chosen(home: Home, project: ProjectState, plans: Iterable[str], wish: Wish) -> list[Task]:
    """The project's tasks of these plans that the run is about."""
    paths, wanted = set(plans), set(wish.tasks)
    tasks = [task for _, task in desks.load_all(home, project)[0] if task.get("source", {}).get("plan") in paths]
    return [task for task in tasks if not wanted or wanted & {task["id"], task["source"]["id"]}]
