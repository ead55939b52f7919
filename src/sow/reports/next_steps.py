"""Says what comes next during or after a run, each step as a text and as a command for the folder where it is typed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sow import config as configs
from sow.config import Config
from sow.domain import inbox
from sow.domain.documents.state import RunSettings, Task
from sow.domain.inbox import start_without
from sow.domain.inputs import is_member
from sow.domain.task import FINAL_CHECKS_PREFIX, answer_command
from sow.domain.text.similar_text import without_details
from sow.errors import SowError
from sow.reports import report_text as words
from sow.reports.run_history import RunHistory, read_history
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs.run_folder import RunFolder, is_empty, is_workflow_run


@dataclass(frozen=True)
class HintContext:
    """The folder of the person who reads a hint ("" if unknown) and their environment."""

    environment: Mapping[str, str]
    cwd: str = ""

    def config(self) -> Config:
        """Loads their settings, or the defaults if those cannot be read, so that a hint never fails."""
        from sow import config as configs  # imported here because hints are rare

        try:
            return configs.load(self.environment)
        except SowError:
            return configs.Config("", None, {})

    def sow_command(self, root: str) -> list[str]:
        """Returns how they call sow on a checkout, with --root if their folder belongs to another checkout."""
        from sow.store.files import checkout_home as homes  # imported here because hints are rare

        try:
            checkout = homes.locate(option="", environment=self.environment, cwd=self.cwd).root if self.cwd else ""
        except SowError:
            checkout = ""
        is_same = checkout and os.path.realpath(checkout) == os.path.realpath(root)
        return ["sow"] if is_same else ["sow", "--root", root]

    def plan_path(self, root: str, plan: str) -> str:
        """Returns a plan's path that works in their folder, or an absolute one."""
        full, root = os.path.join(root, plan), os.path.realpath(root)
        folder = os.path.realpath(self.cwd) if self.cwd else ""
        if os.path.isabs(plan) or not f"{folder}/".startswith(f"{root}/"):
            return full
        relative = os.path.relpath(os.path.join(root, plan), folder)
        return f"./{relative}" if relative.startswith("-") else relative


ANY_FOLDER = HintContext({})


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


Step = dict[str, str]

MOST = 8


def steps(run: dict[str, Any], rows: Sequence[dict[str, Any]], resume: str, first: str) -> list[Step]:
    """Returns what a person can do, most urgent first. `resume` continues the run, and `first` must be done before."""
    urgent = [*_questions(rows), *_failures(rows, live=run["live"]), *_orphans(rows), *_broken(rows)][:MOST]
    return [*urgent, *_run(run, rows, resume, first)]


def last_step(home: Home, newest_first: Iterable[RunFolder], *, with_review: bool = True) -> Step | None:
    """Returns the step after the last of a project's runs, if that run has ended.

    With a remote whose host shows its forge, that is the request, otherwise a review and the cleanup.
    `with_review` puts the command of the review into the text.
    """
    plan_runs = (folder for folder in newest_first if folder.run["plans"] and not is_workflow_run(folder.run))
    last = next((folder.run for folder in plan_runs if not is_empty(folder)), None)
    if last is None or last["status"] != "ended":
        return None
    from sow.forge.connect import forge_remote  # here, because only a finished run needs it

    remote = forge_remote(home.root)
    delivery = last.get("delivery")
    if delivery is not None:
        from sow.gitwork.delivered_branch import is_merged
        from sow.gitwork.repository import Repository

        if is_merged(Repository(home), delivery):
            return _step(f"request {delivery.get('number', 0)} is merged: clean up", "sow cleanup")
    review = _review_command(last) if with_review and last.get("merges") else ""
    return (inbox.request(last, remote) if remote else None) or inbox.clean_up(review)


def _step(text: str, command: str) -> Step:
    return {"text": text, "command": command}


def _task_label(row: dict[str, Any]) -> str:
    if is_member(row["id"]):
        return f"agent {row['id']}"
    return f"task {row['plan_id']} ({row['id']})" if row["plan_id"] else f"task {row['id']}"


