"""Runs a plan, from its file to merged work (`sow run`)."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sow import config as configs
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.plans import import_plan, load
from sow.cli.project.project import prepare_project
from sow.cli.runs import consent_question, feature_branch, git_changes, preflight, setup_questions
from sow.cli.runs.reopened_run import pasteable_command
from sow.cli.runs.settings import check_executors, reviewers_of, settings_of, typed_options
from sow.domain import phase as phases
from sow.engine import consent
from sow.errors import InvalidFile, SowError
from sow.store import git_watch
from sow.store.layout import create_missing
from sow.store.projects import plan_import, restore
from sow.store.projects import project as projects
from sow.system import git
from sow.system.terminal import err, escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.registry import AgentRegistry
    from sow.cli.plans.load import LoadedPlan
    from sow.config import Config
    from sow.domain.actor import Actor
    from sow.domain.checks.consent import Consent
    from sow.domain.documents.state import ProjectState, RunSettings
    from sow.domain.plans.plan_import import Difference
    from sow.store.files.checkout_home import Home
    from sow.store.files.locks import Claim
    from sow.store.projects.plan_import import PlanImport
    from sow.store.runs.run_folder import RunFolder


class RunOptions:
    """The user's options for a run."""

    __slots__ = ("agents", "json", "plan", "reviewers", "settings", "tasks", "typed_options", "update_plan", "yes")

    def __init__(
        self,
        settings: RunSettings,
        agents: AgentRegistry,
        reviewers: list[str],
        *,
        plan: list[str],
        tasks: list[str],
        asked: dict[str, str],
        json: bool,
    ) -> None:
        self.settings = settings
        self.agents = agents
        self.reviewers = reviewers
        self.plan = plan
        self.tasks = tasks
        self.typed_options = asked
        self.yes = "yes" in asked
        self.json = json
        self.update_plan = "update_plan" in asked

    def command(self, context: Context, home: Home, **changes: str | None) -> str:
        """Returns the same call with changed options, as a command to paste; None removes an option."""
        from sow.reports.resume_command import as_arguments

        words = ["run", *self.plan, *(word for task in self.tasks for word in ("--task", task))]
        options = {name: value for name, value in {**self.typed_options, **changes}.items() if value is not None}
        return pasteable_command(context, home, [*words, *as_arguments(options)])


def run(
    context: Context,
    *,
    plan: list[str],
    task: list[str],
    update_plan: bool,
    dry_run: bool,
    yes: bool,
    json: bool,
    **call: str,
) -> int:
    actor = context.require_non_worker("run a plan")
    home = context.checkout()
    if not dry_run:
        home.refuse_second_run()
    config = configs.load(context.environment)
    reading = load.load_valid(context, plan)
    if reading is None:
        return load.BAD_PLAN
    settings = settings_of(config, reading.plan, call)
    agents = context.agents(home.root, config, [str(name) for name in config.setting("review", "agents")])
    reviewers, notes = reviewers_of(config, reading.plan, agents)
    asked = typed_options(call, update_plan=update_plan, yes=yes)
    options = RunOptions(settings, agents, reviewers, plan=plan, tasks=task, asked=asked, json=json)
    _check_executors(context, config, reading, options)
    wanted = _selected_plan_ids(context, home, reading, options)
    if settings["review"] == "on":
        for note in notes:
            err(f"note: {escape_line(note)}")
    if dry_run:
        from sow.cli.runs.dry_run import show_dry_run

        return show_dry_run(context, home, reading, config, options, wanted=wanted)
    preflight.confirm_doubts(context, home, reading, options)
    return _run(context, home, config, reading, options, actor)


def _check_executors(context: Context, config: Config, reading: LoadedPlan, options: RunOptions) -> None:
    """Checks that every program of the run exists before any state is written."""
    from sow.domain.plans.plan_import import agent_of

    settings = options.settings
    if "agent" in settings:
        options.agents.get(settings["agent"])
    roles = {settings.get("agent") or agent_of(task, reading.plan, reading.agents) for task in reading.plan.tasks}
    roles |= set(options.reviewers) if settings["review"] == "on" else set()
    check_executors(context, config, options.agents, settings, roles)


