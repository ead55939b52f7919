"""`sow run --dry-run`: what would be started, by whom, how long it would take, and what it would cost."""

from __future__ import annotations

from contextlib import suppress

from sow.cli import command_consent, run_preflight, run_setup
from sow.cli.output import emit
from sow.cli.plan_import import changes
from sow.cli.plan_source import path_of
from sow.cli.plan_update import statuses_of
from sow.cli.plan_view import finding, show
from sow.domain import graph
from sow.domain.duration import duration
from sow.domain.intake import agent_of
from sow.domain.money import dollars
from sow.domain.outlook import Outlook
from sow.engine import consent
from sow.errors import InvalidFile
from sow.store import intake
from sow.system.terminal import harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sow.cli.context import Context
    from sow.cli.plan_source import Reading
    from sow.cli.run import Wish
    from sow.config import Config
    from sow.domain.shapes import RunSettings
    from sow.store.home import Home

SETUP = "setup"
OVER = ("completed", "skipped")  # by the plan's own word


def foretell(
    context: Context,
    home: Home,
    reading: Reading,
    config: Config,
    wish: Wish,
    *,
    wanted: Sequence[str],
) -> int:
    """Show the plan, its commands, the time of its rest with so many at once, and its cost; nothing is started."""
    settings, tasks = wish.settings, reading.plan.tasks
    setup = run_setup.forecast(context, home, config, reading, settings)
    commands = Commands(context, home, config, reading, wish, setup)
    skipped = {task.id for task in tasks if task.status == "skipped"}
    _recall(context, home, reading)
    outlook = Outlook(tasks, set(wanted), skipped=skipped)
    minutes = {task: each.minutes for task, each in reading.expected().items() if task in outlook.needs}
    play = graph.schedule if settings["schedule"] == "ready" else graph.schedule_in_waves
    slots = play(outlook.needs, minutes, workers=settings["max_concurrency"])
    length = max((end for _, _, end in slots), default=0.0)
    roles = {
        task.id: settings.get("agent") or agent_of(task, reading.plan, reading.agents)
        for task in tasks
        if task.id in outlook.needs
    }
    money = _money(reading, roles)
    crew = _crew(config, settings, [*roles.values()], wish.reviewers)
    if wish.json:
        starts = [{"id": task, "start": round(start, 2), "end": round(end, 2)} for start, task, end in slots]
        facts = {"dry_run": True, "settings": settings, "minutes": round(length, 2), "tasks": starts}
        left = [{"id": task, "why": why} for task, why in outlook.left_alone.items()]
        facts |= {"goes_on": outlook.goes_on, "left_alone": left, "crew": crew, **money}
        facts |= {"setup": setup, "commands": commands.document()}
        emit({**facts, "warnings": [finding(each) for each in reading.plan.warnings]})
        return 0
    show(reading, json=False)
    out("")
    for each in crew:
        out(harmless_line(f"{each['role']}: {', '.join(each['executors'])} ({each['does']})"))
    _say(outlook)
    run_setup.say(setup)
    commands.say()
    if run_preflight.doubts(reading, wish):
        out("the run would ask about the plan's warnings first")
    if not roles:
        out("nothing of it would be started" if outlook.left_alone else "nothing of it is left to do")
        return 0
    what = f"{len(roles)} task{'s' * (len(roles) != 1)}"
    out(f"{what} with {settings['max_concurrency']} at once: about {duration(length)} of work, waits not counted")
    out(_price(money, settings.get("max_cost")))
    out("nothing was started (dry run)")
    return 0


