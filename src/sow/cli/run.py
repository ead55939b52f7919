"""sow run: a plan, from its file to merged work."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sow import config as configs
from sow.cli import feature_branch, plan_import, plan_source, shell_consent
from sow.cli.context import Context
from sow.cli.project import plan_project
from sow.cli.run_settings import options_asked, reviewers_of, settings_of
from sow.cli.spec import Argument, Command, Option
from sow.domain import phase as phases
from sow.domain.ids import slug_of
from sow.errors import InvalidFile, SowError
from sow.store import intake, restoring
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
    from sow.domain.shapes import ProjectState, RunSettings
    from sow.store.claim import Claim
    from sow.store.home import Home
    from sow.store.intake import Intake
    from sow.store.runs import RunFolder

BAD_PLAN = 2


class Wish:
    """How a person wants the plan to be run, and by whom."""

    __slots__ = ("agents", "asked", "json", "reviewers", "settings", "tasks", "update_plan", "yes")

    def __init__(
        self,
        settings: RunSettings,
        agents: AgentRegistry,
        reviewers: list[str],
        *,
        tasks: list[str],
        asked: dict[str, str],
        json: bool,
    ) -> None:
        self.settings = settings
        self.agents = agents
        self.reviewers = reviewers
        self.tasks = tasks
        self.asked = asked
        self.yes = "yes" in asked
        self.json = json
        self.update_plan = "update_plan" in asked


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
    }
    config = configs.load(context.environment)
    reading = plan_source.sound(context, plan)
    if reading is None:
        return BAD_PLAN
    settings = settings_of(config, reading.plan, call)
    agents = _agents(context, home, config)
    reviewers, said = reviewers_of(config, reading.plan, agents)
    asked = options_asked(call, update_plan=update_plan, yes=yes)
    wish = Wish(settings, agents, reviewers, tasks=task, asked=asked, json=json)
    _check_crew(context, config, reading, wish)
    wanted = _wanted(context, home, reading, wish)
    if settings["review"] == "on":
        for each in said:
            err(f"note: {harmless_line(each)}")
    if dry_run:
        from sow.cli.run_forecast import foretell

        return foretell(context, home, reading, config, settings, wanted=wanted, reviewers=reviewers, json=json)
    return _run(context, home, config, reading, wish, actor)


def _agents(context: Context, home: Home, config: Config) -> AgentRegistry:
    from sow.agents.registry import AgentRegistry

    user_home = context.environment.get("HOME", "")
    reviewers = [str(each) for each in config.setting("review", "agents")]
    return AgentRegistry(root=home.root, user_home=user_home, trusted=config.trusts(home.root), reviewers=reviewers)


def _check_crew(context: Context, config: Config, reading: Reading, wish: Wish) -> None:
    """Every program that the run may start is looked for before the first state is written."""
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
        _agree_to_shell(context, reading, wish)
        _refuse_other_versions(home)
        feature_branch.leave_main(home, f"sow/{slug_of(reading.plan.name) or 'plan'}")
        if lay_out(home):
            err(harmless_line(f"made {os.path.join(home.root, '.sow')}"))
        for said in _put_in_order(context, home):
            err(f"note: {harmless_line(said)}")
        if wish.settings["isolation"] == "none":
            _refuse_work_apart(context, home, config, reading, wish)
        project, given = _import(context, home, reading, wish, actor)
        folder, goes_on = _open(claim, home, project, given, reading, wish)
        remarks = _sail(context, config, folder, project, wish, goes_on=goes_on)
        if wish.update_plan:
            from sow.cli.plan_update import update

            files = [os.path.join(context.cwd, each) for each in reading.plan.files]
            update(context, files, dry_run=False, json=False, quiet=wish.json)
    for each in remarks:
        err(f"note: {harmless_line(each)}")
    if not wish.json:
        from sow.cli import runs_view
        from sow.engine import report
        from sow.engine.standpoint import Standpoint

        with suppress(BrokenPipeError):  # the run has ended so, whoever reads of it
            runs_view.show(report.facts(home, folder, Standpoint(context.environment, context.cwd)))
    return folder.run["exit"]


def _put_in_order(context: Context, home: Home) -> list[str]:
    """What a crash or the user's git left is mended before the plan is compared with it; returns what was found."""
    from sow.engine import opening

    back = restoring.bring_run_back(home)
    said = [f"state was missing or older, and came back from its last copy: {', '.join(back)}"] if back else []
    return said + (
        opening.put_in_order(home, projects.load(home), context.environment) if projects.exists(home) else []
    )


def _open(
    claim: Claim, home: Home, project: ProjectState, given: Intake, reading: Reading, wish: Wish
) -> tuple[RunFolder, bool]:
    """The run's folder, and whether it goes on."""
    from sow.engine import opening

    return opening.folder_for(
        home,
        project["project_id"],
        claim=claim,
        name=reading.plan.name[:200] or "plan",
        branch=project["branch"],
        base=git.run(["rev-parse", "HEAD"], cwd=home.root).strip(),
        plans=[{"path": path, "digest": given.digests[name]} for name, path in given.paths.items()],
        tasks=_chosen(home, project, given, wish),
        settings=wish.settings,
    )


