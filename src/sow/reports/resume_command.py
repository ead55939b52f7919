"""Builds the command that continues a run or a task, for the folder in which it will be typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sow import config as configs
from sow.config import Config
from sow.domain.documents.state import RunSettings, Task
from sow.errors import SowError
from sow.reports.hint_context import HintContext
from sow.reports.run_history import RunHistory, read_history
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs.run_folder import RunFolder, is_workflow_run

# The only options of a workflow's run.
WORKFLOW_OPTIONS = frozenset({"max_concurrency", "executor", "timeout", "max_cost", "max_wait", "yes"})
FLAGS = ("parallel_stories", "update_plan", "yes")
# Settings with the same name in the config.
CONFIG_OPTIONS = ("max_concurrency", "schedule", "isolation", "retries", "final_checks", "history", "baseline")
OTHER_HOSTS = {"on", "cluster"}  # options that name the hosts of a run
BUDGET = "the budget of "  # prefix of the reason if a budget stops the run
OF_THE_PLAN = ("network", "sandbox")  # settings without an option
UNITS = (("d", 86400), ("h", 3600), ("m", 60))

OPTIONAL_VALUES = ("cluster",)
IMPLIED = "configured"  # the value of an option without its optional value


def resume_command(folder: RunFolder, hint_context: HintContext, history: RunHistory | None = None) -> str:
    """Returns the command, with the options that the run was started with or that now differ from the config."""
    run, root = folder.run, folder.home.root
    plans = [plan["path"] for plan in run["plans"]]
    config = hint_context.config()
    used_history = history or _options_and_costs(folder, config)
    used = used_history.used_options
    options = _options(run["settings"], config, used) | _raised_budget(folder, config, used_history)
    options |= {name: "" for name in FLAGS if name in used}
    if options.keys() & OTHER_HOSTS and "max_concurrency" not in used:
        options.pop("max_concurrency", None)  # the sum of what the hosts take
    if is_workflow_run(run):
        arguments = ["workflow", "run"]
        options = {name: value for name, value in options.items() if name in WORKFLOW_OPTIONS}
    elif not plans:  # its tasks follow up on findings of a request
        arguments, options = ["deliver", "watch"], {}
    else:
        arguments = ["run", *(hint_context.plan_path(root, path) for path in plans)]
        arguments += [argument for task in _selected_tasks(folder) for argument in ("--task", task)]
    return shlex.join([*hint_context.sow_command(root), *arguments, *as_arguments(options)])


def as_arguments(options: Mapping[str, str]) -> list[str]:
    """Returns options as arguments of a command. A flag has no value, and an optional value follows =."""
    arguments = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value and name in OPTIONAL_VALUES:
            arguments += [flag if value == IMPLIED else f"{flag}={value}"]
        else:
            arguments += [flag, value] if value else [flag]
    return arguments


def _options_and_costs(folder: RunFolder, config: Config) -> RunHistory:
    """Returns the part of a run's history that its command needs: the costs only if there is a budget."""
    costs = () if _budget(folder, config) is None else ("turn_ended",)
    try:
        return read_history(folder, "run_started", *costs)
    except SowError:  # if the journal cannot be read, the hint goes without its options
        return RunHistory()


def _budget(folder: RunFolder, config: Config) -> Any:
    return folder.run["settings"].get("max_cost", config.setting("budgets", "run_usd"))


def _options(settings: RunSettings, config: Config, used: list[Any]) -> dict[str, str]:
    """Returns each option's value by its name in the settings. Used options override the plan."""
    defaults: dict[str, Any] = {name: config.setting("run", name) for name in CONFIG_OPTIONS}
    defaults["review"] = "on" if config.setting("review", "enabled") else "off"
    defaults["max_wait"] = configs.seconds(str(config.setting("run", "max_wait")))
    return {
        name: _option_value(name, value)
        for name, value in settings.items()
        if name not in OF_THE_PLAN and (name in used or value != defaults.get(name))
    }


def _option_value(name: str, value: object) -> str:
    if name not in ("timeout", "max_wait") or not isinstance(value, int | float):
        return str(value).removesuffix(".0")
    if value % 1:
        return f"{round(value * 1000)}ms"
    unit, size = next(((unit, size) for unit, size in UNITS if value and not value % size), ("s", 1))
    return f"{round(value / size)}{unit}"


def precondition(folder: RunFolder, hint_context: HintContext, history: RunHistory) -> str:
    """Returns what must happen first if a run has spent its budget. `resume_command` raises a budget in money."""
    if _spent(folder, hint_context.config(), history):
        return f"{history.budget_reason or 'its budget is spent'}: raise it"
    return f"{history.budget_reason}: raise it (sow config edit)" if history.budget_reason.startswith(BUDGET) else ""


def _spent(folder: RunFolder, config: Config, history: RunHistory) -> tuple[float, float] | None:
    """Returns a run's budget and cost if the budget is spent."""
    limit, cost = _budget(folder, config), history.total.usd
    return (float(limit), cost) if limit is not None and cost >= limit else None


def _raised_budget(folder: RunFolder, config: Config, history: RunHistory) -> dict[str, str]:
    """Returns a raised budget if the old one is spent, because otherwise nothing would start."""
    spent = _spent(folder, config, history)
    if spent is None:
        return {}
    cents = -int(-sum(spent) * 100 // 1)
    return {"max_cost": f"{cents / 100 or 1:.2f}"}


def _selected_tasks(folder: RunFolder) -> list[str]:
    """Lists the tasks of a run that does not include all tasks of its plans."""
    home, run = folder.home, folder.run
    try:
        project = projects.load(home)
        other_tasks = {folder.id for folder in task_folders.all_folders(home, project)} - set(run["tasks"])
        if not other_tasks or project["project_id"] != run["project_id"]:
            return []
        plans = {plan["path"] for plan in run["plans"]}
        omitted = [task for _, task in task_folders.load_readable(home, project)[0] if task["id"] in other_tasks]
    except SowError:  # the other tasks are not known any more
        return []
    return list(run["tasks"]) if any(task.get("source", {}).get("plan") in plans for task in omitted) else []


def task_resume_command(folder: TaskFolder, task: Task) -> str:
    """Returns the command that continues the work on a task."""
    from sow.domain import inbox  # here, because few calls come to this

    return inbox.resume_command(task, resumes=is_resumable(folder, task))


def is_resumable(folder: TaskFolder, task: Task) -> bool:
    """Returns whether the CLI of a task's session can resume it; an unknown CLI is assumed to."""
    from sow.executors.settings import recorded_adapter
    from sow.store.runs import sessions

    record = sessions.current(folder, task["session_id"]) if "session_id" in task else None
    return record is None or recorded_adapter(record.session["type"]).capabilities.resumes
