"""Runs a plan, from its file to merged work (`sow run`)."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sow import config as configs
from sow.cli import command_consent, feature_branch, git_changes, plan_import, plan_source, run_preflight, run_setup
from sow.cli.aboard import same_call
from sow.cli.context import Context
from sow.cli.project import plan_project
from sow.cli.run_settings import options_asked, reviewers_of, settings_of
from sow.cli.spec import Argument, Command, Option
from sow.domain import phase as phases
from sow.engine import consent
from sow.errors import InvalidFile, SowError
from sow.store import git_watch, intake, restoring
from sow.store import project as projects
from sow.store.layout import lay_out
from sow.system import git
from sow.system.terminal import err, harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.registry import AgentRegistry
    from sow.cli.plan_source import Reading
    from sow.config import Config
    from sow.domain.actor import Actor
    from sow.domain.agreed import Agreed
    from sow.domain.intake import Difference
    from sow.domain.shapes import ProjectState, RunSettings
    from sow.store.claim import Claim
    from sow.store.home import Home
    from sow.store.intake import Intake
    from sow.store.runs import RunFolder

BAD_PLAN = 2


class Wish:
    """The user's options for a run."""

    __slots__ = ("agents", "asked", "json", "plan", "reviewers", "settings", "tasks", "update_plan", "yes")

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
        self.asked = asked
        self.yes = "yes" in asked
        self.json = json
        self.update_plan = "update_plan" in asked

    def again(self, context: Context, home: Home, **changes: str | None) -> str:
        """Returns the same call with changed options, as a command to paste; None removes an option."""
        from sow.engine.go_on import typed

        words = ["run", *self.plan, *(word for task in self.tasks for word in ("--task", task))]
        options = {name: value for name, value in {**self.asked, **changes}.items() if value is not None}
        return same_call(context, home, [*words, *typed(options)])


def run(
    context: Context,
    *,
    plan: list[str],
    task: list[str],
    update_plan: bool,
    dry_run: bool,
    yes: bool,
    json: bool,
    max_concurrency: str,
    executor: str,
    agent: str,
    schedule: str,
    isolation: str,
    review: str,
    baseline: str,
    retries: str,
    timeout: str,
    max_cost: str,
    max_wait: str,
    accept: str,
    final_checks: str,
    history: str,
) -> int:
    actor = context.judge("run a plan")
    home = context.place()
    if not dry_run:
        home.refuse_while_run()
    call = {
        "max_concurrency": max_concurrency,
        "executor": executor,
        "agent": agent,
        "schedule": schedule,
        "isolation": isolation,
        "review": review,
        "baseline": baseline,
        "retries": retries,
        "timeout": timeout,
        "max_cost": max_cost,
        "max_wait": max_wait,
        "accept": accept,
        "final_checks": final_checks,
        "history": history,
    }
    config = configs.load(context.environment)
    reading = plan_source.sound(context, plan)
    if reading is None:
        return BAD_PLAN
    settings = settings_of(config, reading.plan, call)
    agents = _agents(context, home, config)
    reviewers, notes = reviewers_of(config, reading.plan, agents)
    asked = options_asked(call, update_plan=update_plan, yes=yes)
    wish = Wish(settings, agents, reviewers, plan=plan, tasks=task, asked=asked, json=json)
    _check_crew(context, config, reading, wish)
    wanted = _wanted(context, home, reading, wish)
    if settings["review"] == "on":
        for note in notes:
            err(f"note: {harmless_line(note)}")
    if dry_run:
        from sow.cli.run_forecast import foretell

        return foretell(context, home, reading, config, wish, wanted=wanted)
    run_preflight.confirm_doubts(context, home, reading, wish)
    return _run(context, home, config, reading, wish, actor)


def _agents(context: Context, home: Home, config: Config) -> AgentRegistry:
    from sow.agents.registry import AgentRegistry

    user_home = context.environment.get("HOME", "")
    reviewers = [str(name) for name in config.setting("review", "agents")]
    return AgentRegistry(root=home.root, user_home=user_home, trusted=config.trusts(home.root), reviewers=reviewers)