def _sail(
    context: Context, config: Config, folder: RunFolder, project: ProjectState, wish: Wish, *, goes_on: bool
) -> list[str]:
    """The run from its first entry in the journal to the last; returns what there is to say about its end."""
    from sow.cli.live import Live
    from sow.engine import closing, expected, opening
    from sow.engine.notifying import Notifier, in_turn
    from sow.engine.run import PlanLoop
    from sow.engine.steps import drive

    home = folder.home
    with Live(json=wish.json, expected=expected.minutes(folder)) as live:
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
    """A project of an older or newer sow is refused before anything is made; what is broken can come back later."""
    if projects.exists(home):
        with suppress(InvalidFile):
            projects.load_anywhere(home)


def _refuse_work_apart(context: Context, home: Home, config: Config, reading: Reading, wish: Wish) -> None:
    """Work that an earlier run left in worktrees is not done in one folder: that is said before anything is written."""
    import shlex

    from sow.engine import apart
    from sow.engine.go_on import typed
    from sow.store import desk as desks

    if not projects.exists(home):
        return
    project = projects.load(home)
    chosen = _chosen(home, project, plan_import.prepare(context, home, reading, ""), wish)
    again = {name: value for name, value in wish.asked.items() if name != "isolation"}
    again |= {} if config.setting("run", "isolation") == "worktree" else {"isolation": "worktree"}
    words = ["sow", "run", *reading.plan.files, *(word for task in wish.tasks for word in ("--task", task))]
    tasks = [task for _, task in desks.load_all(home, project)[0] if task["id"] in chosen]
    apart.refuse(home, tasks, shlex.join([*words, *typed(again)]))


def _import(context: Context, home: Home, reading: Reading, wish: Wish, actor: Actor) -> tuple[ProjectState, Intake]:
    """The plan's tasks as tasks of the project; a change to those that are here needs consent."""
    given = plan_import.prepare(context, home, reading, "")
    if not projects.exists(home):
        stages = [phases.DEFAULT_PHASE]
        plan_project(context, home, name=reading.plan.name[:100] or "Plan", description="", phases=stages)()
    project = projects.load(home)
    found = intake.propose(home, project, given)
    for each in found:
        if each.kind in ("changed", "gone"):
            err(harmless_line(f"task {each.task}, {each.number} in the plan: {plan_import.changes(each)}"))
    plan_import.agree(found, yes=wish.yes)
    intake.carry_out(home, given, found, actor=actor)
    return projects.load(home), given


def _agree_to_shell(context: Context, reading: Reading, wish: Wish) -> None:
    """Commands that only a shell understands are shown and agreed to, once for each plan as it stands."""
    from sow.domain.intake import checks_of
    from sow.engine.checking import shell_commands
    from sow.store import consents

    commands = shell_commands([check for task in reading.plan.tasks for check in checks_of(task)])
    mark = intake.digest("\n".join(source.text for source in reading.sources))
    if not commands or consents.has(context.environment, mark):
        return
    if not wish.yes:
        shell_consent.ask(commands, otherwise="change the plan, or agree to its commands")
    consents.give(context.environment, mark)


def _wanted(context: Context, home: Home, reading: Reading, wish: Wish) -> list[str]:
    """The plan's ids of the tasks that are asked for, by their number there or their id here; all where none is."""
    if not wish.tasks:
        return [task.id for task in reading.plan.tasks]
    given = plan_import.prepare(context, home, reading, "")
    known = projects.exists(home)
    found = intake.propose(home, projects.load(home), given) if known else intake.propose_fresh(given)
    names = {name: each.number for each in found for name in (each.task, each.number)}
    for each in wish.tasks:
        if each not in names:
            shown = ", ".join(task.id for task in reading.plan.tasks[:12])
            raise SowError(f"the plan has no task {each!r:.40}", f"its tasks are: {shown}")
    return [names[each] for each in wish.tasks]


def _chosen(home: Home, project: ProjectState, given: Intake, wish: Wish) -> list[str]:
    """The project's ids of the tasks that this run is about."""
    from sow.store import desk as desks

    paths = set(given.paths.values())
    tasks = [task for _, task in desks.load_all(home, project)[0] if task.get("source", {}).get("plan") in paths]
    wanted = set(wish.tasks)
    return [task["id"] for task in tasks if not wanted or wanted & {task["id"], task["source"]["id"]}]


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
            Option("--update-plan", help="Write the statuses back into the plan file"),
            Option(
                "--dry-run", help="Show who would do what, how long it would take and what it would cost; start nothing"
            ),
            Option("--yes", help="Agree to changed tasks and to the plan's shell commands"),
        ),
        json=True,
        details="Killed at any point, the same command goes on from there. Exit: 0 all done, 1 something failed,\n"
        "4 something waits for a person or a limit, 130 interrupted.",
    ),
)
