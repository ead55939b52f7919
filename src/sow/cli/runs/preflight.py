"""Checks and asks everything that can stop a run, before anything is written."""

from __future__ import annotations

from sow.cli.plans import import_plan
from sow.cli.runs import consent_question, feature_branch, setup_questions
from sow.domain import inputs
from sow.domain.ids import branch_slug
from sow.engine import consent
from sow.errors import InvalidFile, SowError, Waiting
from sow.store import layout
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES
from sow.store.projects import plan_import, task_folder
from sow.store.projects import project as projects
from sow.system.terminal import confirm, err, escape_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.cli.context import Context
    from sow.cli.plans.load import LoadedPlan
    from sow.cli.runs.run import RunOptions
    from sow.config import Config
    from sow.domain.checks.consent import Consent
    from sow.domain.documents.state import ProjectState, Task
    from sow.domain.plans.plan import PlanFinding
    from sow.domain.plans.plan_import import Difference
    from sow.store.files.checkout_home import Home


def branch_of(reading: LoadedPlan) -> str:
    """Returns the branch that a run creates if main or master is checked out."""
    return f"sow/{branch_slug(reading.plan.name) or 'plan'}"


def doubtful_warnings(reading: LoadedPlan, options: RunOptions) -> list[PlanFinding]:
    """Returns the warnings that could change order or scope; with --agent, those about agents are left out."""
    doubtful = [warning for warning in reading.plan.warnings if warning.needs_confirmation]
    return [warning for warning in doubtful if not (warning.kind == "agent" and "agent" in options.settings)]


def confirm_doubts(context: Context, home: Home, reading: LoadedPlan, options: RunOptions) -> None:
    """Asks before running a plan whose order or scope may have been misread."""
    count = len(doubtful_warnings(reading, options))
    if not count or options.yes:
        return
    these = f"{count} of the warnings above" if len(reading.plan.warnings) > 1 else "the warning above"
    err(f"With {these}, tasks, their order, their agents or their checks may not be what the plan means.")
    hint = f"correct the plan, or accept it as it is read: {options.command(context, home, yes='')}"
    if not is_interactive() or not confirm("Run it as it is read?"):
        raise Waiting("the plan was not understood completely; nothing was started", hint)


def check_and_ask(
    context: Context, home: Home, config: Config, reading: LoadedPlan, options: RunOptions
) -> tuple[list[Difference], Consent]:
    """Checks and asks everything; returns the changes of tasks and the commands that the user agreed to."""
    branch = feature_branch.branch_to_use(home, branch_of(reading))
    layout.check(home)
    inputs.checked_line(reading.plan.name[:100] or "Plan", "the project's name", 100)
    agreed = consent.load_consents(home, config, context.environment)
    try:
        project = stored_project(home, reading)
    except InvalidFile:
        if branch != home.checkout.branch():
            raise
        return [], agreed  # the state may be restored from a copy; everything is asked then
    if options.settings["isolation"] == "none" and project is not None:
        refuse_leftover_worktrees(context, home, config, project, reading, options)
    diffs = changes(context, home, project, reading)
    agree_to_changes(diffs, options)
    commands = commands_of_run(home, project, diffs, options)
    if options.yes or not is_interactive():  # on a terminal, run_setup asks about the setup
        commands |= {command: ["setup"] for command in setup_questions.missing(context, home, config, options)}
    return diffs, ask(context, home, agreed, commands, options)


def stored_project(home: Home, reading: LoadedPlan) -> ProjectState | None:
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


def changes(context: Context, home: Home, project: ProjectState | None, reading: LoadedPlan) -> list[Difference]:
    """Returns the changes that the import of the plan would make."""
    given = import_plan.intake_of(context, home, reading, "")
    return plan_import.propose_without_project(given) if project is None else plan_import.propose(home, project, given)


def agree_to_changes(diffs: Sequence[Difference], options: RunOptions) -> None:
    """Shows how an import would change existing tasks, and asks for consent."""
    for diff in diffs:
        if diff.kind in ("changed", "gone"):
            err(escape_line(f"task {diff.task}, {diff.number} in the plan: {import_plan.describe_changes(diff)}"))
    import_plan.confirm_changes(diffs, yes=options.yes)


def commands_of_run(
    home: Home, project: ProjectState | None, diffs: Sequence[Difference], options: RunOptions
) -> dict[str, list[str]]:
    """Returns the commands of a run with the ids of their tasks: of the plan, and of unchanged tasks."""
    kept = [task for _, task in task_folder.load_readable(home, project)[0]] if project is not None else []
    coming = {diff.task: diff.wanted for diff in diffs if diff.kind in ("new", "changed")}
    gone = {diff.task for diff in diffs if diff.kind == "gone"}
    wanted = set(options.tasks)
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
    commands = consent_question.commands_of_checks(planned)
    for command, tasks in consent_question.commands_of_tasks(staying, about).items():
        commands[command] = [*commands.get(command, ()), *tasks]
    return commands


def ask(context: Context, home: Home, agreed: Consent, commands: dict[str, list[str]], options: RunOptions) -> Consent:
    """Asks for consent to commands."""
    hint = options.command(context, home, yes="")
    return consent_question.ask_consent(home, context.environment, agreed, commands, yes=options.yes, again=hint)


def refuse_leftover_worktrees(
    context: Context, home: Home, config: Config, project: ProjectState, reading: LoadedPlan, options: RunOptions
) -> None:
    """Refuses a run in one folder if an earlier run left work in worktrees."""
    from sow.gitwork import unmerged_work

    tasks = selected_tasks(home, project, import_plan.intake_of(context, home, reading, "").paths.values(), options)
    usual = config.setting("run", "isolation") == "worktree"
    unmerged_work.refuse_work_elsewhere(
        home, tasks, options.command(context, home, isolation=None if usual else "worktree")
    )


def selected_tasks(home: Home, project: ProjectState, plans: Iterable[str], options: RunOptions) -> list[Task]:
    """Returns the project's tasks that come from these plans and that the run includes."""
    paths, wanted = set(plans), set(options.tasks)
    tasks = [
        task for _, task in task_folder.load_readable(home, project)[0] if task.get("source", {}).get("plan") in paths
    ]
    return [task for task in tasks if not wanted or wanted & {task["id"], task["source"]["id"]}]
