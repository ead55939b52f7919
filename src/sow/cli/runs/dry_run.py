"""Shows what a run would start, run and cost (`sow run --dry-run`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sow.cli.output import emit
from sow.cli.plans.show import cost_text, finding, print_plan
from sow.cli.plans.write_back import statuses_of
from sow.config import Config
from sow.domain.documents.state import RunSettings
from sow.domain.plans import graph
from sow.domain.plans.command_line import is_plain
from sow.domain.runs.dry_run import DryRun
from sow.domain.text.units import counted, format_minutes
from sow.engine import consent
from sow.engine.launch import preflight
from sow.engine.launch.run_request import RunRequest
from sow.engine.turns.allowed_commands import NO_LIST, commands_text, worker_commands
from sow.errors import InvalidFile
from sow.executors.settings import adapter
from sow.store.projects import plan_import
from sow.system.terminal import escape_line, out

SETUP = "setup"
MOST_LISTED = 8  # of the commands that workers may run
OVER = ("completed", "skipped")  # by the plan's own word


def show_dry_run(request: RunRequest, *, wanted: Sequence[str]) -> int:
    """Prints the plan, its commands, its duration and its cost, and starts nothing."""
    config, reading, settings = request.config, request.reading, request.settings
    tasks = reading.plan.tasks
    setup = preflight.forecast_setup(request)
    commands = Commands(request, setup)
    skipped = {task.id for task in tasks if task.status == "skipped"}
    _copy_statuses(request)
    dry_run = DryRun(tasks, set(wanted), skipped=skipped)
    minutes = {task: estimate.minutes for task, estimate in reading.expected().items() if task in dry_run.needs}
    play = graph.schedule if settings["schedule"] == "ready" else graph.schedule_in_waves
    slots = play(dry_run.needs, minutes, workers=settings["max_concurrency"])
    length = max((end for _, _, end in slots), default=0.0)
    roles = {task: settings.get("agent") or role for task, role in reading.roles().items() if task in dry_run.needs}
    money = reading.expected_cost(roles)
    crew = _crew(config, settings, [*roles.values()], request.reviewers)
    for member in crew:
        if member["role"] in roles.values():
            member["commands"] = commands.allowed(config, member["executors"][0], request.home.root)
    if request.json:
        starts = [{"id": task, "start": round(start, 2), "end": round(end, 2)} for start, task, end in slots]
        facts = {"dry_run": True, "settings": settings, "minutes": round(length, 2), "tasks": starts}
        left_alone = [{"id": task, "why": reason} for task, reason in dry_run.skip_reasons.items()]
        facts |= {"goes_on": dry_run.continued, "left_alone": left_alone, "crew": crew, **money}
        facts |= {"setup": setup, "commands": commands.document()}
        return emit({**facts, "warnings": [finding(warning) for warning in reading.plan.warnings]})
    print_plan(reading, json=False)
    out("")
    for member in crew:
        out(escape_line(f"{member['role']}: {', '.join(member['executors'])} ({member['does']})"))
        if "commands" in member:
            yolo = config.executor(member["executors"][0]).yolo
            listed = commands_text(member["commands"], MOST_LISTED) if member["commands"] else NO_LIST[yolo]
            out(f"  may run: {escape_line(listed)}")
    _print_dry_run(dry_run)
    preflight.print_setup(setup)
    commands.print()
    if preflight.doubtful_warnings(request):
        out("the run would first ask about the plan's warnings")
    if not roles:
        out("nothing would be started" if dry_run.skip_reasons else "nothing is left to do")
        return 0
    out(
        f"time: about {format_minutes(length)} for {counted(len(roles), 'task')}, "
        f"at most {settings['max_concurrency']} at once, without waiting times"
    )
    out(cost_text(reading, roles, settings.get("max_cost")))
    out("nothing was started (dry run)")
    return 0


class Commands:
    """The commands that the run would run, with their tasks and the user's consent."""

    def __init__(self, request: RunRequest, setup: dict[str, Any] | None) -> None:
        self.agreed = consent.load_consents(request.home, request.config, request.environment)
        project = None
        with suppress(InvalidFile):  # a real run repairs the state first and asks then
            project = preflight.stored_project(request.home, request.reading)
        differences = preflight.changes(request, project)
        self.changed = [item for item in differences if project is not None and item.kind in ("changed", "gone")]
        setup_commands = setup["commands"] if setup is not None and setup["consent"] != "refused" else []
        self.commands = {command: [SETUP] for command in setup_commands}
        for command, tasks in preflight.commands_of_run(request, project, differences).items():
            self.commands[command] = [*self.commands.get(command, ()), *tasks]

    def document(self) -> list[dict[str, Any]]:
        """Returns the commands as JSON."""
        return [
            {
                "command": command,
                "for": tasks,
                "agreed": bool(self.agreed.reason(command)),
                "why": self.agreed.reason(command),
            }
            for command, tasks in self.commands.items()
        ]

    def allowed(self, config: Config, executor_name: str, root: str) -> list[str] | None:
        """Returns the commands that a worker may run, or None if its CLI gets no list."""
        executor = config.executor(executor_name)
        if executor.yolo or not adapter(executor.type).capabilities.closes:
            return None
        checks = [command for command, tasks in self.commands.items() if tasks != [SETUP]]
        return worker_commands(root, checks, lambda command: is_plain(command) and bool(self.agreed.reason(command)))

    def print(self) -> None:
        """Prints the commands, grouped by program; those of the setup alone are shown with it."""
        for item in self.changed:
            out(escape_line(f"task {item.task}, {item.number} in the plan: {preflight.describe_changes(item)}"))
        checks = [command for command, tasks in self.commands.items() if tasks != [SETUP]]
        if checks:
            out("commands that would run:")
        for name, group in consent.by_program(checks).items():
            out(f"  {escape_line(name)}")
            for command in group:
                tasks = self.commands[command]
                shown = ", ".join(tasks[:12]) + (f" and {len(tasks) - 12} more" if len(tasks) > 12 else "")
                status = self.agreed.reason(command) or "needs your consent"
                out(f"{consent.indented(command, '    ')}  [{shown}: {status}]")


def _print_dry_run(dry_run: DryRun) -> None:
    """Prints the tasks that the run would continue and those that it would leave alone."""
    if dry_run.continued:
        out(escape_line(f"will be continued: {', '.join(dry_run.continued)}"))
    for task, reason in dry_run.skip_reasons.items():
        out(escape_line(f"skipped: task {task} {reason}"))


def _copy_statuses(request: RunRequest) -> None:
    """Gives the plan's tasks the statuses of the stored ones, because a run continues from there."""
    home, reading = request.home, request.reading
    for task in reading.plan.tasks:
        task.status = task.status if task.status in OVER else "pending"
    with suppress(InvalidFile):  # a real run repairs the state first
        project = preflight.stored_project(home, reading)
        statuses = statuses_of(home, project) if project is not None else {}
        for task in reading.plan.tasks:
            plan_path = plan_import.state_path(home, reading.path_of(task.file))
            task.status = statuses.get((plan_path, task.number), task.status)
            task.status = "in_progress" if request.retry_failed and task.status == "failed" else task.status


def _crew(
    config: Config, settings: RunSettings, roles: Sequence[str], reviewers: Sequence[str]
) -> list[dict[str, Any]]:
    """Returns the roles of the run with their executors and fallbacks."""
    judging = list(dict.fromkeys(reviewers)) if settings["review"] == "on" else []
    jobs = {role: f"works on {counted(roles.count(role), 'task')}" for role in dict.fromkeys(roles)}
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
