"""The command that goes on with a run as its user had asked for it, for the folder in which it will be typed."""

from __future__ import annotations

import shlex

from sow import config as configs
from sow.engine import report_crew
from sow.engine.history import History
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.config import Config
    from sow.domain.shapes import RunSettings, Task
    from sow.engine.standpoint import Standpoint
    from sow.store.desk import Desk
    from sow.store.runs import RunFolder

# What a workflow's run has no option for is fixed there.
OF_A_CREW = frozenset({"max_concurrency", "executor", "timeout", "max_cost", "max_wait", "yes"})
FLAGS = ("update_plan", "yes")
# Settings with the same name in the config.
SAME = ("max_concurrency", "schedule", "isolation", "retries", "final_checks", "history", "baseline")
BUDGET = "the budget of "  # so begins why nothing starts any more, where it is that
UNITS = (("d", 86400), ("h", 3600), ("m", 60))


def command(folder: RunFolder, standpoint: Standpoint, history: History | None = None) -> str:
    """What to type; options are named that the run was called with, or that the config now has another value for."""
    run, root = folder.run, folder.home.root
    plans = [each["path"] for each in run["plans"]]
    config = standpoint.config()
    asked = _asked(folder, history)
    options = _options(run["settings"], config, asked) | _raised(folder, config, history)
    options |= {name: "" for name in FLAGS if name in asked}
    if report_crew.is_crew(plans):
        words = ["workflow", "run"]
        options = {name: value for name, value in options.items() if name in OF_A_CREW}
    else:
        words = ["run", *(standpoint.path(root, each) for each in plans or ["PLAN"])]
        words += [word for task in _chosen(folder) for word in ("--task", task)]
    return shlex.join([*standpoint.sow(root), *words, *typed(options)])


def typed(options: Mapping[str, str]) -> list[str]:
    """Options as the words of a command; a flag has no value."""
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value) if word]


def _asked(folder: RunFolder, history: History | None) -> list[Any]:
    """The names of the options that the last call of a run had, as its journal tells."""
    try:
        return (history or History(folder.journal("run_started"))).asked
    except SowError:  # of a journal that cannot be read; a hint is no place for complaints
        return []


def _options(settings: RunSettings, config: Config, asked: list[Any]) -> dict[str, str]:
    """Each option's value, by its name in the settings; one that was asked for goes over what the plan says."""
    usual: dict[str, Any] = {name: config.setting("run", name) for name in SAME}
    usual["review"] = "on" if config.setting("review", "enabled") else "off"
    usual["max_wait"] = configs.seconds(str(config.setting("run", "max_wait")))
    return {name: _word(name, value) for name, value in settings.items() if name in asked or value != usual.get(name)}


def _word(name: str, value: object) -> str:
    """A setting as the command line takes it."""
    if name not in ("timeout", "max_wait") or not isinstance(value, int | float):
        return str(value).removesuffix(".0")
    if value % 1:
        return f"{round(value * 1000)}ms"
    unit, size = next(((unit, size) for unit, size in UNITS if value and not value % size), ("s", 1))
    return f"{round(value / size)}{unit}"


def before(folder: RunFolder, standpoint: Standpoint, history: History) -> str:
    """What has to be done for a run that spent its budget; the command above raises one of money by itself."""
    if _spent(folder, standpoint.config(), history):
        return f"{history.spent or 'its budget is spent'}: raise it"
    return f"{history.spent}: raise it (sow config edit)" if history.spent.startswith(BUDGET) else ""


def _spent(folder: RunFolder, config: Config, history: History | None) -> tuple[float, float] | None:
    """The budget of a run and what it has cost, where nothing is left of it."""
    limit = folder.run["settings"].get("max_cost", config.setting("budgets", "run_usd"))
    if limit is None:
        return None
    told = history or History(folder.journal("run_started", "turn_ended"))
    cost = sum(turn.cost or 0.0 for turn in told.turns)
    return (float(limit), cost) if cost >= limit else None


def _raised(folder: RunFolder, config: Config, history: History | None) -> dict[str, str]:
    """A budget that is spent, raised by as much again: with the old one nothing would start."""
    found = _spent(folder, config, history)
    if found is None:
        return {}
    cents = -int(-sum(found) * 100 // 1)
    return {"max_cost": f"{cents / 100 or 1:.2f}"}


def _chosen(folder: RunFolder) -> list[str]:
    """The tasks of a run that is not about all tasks of its plans."""
    home, run = folder.home, folder.run
    try:
        project = projects.load(home)
        others = {desk.id for desk in desks.desks(home, project)} - set(run["tasks"])
        if not others or project["project_id"] != run["project_id"]:
            return []
        plans = {each["path"] for each in run["plans"]}
        left_out = [task for _, task in desks.load_all(home, project)[0] if task["id"] in others]
    except SowError:  # nobody knows any more what there was besides
        return []
    return list(run["tasks"]) if any(task.get("source", {}).get("plan") in plans for task in left_out) else []


def door(desk: Desk, task: Task) -> str:
    """The command by which work on a task goes on."""
    from sow.domain import advice  # here, because few calls come to this

    return advice.door(task, resumes=is_resumable(desk, task))


def is_resumable(desk: Desk, task: Task) -> bool:
    """Whether the CLI of a task's session can go on with it; of one that is not known here, nobody can say no."""
    from sow.executors.registry import adapter as find_adapter
    from sow.store import sessions

    record = sessions.current(desk, task["session_id"]) if "session_id" in task else None
    return record is None or find_adapter(record.session["type"]).capabilities.resumes