def _run(context: Context, home: Home, config: Config, reading: LoadedPlan, options: RunOptions, actor: Actor) -> int:
    with home.claim("run", purpose=f"sow run of {reading.plan.name[:60]}") as claim:
        _refuse_other_versions(home)
        diffs, agreed = preflight.check_and_ask(context, home, config, reading, options)
        accepted = setup_questions.ask_about_setup(context, home, config, reading, options)
        agreed = agreed.with_more(consent.load_consents(home, config, context.environment).remembered)
        feature_branch.leave_main(home, preflight.branch_of(reading))
        if create_missing(home):
            err(escape_line(f"made {os.path.join(home.root, '.sow')}"))
        for remark in _recover_state(context, home):
            err(f"note: {escape_line(remark)}")
        if options.settings["isolation"] == "none" and projects.exists(home):
            preflight.refuse_leftover_worktrees(context, home, config, projects.load(home), reading, options)
        project, given = _import(context, home, reading, options, actor, diffs)
        chosen = [task["id"] for task in preflight.selected_tasks(home, project, given.paths.values(), options)]
        agreed = _agree_to_stored(context, home, project, chosen, options, agreed)
        folder, goes_on = _open(claim, home, project, given, reading, options, chosen)
        setup_questions.record(folder, accepted)
        remarks = _execute(context, config, folder, project, options, agreed, goes_on=goes_on)
        if options.update_plan:
            from sow.cli.plans.write_back import write_statuses

            files = [os.path.join(context.cwd, name) for name in reading.plan.files]
            write_statuses(context, files, dry_run=False, json=False, quiet=options.json)
    for note in remarks:
        err(f"note: {escape_line(note)}")
    git_changes.offer_undo(home, yes=options.yes or options.json)
    if not options.json:
        from sow.cli.runs import show
        from sow.reports import run_report
        from sow.reports.hint_context import HintContext

        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            show.show(run_report.report_data(home, folder, HintContext(context.environment, context.cwd)))
    return folder.run["exit"]


def _recover_state(context: Context, home: Home) -> list[str]:
    """Repairs state after a crash or a git command of the user; returns remarks about it."""
    from sow.engine.runs import start

    files = restore.restore_run(home)
    notes = [f"state was missing or older, and came back from its last copy: {', '.join(files)}"] if files else []
    return notes + (
        start.recover_project(home, projects.load(home), context.environment) if projects.exists(home) else []
    )


def _open(
    claim: Claim,
    home: Home,
    project: ProjectState,
    given: PlanImport,
    reading: LoadedPlan,
    options: RunOptions,
    chosen: list[str],
) -> tuple[RunFolder, bool]:
    """Returns the run's folder, and whether an earlier run continues."""
    from sow.engine.runs import start

    return start.open_run_folder(
        home,
        project["project_id"],
        claim=claim,
        name=reading.plan.name[:200] or "plan",
        branch=project["branch"],
        base=git.run(["rev-parse", "HEAD"], cwd=home.root).strip(),
        plans=[{"path": path, "digest": given.digests[name]} for name, path in given.paths.items()],
        tasks=chosen,
        settings=options.settings,
    )


def _execute(
    context: Context,
    config: Config,
    folder: RunFolder,
    project: ProjectState,
    options: RunOptions,
    agreed: Consent,
    *,
    goes_on: bool,
) -> list[str]:
    """Executes the run, from its first journal entry to its last; returns remarks about its end."""
    from sow.cli.runs.live import Live
    from sow.engine.runs import finish, start
    from sow.engine.runs.notify import Notifier, combine_ticks
    from sow.engine.runs.plan_run import PlanLoop
    from sow.reports import expected_time
    from sow.system.process.generator_steps import run_to_end

    home = folder.home
    with (
        git_watch.sealed_repository(home),
        Live(json=options.json, expected=expected_time.expected_minutes(folder)) as live,
    ):
        if goes_on:
            live.load_past(folder.journal())
        run_context = start.open_run(
            home,
            config,
            context.environment,
            agents=options.agents,
            folder=folder,
            listeners=[live.tell],
            judges=options.reviewers,
            agreed=agreed,
        )
        with Notifier(run_context, bell=live.ring_bell) as notifier:
            run_context.journal(
                "run_started", **_facts(folder, project), asked=[*options.typed_options], recovered=goes_on
            )
            loop = PlanLoop(run_context, tick=combine_ticks(live.tick, notifier.tick))
            remarks = run_to_end(finish.close(run_context, loop.run()))
            seconds = round(time.monotonic() - run_context.started_at, 3)
            run = folder.run
            run_context.journal("run_ended", status=run["status"], exit=run["exit"], seconds=seconds, **loop.counts())
            remarks += notifier.close()
    return remarks


def _facts(folder: RunFolder, project: ProjectState) -> dict[str, object]:
    from sow.store.projects import task_folder

    wanted = set(folder.run["tasks"])
    tasks = [
        {
            "id": task["id"],
            "number": task["source"]["id"] if "source" in task else "",
            "name": task["name"],
            "agent": task["assigned_agent"],
            "needs": [*task["depends_on"], *task.get("after", ())],
            "estimated_minutes": task.get("estimated_minutes"),
            "status": task["status"],
        }
        for _, task in task_folder.load_readable(folder.home, project)[0]
        if task["id"] in wanted
    ]
    run = folder.run
    return {"run": run["id"], "name": run["name"], "plans": run["plans"], "tasks": tasks, "settings": run["settings"]}