def _check_crew(context: Context, config: Config, reading: Reading, wish: Wish) -> None:
    """Checks that every program of the run exists before any state is written."""
    from sow.domain.intake import agent_of
    from sow.executors.executor import find_binary, missing_binary
    from sow.executors.registry import adapter
    from sow.executors.settings import program

    settings = wish.settings
    if "agent" in settings:
        wish.agents.get(settings["agent"])
    roles = {settings.get("agent") or agent_of(task, reading.plan, reading.agents) for task in reading.plan.tasks}
    roles |= set(wish.reviewers) if settings["review"] == "on" else set()
    for role in sorted(roles):
        wish.agents.get(role)
        names = [settings["executor"]] if "executor" in settings else [config.binding(role)[0]]
        names += [] if "executor" in settings else config.fallbacks.get(role, [])
        for name in names:
            chosen = config.executor(name)
            binary = program(chosen.type, chosen.settings)
            if not find_binary(binary, context.environment):
                raise missing_binary(name, binary, adapter(chosen.type).capabilities.install)


def _run(context: Context, home: Home, config: Config, reading: Reading, wish: Wish, actor: Actor) -> int:
    with home.claim("run", purpose=f"sow run of {reading.plan.name[:60]}") as claim:
        _refuse_other_versions(home)
        diffs, agreed = run_preflight.look_ahead(context, home, config, reading, wish)
        accepted = run_setup.agree(context, home, config, reading, wish)
        agreed = agreed.with_more(consent.agreed_in(home, config, context.environment).remembered)
        feature_branch.leave_main(home, run_preflight.branch_of(reading))
        if lay_out(home):
            err(harmless_line(f"made {os.path.join(home.root, '.sow')}"))
        for remark in _put_in_order(context, home):
            err(f"note: {harmless_line(remark)}")
        if wish.settings["isolation"] == "none" and projects.exists(home):
            run_preflight.refuse_work_apart(context, home, config, projects.load(home), reading, wish)
        project, given = _import(context, home, reading, wish, actor, diffs)
        chosen = [task["id"] for task in run_preflight.chosen(home, project, given.paths.values(), wish)]
        agreed = _agree_to_stored(context, home, project, chosen, wish, agreed)
        folder, goes_on = _open(claim, home, project, given, reading, wish, chosen)
        run_setup.record(folder, accepted)
        remarks = _sail(context, config, folder, project, wish, agreed, goes_on=goes_on)
        if wish.update_plan:
            from sow.cli.plan_update import update

            files = [os.path.join(context.cwd, name) for name in reading.plan.files]
            update(context, files, dry_run=False, json=False, quiet=wish.json)
    for note in remarks:
        err(f"note: {harmless_line(note)}")
    git_changes.settle(home, yes=wish.yes or wish.json)
    if not wish.json:
        from sow.cli import runs_view
        from sow.engine import report
        from sow.engine.standpoint import Standpoint

        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            runs_view.show(report.facts(home, folder, Standpoint(context.environment, context.cwd)))
    return folder.run["exit"]


def _put_in_order(context: Context, home: Home) -> list[str]:
    """Repairs state after a crash or a git command of the user; returns remarks about it."""
    from sow.engine import opening

    files = restoring.bring_run_back(home)
    notes = [f"state was missing or older, and came back from its last copy: {', '.join(files)}"] if files else []
    return notes + (
        opening.put_in_order(home, projects.load(home), context.environment) if projects.exists(home) else []
    )


