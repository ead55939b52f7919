"""Checks and asks everything that can stop a run, before anything is written."""

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
    """Returns the branch that a run creates if main or master is checked out."""
    return f"sow/{slug_of(reading.plan.name) or 'plan'}"


def doubts(reading: Reading, wish: Wish) -> list[Finding]:
    """Returns the warnings that could change order or scope; with --agent, those about agents are left out."""
    doubtful = [warning for warning in reading.plan.warnings if warning.doubtful]
    return [warning for warning in doubtful if not (warning.kind == "agent" and "agent" in wish.settings)]


def confirm_doubts(context: Context, home: Home, reading: Reading, wish: Wish) -> None:
    """Asks before running a plan whose order or scope may have been misread."""
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
    """Checks and asks everything; returns the changes of tasks and the commands that the user agreed to."""
    branch = feature_branch.wanted(home, branch_of(reading))
    layout.check(home)
    text.line(reading.plan.name[:100] or "Plan", "the project's name", 100)
    agreed = consent.agreed_in(home, config, context.environment)
    try:
        project = stored(home, reading)
    except InvalidFile:
        if branch != home.checkout.branch():
            raise
        return [], agreed  # the state may be restored from a copy; everything is asked then
    if wish.settings["isolation"] == "none" and project is not None:
        refuse_work_apart(context, home, config, project, reading, wish)
    diffs = changes(context, home, project, reading)
    agree_to_changes(diffs, wish)
    commands = of_run(home, project, diffs, wish)
    if wish.yes or not is_interactive():  # on a terminal, run_setup asks about the setup
        commands |= {command: ["setup"] for command in run_setup.missing(context, home, config, wish)}
    return diffs, ask(context, home, agreed, commands, wish)


def stored(home: Home, reading: Reading) -> ProjectState | None:
    """Returns the project that a run continues; None if there is none."""
    if not projects.exists(home):
        return None
    project, current = projects.load_anywhere(home), home.checkout.branch()
    branch = branch_of(reading) if current in FORBIDDEN_BRANCHES else current
    if project["branch"] != branch:
        target = f"the run to {branch}" if branch else "HEAD is detached"
        raise SowError(
            f"{home.relative(projects.path(home))} belongs to branch {project['branch']}, and {target}",
            f"git switch {project['branch']}, or remove the project of another branch: sow project delete",
        )
    return project


def changes(context: Context, home: Home, project: ProjectState | None, reading: Reading) -> list[Difference]:
    """Returns the changes that the import of the plan would make."""
    given = plan_import.prepare(context, home, reading, "")
    return intake.propose_fresh(given) if project is None else intake.propose(home, project, given)


def agree_to_changes(diffs: Sequence[Difference], wish: Wish) -> None:
    """Shows how an import would change existing tasks, and asks for consent."""
    for diff in diffs:
        if diff.kind in ("changed", "gone"):
            err(harmless_line(f"task {diff.task}, {diff.number} in the plan: {plan_import.changes(diff)}"))
    plan_import.agree(diffs, yes=wish.yes)


def of_run(home: Home, project: ProjectState | None, diffs: Sequence[Difference], wish: Wish) -> dict[str, list[str]]:
    """Returns the commands of a run with the ids of their tasks: of the plan, and of unchanged tasks."""
    kept = [task for _, task in desks.load_all(home, project)[0]] if project is not None else []
    coming = {diff.task: diff.wanted for diff in diffs if diff.kind in ("new", "changed")}
    gone = {diff.task for diff in diffs if diff.kind == "gone"}
    wanted = set(wish.tasks)
    planned = [
        (diff.task, diff.wanted.fields.get("checks", ()))
        for diff in diffs
        if diff.wanted is not None
        and diff.task in coming
        and diff.wanted.status != "skipped"
        and (not wanted or wanted & {diff.task, diff.number} or diff.wanted.status == "completed")
    ]
    about = {diff.task for diff in diffs if not wanted or wanted & {diff.task, diff.number}}
    staying = [task for task in kept if task["id"] not in coming and task["id"] not in gone]
    commands = command_consent.collect(planned)
    for command, tasks in command_consent.of_tasks(staying, about).items():
        commands[command] = [*commands.get(command, ()), *tasks]
    return commands


def ask(context: Context, home: Home, agreed: Agreed, commands: dict[str, list[str]], wish: Wish) -> Agreed:
    """Asks for consent to commands."""
    hint = wish.again(context, home, yes="")
    return command_consent.agree(home, context.environment, agreed, commands, yes=wish.yes, again=hint)


def refuse_work_apart(
    context: Context, home: Home, config: Config, project: ProjectState, reading: Reading, wish: Wish
) -> None:
    """Refuses a run in one folder if an earlier run left work in worktrees."""
    from sow.engine import apart

    tasks = chosen(home, project, plan_import.prepare(context, home, reading, "").paths.values(), wish)
    usual = config.setting("run", "isolation") == "worktree"
    apart.refuse(home, tasks, wish.again(context, home, isolation=None if usual else "worktree"))


def chosen(home: Home, project: ProjectState, plans: Iterable[str], wish: Wish) -> list[Task]:
    """Returns the project's tasks that come from these plans and that the run includes."""
    paths, wanted = set(plans), set(wish.tasks)
    tasks = [task for _, task in desks.load_all(home, project)[0] if task.get("source", {}).get("plan") in paths]
    return [task for task in tasks if not wanted or wanted & {task["id"], task["source"]["id"]}]