def _refuse_other_versions(home: Home) -> None:
    """Refuses a project of another version of sow; a broken one may be restored later."""
    if projects.exists(home):
        with suppress(InvalidFile):
            projects.load_anywhere(home)


def _import(
    context: Context, home: Home, reading: LoadedPlan, options: RunOptions, actor: Actor, agreed: list[Difference]
) -> tuple[ProjectState, PlanImport]:
    """Imports the plan's tasks; asks again if the changes differ from those that the user saw."""
    given = import_plan.intake_of(context, home, reading, "")
    if not projects.exists(home):
        stages = [phases.DEFAULT_PHASE]
        prepare_project(context, home, name=reading.plan.name[:100] or "Plan", description="", phases=stages)()
    project = projects.load(home)
    diffs = plan_import.propose(home, project, given)
    if plan_import.summary(diffs) != plan_import.summary(agreed):
        preflight.agree_to_changes(diffs, options)
    plan_import.apply(home, given, diffs, actor=actor)
    return projects.load(home), given


def _agree_to_stored(
    context: Context, home: Home, project: ProjectState, chosen: list[str], options: RunOptions, agreed: Consent
) -> Consent:
    """Asks again if restored state has commands that the first check did not see."""
    from sow.store.projects import task_folder

    tasks = [task for _, task in task_folder.load_readable(home, project)[0]]
    return preflight.ask(context, home, agreed, consent_question.commands_of_tasks(tasks, chosen), options)


def _selected_plan_ids(context: Context, home: Home, reading: LoadedPlan, options: RunOptions) -> list[str]:
    """Returns the plan's ids of the tasks given with --task, by plan id or project id; all if none is given."""
    if not options.tasks:
        return [task.id for task in reading.plan.tasks]
    diffs = preflight.changes(context, home, preflight.stored_project(home, reading), reading)
    names = {name: diff.number for diff in diffs for name in (diff.task, diff.number)}
    for ident in options.tasks:
        if ident not in names:
            shown = ", ".join(task.id for task in reading.plan.tasks[:12])
            raise SowError(f"the plan has no task {ident!r:.40}", f"its tasks are: {shown}")
    return [names[ident] for ident in options.tasks]


COMMANDS = (
    Command(
        "run",
        run,
        "Run a plan: each task by the agent of its role, checked, reviewed and merged",
        arguments=(Argument("plan", "A plan file, or a folder of them", repeat=True, completes="files"),),
        options=(
            Option("--max-concurrency", "N", "How many tasks at once"),
            Option("--executor", "NAME", "One executor for every role"),
            Option("--agent", "ROLE", "One role for every task"),
            Option("--task", "ID", "Only this task of the plan", repeat=True),
            Option("--schedule", "HOW", "Start what is ready, or wave by wave", choices=("ready", "waves")),
            Option("--isolation", "HOW", "A worktree for each task, or one folder", choices=("worktree", "none")),
            Option("--review", "HOW", "Whether finished work is reviewed", choices=("on", "off")),
            Option("--baseline", "HOW", "Whether each check list runs on the base commit first", choices=("on", "off")),
            Option("--retries", "N", "How often work is sent back before it becomes a question"),
            Option("--timeout", "DURATION", "How long one turn may take, such as 45m"),
            Option("--max-cost", "USD", "Start nothing new above this cost"),
            Option("--max-wait", "DURATION", "How long to wait for a limit to end"),
            Option(
                "--accept",
                "WHAT",
                "Accept checks that import your checkout's code (results are YELLOW at best)",
                choices=("outside-imports",),
            ),
            Option(
                "--final-checks",
                "HOW",
                "Whether the checks of all merged tasks run on the final tree",
                choices=("on", "off"),
            ),
            Option("--history", "HOW", "One commit for each task, or every commit", choices=("squash", "full")),
            Option("--update-plan", help="Write the statuses back into the plan file"),
            Option(
                "--dry-run",
                help="Show who would do what, every command, how long it takes and what it costs; start nothing",
            ),
            Option("--yes", help="Agree to all commands, to changed tasks, and to warnings about the plan"),
        ),
        json=True,
        details="Commands of the plan, of stored tasks and of setup run only with your consent. It is remembered for\n"
        "this repository and the exact text of a command, also with --yes; checks.allow in your config has patterns.\n"
        "It covers the command, not the scripts that the command runs.\n"
        "Killed at any point, the same command goes on from there. Exit: 0 all done, 1 something failed,\n"
        "4 something waits for a person or a limit, 130 interrupted.",
    ),
)