def _open(
    claim: Claim,
    home: Home,
    project: ProjectState,
    given: Intake,
    reading: Reading,
    wish: Wish,
    chosen: list[str],
) -> tuple[RunFolder, bool]:
    """Returns the run's folder, and whether an earlier run continues."""
    from sow.engine import opening

    return opening.folder_for(
        home,
        project["project_id"],
        claim=claim,
        name=reading.plan.name[:200] or "plan",
        branch=project["branch"],
        base=git.run(["rev-parse", "HEAD"], cwd=home.root).strip(),
        plans=[{"path": path, "digest": given.digests[name]} for name, path in given.paths.items()],
        tasks=chosen,
        settings=wish.settings,
    )


def _sail(
    context: Context,
    config: Config,
    folder: RunFolder,
    project: ProjectState,
    wish: Wish,
    agreed: Agreed,
    *,
    goes_on: bool,
) -> list[str]:
    """Executes the run, from its first journal entry to its last; returns remarks about its end."""
    from sow.cli.live import Live
    from sow.engine import closing, expected, opening
    from sow.engine.notifying import Notifier, in_turn
    from sow.engine.run import PlanLoop
    from sow.engine.steps import drive

    home = folder.home
    with git_watch.guarded(home), Live(json=wish.json, expected=expected.minutes(folder)) as live:
        if goes_on:
            live.recall(folder.journal())
        ship = opening.board_ship(
            home,
            config,
            context.environment,
            agents=wish.agents,
            folder=folder,
            listeners=[live.tell],
            judges=wish.reviewers,
            agreed=agreed,
        )
        with Notifier(ship, bell=live.ring) as notifier:
            ship.tell("run_started", **_facts(folder, project), asked=[*wish.asked], recovered=goes_on)
            loop = PlanLoop(ship, tick=in_turn(live.tick, notifier.tick))
            remarks = drive(closing.close(ship, loop.sail()))
            seconds = round(time.monotonic() - ship.begun, 3)
            run = folder.run
            ship.tell("run_ended", status=run["status"], exit=run["exit"], seconds=seconds, **loop.counts())
            remarks += notifier.close()
    return remarks


def _facts(folder: RunFolder, project: ProjectState) -> dict[str, object]:
    from sow.store import desk as desks

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
        for _, task in desks.load_all(folder.home, project)[0]
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
    context: Context, home: Home, reading: Reading, wish: Wish, actor: Actor, agreed: list[Difference]
) -> tuple[ProjectState, Intake]:
    """Imports the plan's tasks; asks again if the changes differ from those that the user saw."""
    given = plan_import.prepare(context, home, reading, "")
    if not projects.exists(home):
        stages = [phases.DEFAULT_PHASE]
        plan_project(context, home, name=reading.plan.name[:100] or "Plan", description="", phases=stages)()
    project = projects.load(home)
    diffs = intake.propose(home, project, given)
    if intake.summary(diffs) != intake.summary(agreed):
        run_preflight.agree_to_changes(diffs, wish)
    intake.carry_out(home, given, diffs, actor=actor)
    return projects.load(home), given


def _agree_to_stored(
    context: Context, home: Home, project: ProjectState, chosen: list[str], wish: Wish, agreed: Agreed
) -> Agreed:
    """Asks again if restored state has commands that the first check did not see."""
    from sow.store import desk as desks

    tasks = [task for _, task in desks.load_all(home, project)[0]]
    return run_preflight.ask(context, home, agreed, command_consent.of_tasks(tasks, chosen), wish)


def _wanted(context: Context, home: Home, reading: Reading, wish: Wish) -> list[str]:
    """Returns the plan's ids of the tasks given with --task, by plan id or project id; all if none is given."""
    if not wish.tasks:
        return [task.id for task in reading.plan.tasks]
    diffs = run_preflight.changes(context, home, run_preflight.stored(home, reading), reading)
    names = {name: diff.number for diff in diffs for name in (diff.task, diff.number)}
    for ident in wish.tasks:
        if ident not in names:
            shown = ", ".join(task.id for task in reading.plan.tasks[:12])
            raise SowError(f"the plan has no task {ident!r:.40}", f"its tasks are: {shown}")
    return [names[ident] for ident in wish.tasks]


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
