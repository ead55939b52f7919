"""Writes the statuses of tasks back into the plans they came from (`sow plan update`)."""

from __future__ import annotations

import os

from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.plans.load import known_agents, print_finding, print_warnings
from sow.domain.documents.state import ProjectState
from sow.domain.plans.plan import PlanSource
from sow.errors import SowError
from sow.plans import reader
from sow.plans.write_back import with_statuses
from sow.store.files.checkout_home import Home
from sow.store.projects import plan_files, plan_import, task_folder
from sow.store.projects import project as projects
from sow.system.terminal import escape_line, out

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
    return write_statuses(context, plan, dry_run=dry_run, json=json)


def write_statuses(context: Context, paths: list[str], *, dry_run: bool, json: bool, quiet: bool = False) -> int:
    """Writes the statuses into the given plans, or into all imported ones."""
    home = context.project_home()
    project = projects.load(home)
    plan_paths = paths or [os.path.join(home.root, plan["path"]) for plan in project.get("plans", [])]
    if not plan_paths:
        raise SowError("no plan was imported into this project", "import one: sow plan import PLAN")
    sources, findings = plan_files.load(plan_paths, context.cwd)
    errors = [finding for finding in findings if finding.error]
    if not quiet:
        print_warnings(reader.read(sources, agents=known_agents(context), findings=findings))
    for error in errors:
        print_finding(error)
    if errors:
        return 2
    statuses = statuses_of(home, project)
    rows: list[tuple[str, str, str, str]] = []
    for source in sources:
        rows += _update_one(context, home, source, statuses, dry_run=dry_run)
    if quiet:
        return 0
    if json:
        keys = ("file", "id", "before", "after")
        return emit({"dry_run": dry_run, "changes": [dict(zip(keys, row, strict=True)) for row in rows]})
    if rows:
        out(table([("PLAN", "ID", "WAS", "IS"), *rows]))
    out(f"{len(rows)} changed{' (dry run: nothing was written)' if dry_run else ''}" if rows else "nothing to change")
    return 0


def statuses_of(home: Home, project: ProjectState) -> dict[tuple[str, str], str]:
    """Returns the status of each imported task, by its plan and its id there."""
    readable, _ = task_folder.load_readable(home, project)
    return {(task["source"]["plan"], task["source"]["id"]): task["status"] for _, task in readable if "source" in task}


def _update_one(
    context: Context, home: Home, source: PlanSource, statuses: dict[tuple[str, str], str], *, dry_run: bool
) -> list[tuple[str, str, str, str]]:
    path = os.path.join(context.cwd, source.name)
    plan_path = plan_import.state_path(home, path)
    new_statuses = {number: PLAN_STATUS[status] for (plan, number), status in statuses.items() if plan == plan_path}
    if not new_statuses:
        raise SowError(
            f"no task of this project comes from {escape_line(source.name)}",
            f"import it: sow plan import {source.name}",
        )
    before = {task.number: task.status for task in reader.read([source]).tasks}
    changed = {
        number: status for number, status in new_statuses.items() if number in before and before[number] != status
    }
    if changed and not dry_run:
        plan_files.replace(home, path, source.text, with_statuses(source.text, source.name, changed))
    return [(source.name, number, before[number], status) for number, status in changed.items()]