class Commands:
    """Every command that the run would run, with its tasks and whether the user agreed to it."""

    __slots__ = ("agreed", "changed", "commands")

    def __init__(
        self,
        context: Context,
        home: Home,
        config: Config,
        reading: Reading,
        wish: Wish,
        setup: dict[str, Any] | None,
    ) -> None:
        self.agreed = consent.agreed_in(home, config, context.environment)
        project = None
        with suppress(InvalidFile):  # a run repairs it first, and asks then
            project = run_preflight.stored(home, reading)
        found = run_preflight.changes(context, home, project, reading)
        self.changed = [each for each in found if project is not None and each.kind in ("changed", "gone")]
        used = setup["commands"] if setup is not None and setup["consent"] != "refused" else []
        self.commands = {each: [SETUP] for each in used}
        for command, tasks in run_preflight.of_run(home, project, found, wish).items():
            self.commands[command] = [*self.commands.get(command, ()), *tasks]

    def document(self) -> list[dict[str, Any]]:
        """The commands as JSON."""
        return [
            {
                "command": command,
                "for": tasks,
                "agreed": bool(self.agreed.why(command)),
                "why": self.agreed.why(command),
            }
            for command, tasks in self.commands.items()
        ]

    def say(self) -> None:
        """Print the commands, grouped by program; those of the setup alone are shown with it."""
        for each in self.changed:
            out(harmless_line(f"task {each.task}, {each.number} in the plan: {changes(each)}"))
        checks = [command for command, tasks in self.commands.items() if tasks != [SETUP]]
        if checks:
            out("commands that would run:")
        for name, group in command_consent.by_program(checks).items():
            out(f"  {harmless_line(name)}")
            for command in group:
                tasks = self.commands[command]
                shown = ", ".join(tasks[:12]) + (f" and {len(tasks) - 12} more" if len(tasks) > 12 else "")
                why = self.agreed.why(command) or "needs your consent"
                out(f"{command_consent.shown(command, '    ')}  [{shown}: {why}]")


def _say(outlook: Outlook) -> None:
    """What the run would find begun, and what it would not touch."""
    if outlook.goes_on:
        out(harmless_line(f"begun already, and gone on with: {', '.join(outlook.goes_on)}"))
    for task, why in outlook.left_alone.items():
        out(harmless_line(f"left alone: {task} {why}"))


def _recall(context: Context, home: Home, reading: Reading) -> None:
    """Let the plan's tasks stand as those of the project do, which is where a run goes on; new ones begin."""
    for task in reading.plan.tasks:
        task.status = task.status if task.status in OVER else "pending"
    with suppress(InvalidFile):  # a run repairs it first
        project = run_preflight.stored(home, reading)
        known = statuses_of(home, project) if project is not None else {}
        for task in reading.plan.tasks:
            place = intake.place_of(home, path_of(context, task.file))
            task.status = known.get((place, task.number), task.status)


def _crew(
    config: Config, settings: RunSettings, roles: Sequence[str], reviewers: Sequence[str]
) -> list[dict[str, Any]]:
    """Who plays which role, with those that take over at a limit."""
    judging = list(dict.fromkeys(reviewers)) if settings["review"] == "on" else []
    jobs = {role: f"works on {roles.count(role)}" for role in dict.fromkeys(roles)}
    for role in judging:
        jobs[role] = f"{jobs[role]}, reviews" if role in jobs else "reviews"
    fixed = [settings["executor"]] if "executor" in settings else []
    return [
        {
            "role": role,
            "executors": fixed or list(dict.fromkeys([config.binding(role)[0], *config.fallbacks.get(role, [])])),
            "does": does,
        }
        for role, does in jobs.items()
    ]


def _money(reading: Reading, roles: dict[str, str]) -> dict[str, Any]:
    """The usual cost of the tasks together, and of how many of them nobody knows it."""
    forecast = reading.forecast()
    known = [cost for cost in map(forecast.cost, roles.values()) if cost is not None]
    return {"cost_usd": round(sum(known), 4) if known else None, "cost_unknown": len(roles) - len(known)}


def _price(money: dict[str, Any], most: float | None) -> str:
    """The cost in words; one above --max-cost is said before it is met."""
    if money["cost_usd"] is None:
        return "cost: unknown, no finished task with a known cost is here"
    above = f", which is above --max-cost {dollars(most)}" if most is not None and money["cost_usd"] > most else ""
    return f"cost: about {dollars(money['cost_usd'])}, by what such tasks cost before{above}"
