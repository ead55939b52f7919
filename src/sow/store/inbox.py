"""Lists what waits for a person in a checkout: in its project and in its workflow."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from sow.domain.documents.state import ProjectState, Task
from sow.domain.inbox import Item, item, items, ranked
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import holder_of
from sow.store.projects import project as projects
from sow.store.projects import task_folder


def waiting(home: Home) -> list[Item]:
    """Returns everything that waits for a person in this checkout's project and workflow."""
    if not projects.exists(home):
        items_outside = items_outside_project(home)
        if items_outside is not None:
            return ranked(items_outside)
    project = projects.load(home)
    readable, broken = task_folder.load_readable(home, project)
    return project_inbox_items(home, project, [task for _, task in readable], broken)


def project_inbox_items(
    home: Home,
    project: ProjectState,
    tasks: Sequence[Task],
    broken: Mapping[str, str],
    busy: Collection[str] | None = None,
) -> list[Item]:
    """Returns what waits in a project and its checkout's workflow, except work that a live run will review.

    `busy` are the tasks of that run, if the caller knows them.
    """
    project_items = items(tasks, project["phases"], broken)
    if busy is None and any(entry["kind"] == "review" for entry in project_items):
        busy = _in_live_run(home, project["project_id"])
    run_items, unreviewed = _run_items(home, project["project_id"], tasks, {entry["task"] for entry in project_items})
    hidden = {*(busy or ()), *unreviewed}
    shown = [entry for entry in project_items if entry["kind"] != "review" or entry["task"] not in hidden]
    return [*run_items, *ranked([*shown, *(items_outside_project(home) or ())])]


def _run_items(
    home: Home, project_id: str, tasks: Sequence[Task], asking: set[str | None]
) -> tuple[list[Item], Sequence[str]]:
    """Returns an item if the project's last run must be delivered or continued, and the tasks that it has to review.

    A run that waits for an answer has no item, because the question has one.
    """
    if not os.path.lexists(f"{home.sow}/local/runs"):
        return [], ()
    from sow.domain import inbox as inbox_rules
    from sow.store.runs import run_folder

    run = run_folder.interrupted_run(home, project_id)
    if run is None:
        return [], ()
    step, unreviewed = inbox_rules.delivery(run, is_open=(is_open := inbox_rules.has_open(run, tasks))), []
    if is_open and (run["status"] != "waiting" or asking.isdisjoint(run["tasks"])):
        step = {"text": f"unfinished run: {run['id']}", "command": inbox_rules.SHOW_RUN}
        unreviewed = run["tasks"]
    items = [item("delivery", text=step["text"], do=step["command"], since=run.get("ended_at", ""))] if step else []
    return items, unreviewed


def _in_live_run(home: Home, project_id: str) -> Sequence[str]:
    if not holder_of(home.claims, "run"):
        return ()
    from sow.store.runs import run_folder

    live_run = run_folder.live_run(home)
    return live_run.run["tasks"] if live_run is not None and live_run.run["project_id"] == project_id else ()


def items_outside_project(home: Home) -> list[Item] | None:
    """Returns what planners and a workflow ask, or None if no planner ever worked here and there is no workflow."""
    workflow_items = _workflow_items(home)
    if not os.path.lexists(f"{home.sow}/local/planning"):
        return workflow_items
    from sow.store import planning

    return [*planning.items(home), *(workflow_items or ())]


def _workflow_items(home: Home) -> list[Item] | None:
    if not os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        return None
    from sow.domain.workflows import inbox
    from sow.store.workflows.folder import WorkflowFolder

    try:
        return inbox.items(WorkflowFolder(home).workflow())
    except SowError as error:
        return [item("broken", text=error.message, do="sow doctor")]
