"""Writes the statuses of tasks back into the plans they came from (`sow plan update`)."""

from __future__ import annotations

import os

from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.plans.load import known_agents, print_finding, print_warnings
from sow.domain.documents.state import ProjectState, Task
from sow.domain.plans.plan import PlanSource, file_and_tag
from sow.errors import SowError
from sow.plans import reader
from sow.plans.reader import format_of
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.write_back import with_progress, with_statuses
from sow.store.files.checkout_home import Home
from sow.store.projects import plan_files, plan_import, task_folder
from sow.store.projects import project as projects
from sow.system import clock
from sow.system.terminal import escape_control, escape_line, notes, out

# status of a task → status in a plan
PLAN_STATUS = {
    "pending": "pending",
    "in_progress": "in_progress",
    "needs_review": "in_progress",
    "paused": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "abandoned": "skipped",
}


def update(context: Context, *, plan: list[str], dry_run: bool, json: bool) -> int:
    context.require_non_worker("write into a plan")
    return write_statuses(context, plan, dry_run=dry_run, json=json, warns=True)


def write_statuses(
    context: Context, paths: list[str], *, dry_run: bool, json: bool, quiet: bool = False, warns: bool = False
) -> int:
    """Writes the statuses into the given plans, or into all imported ones; `warns` prints the plans' warnings."""
    home = context.project_home()
    project = projects.load(home)
    plan_paths = paths or [os.path.join(home.root, plan["path"]) for plan in project.get("plans", [])]
    if not plan_paths:
        raise SowError("this project has no imported plan", "import one: sow plan import PLAN")
    sources, findings = plan_files.load(plan_paths, context.cwd)
    errors = [finding for finding in findings if finding.error]
    if warns:
        print_warnings(reader.read(sources, agents=known_agents(context), findings=findings))
    for error in errors:
        print_finding(error)
    if errors:
        return 2
    tasks_by_plan: dict[str, dict[str, Task]] = {}
    for (path, number), task in _tasks_of(home, project).items():
        tasks_by_plan.setdefault(path, {})[number] = task
    of_source = {
        source: tasks_by_plan.get(plan_import.state_path(home, os.path.join(context.cwd, source.name)), {})
        for source in sources
    }
    without = [source.name for source, tasks in of_source.items() if not tasks]
    if without and len(without) == len(sources):
        hint = f"import it: sow plan import {without[0]}"
        raise SowError(f"no task of this project comes from {escape_line(without[0])}", hint)
    notes(f"{name}: no task of this project comes from this file (it is left out)" for name in without)
    rows: list[tuple[str, str, str, str]] = []
    new_texts: dict[str, str] = {}  # the next tag of a file starts from the text that the last one left
    for source, tasks in of_source.items():
        if tasks:
            file = os.path.realpath(os.path.join(context.cwd, file_and_tag(source.name)[0]))
            source.text = new_texts.get(file, source.text)
            rows += _update_one(context, home, source, tasks, dry_run=dry_run)
            new_texts[file] = source.text
    if quiet:
        return 0
    if json:
        keys = ("file", "id", "before", "after")
        return emit({"dry_run": dry_run, "changes": [dict(zip(keys, row, strict=True)) for row in rows]})
    if rows:
        out(table([("PLAN", "ID", "WAS", "IS"), *rows]))
    out(f"{len(rows)} changed{' (dry run: nothing was changed)' if dry_run else ''}" if rows else "nothing to change")
    return 0


def statuses_of(home: Home, project: ProjectState) -> dict[tuple[str, str], str]:
    """Returns the status of each imported task, by its plan and its id there."""
    return {key: task["status"] for key, task in _tasks_of(home, project).items()}


def _tasks_of(home: Home, project: ProjectState) -> dict[tuple[str, str], Task]:
    """Returns each imported task, by its plan and its id there."""
    readable, _ = task_folder.load_readable(home, project)
    return {(task["source"]["plan"], task["source"]["id"]): task for _, task in readable if "source" in task}


def _update_one(
    context: Context, home: Home, source: PlanSource, tasks: dict[str, Task], *, dry_run: bool
) -> list[tuple[str, str, str, str]]:
    path = os.path.join(context.cwd, source.name)
    if format_of(source.name, source.text):
        progress = {number: _progress(task) for number, task in tasks.items()}
        text, rows, unwritten = with_progress(source, progress, clock.now())
        notes(unwritten)
        if text != source.text and not dry_run:
            plan_files.replace(home, path, source.text, text)
        source.text = text
        return [(source.name, *row) for row in rows]
    new_statuses = {number: PLAN_STATUS[task["status"]] for number, task in tasks.items()}
    before = {task.number: task.status for task in reader.read([source]).tasks}
    changed = {
        number: status for number, status in new_statuses.items() if number in before and before[number] != status
    }
    if changed and not dry_run:
        plan_files.replace(home, path, source.text, with_statuses(source.text, source.name, changed))
    return [(source.name, number, before[number], status) for number, status in changed.items()]


def _progress(task: Task) -> TaskProgress:
    """Returns what another tool's task list can hold about a task."""
    current = [evidence for evidence in task.get("evidence", ()) if evidence["iteration"] == task["iteration"]]
    failed = {evidence["command"] for evidence in current if not evidence["passed"]}
    passed = {evidence["command"] for evidence in current if evidence["passed"]} - failed
    is_completed = task["status"] == "completed"
    return TaskProgress(
        task["status"],
        summary=_summary(task, sorted(passed)) if is_completed else "",
        passed=frozenset(passed if is_completed else ()),
    )


def _summary(task: Task, passed: list[str]) -> str:
    """Returns the result of a completed task in a few lines."""
    lines = [
        f"Completed by sow as task {task['id']}: {task.get('result') or 'accepted'}, iteration {task['iteration']}."
    ]
    reviews = [review for review in task.get("reviews", ()) if review["iteration"] == task["iteration"]]
    lines += [f"- Review by {review['by']}: {review['verdict']}" for review in reviews]
    lines += [f"- Passed: `{command}`" for command in passed]
    return escape_control("\n".join(lines))