def _questions(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        if row["outcome"] == "waiting" or (row["question"] and is_member(row["id"])):
            question = row["question"] or {"number": None, "text": "it is paused"}
            alternatives = ' (or answer "waive" or "stop")' if question["text"].startswith(FINAL_CHECKS_PREFIX) else ""
            command = answer_command(str(question["number"] or row["id"]), question["text"])
            advice_for = " (your answer goes to the worker for its next iteration)" if row.get("accept") else ""
            text = without_details(question["text"])
            yield _step(f"{_task_label(row)} {words.asks(question)}: {text}{alternatives or advice_for}", command)
            yield from _accept(row)


def _has_failed(row: dict[str, Any]) -> bool:
    return row["outcome"] == "failed" and row["status"] in ("failed", None)


def _failures(rows: Sequence[dict[str, Any]], *, live: bool) -> Iterator[Step]:
    for row in rows:
        if _has_failed(row):
            reason = f": {row['why']}" if row["why"] else ""
            command = "sow workflow status" if is_member(row["id"]) else f"sow task show {row['id']}"
            yield _step(f"{_task_label(row)} failed{reason}", command)
            if live and row["status"] and not is_member(row["id"]):  # a run does not retry failed tasks
                yield _step(f"to let {_task_label(row)} be tried again", f"sow task set {row['id']} status in_progress")
            yield from _accept(row)


def _accept(row: dict[str, Any]) -> Iterator[Step]:
    """Yields the command that accepts work against a review or a failed check."""
    if row.get("accept"):
        waived = "; sow then no longer runs the failed check" if "--waive" in row["accept"] else ""
        yield _step(f"or accept the work of {_task_label(row)} as it is{waived}", row["accept"])


def _orphans(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    """Yields the way out for tasks that wait for an abandoned task."""
    for row in rows:
        gone = _abandoned_needs(row)
        if gone:
            kept = [need for need in row["needs"] if need not in gone]
            text = f"{_task_label(row)} waits for {', '.join(gone)}, which was abandoned; to start without it"
            yield _step(text, start_without(row["id"], kept))


def _abandoned_needs(row: dict[str, Any]) -> list[str]:
    """Returns the abandoned tasks that a blocked task waits for."""
    needs = row["waits_for"] if row["outcome"] == "blocked" else ()
    return [need["id"] for need in needs if need["outcome"] == "abandoned"]


def _broken(rows: Sequence[dict[str, Any]]) -> Iterator[Step]:
    if any(row["outcome"] == "unknown" for row in rows):
        yield _step("of some tasks nothing is known any more", "sow doctor")


def _run(run: dict[str, Any], rows: Sequence[dict[str, Any]], resume: str, first: str) -> Iterator[Step]:
    """Yields the next steps for the run as a whole."""
    ident, is_crew = run["id"], is_workflow_run(run)  # type: ignore[arg-type]
    if run["live"]:
        yield _step("a run is in progress; follow it", "sow watch")
        yield _step("or stop it, and continue later", f"sow runs stop {ident}")
        return
    failed = [row for row in rows if _has_failed(row) and row["status"] and not is_crew]
    if failed:
        what = f"the {len(failed)} failed tasks" if len(failed) > 1 else _task_label(failed[0])
        yield _step(f"{first}, and try {what} again" if first else f"to try {what} again", f"{resume} --retry-failed")
    covered = {"completed", "abandoned", *(("failed", "blocked") if failed else ())}  # by --retry-failed
    if any(row["outcome"] not in covered or row.get("accept") or _abandoned_needs(row) for row in rows):
        why = _continue_text(rows)
        yield _step(f"{first}, and {why.removeprefix('then ')}" if first else why, resume)
    is_open = any(row["outcome"] not in ("completed", "abandoned", "failed") for row in rows)
    delivery = None if is_crew else inbox.delivery(run, is_open=is_open)
    if delivery is not None:
        yield delivery
    if any(row["merges"] for row in rows) and not is_crew:
        yield _step("review the result", _review_command(run))


def _review_command(run: Mapping[str, Any]) -> str:
    return f"git log --stat {run['base'][:12]}..{_branch(run)}"


def _branch(run: Mapping[str, Any]) -> str:
    """Returns the branch of the work: the user's branch once the run is delivered, the run's own before."""
    return shlex.quote(run["branch"]) if run["status"] == "ended" else f"sow/int/{run['id']}"


def _continue_text(rows: Sequence[dict[str, Any]]) -> str:
    open_tasks = sum(row["outcome"] in ("pending", "running") for row in rows)
    if open_tasks:
        return f"continue with the {open_tasks} open tasks" if open_tasks > 1 else "continue with the open task"
    return "then continue"
