"""Removes a project from the branch: never during a run, and never without a copy."""

from __future__ import annotations

import os

from sow.domain.task import OPEN_STATUSES
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import claim_times, move, report_failure
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs.run_folder import refuse_undelivered
from sow.system import clock


def remove(home: Home, *, force: bool, any_branch: bool) -> str:
    """Moves .sow/project away and returns the path of the copy; raises if tasks are open, unless forced."""
    if not projects.has_files(home):
        raise SowError(f"{home.root} has no project", "there is nothing to remove")
    home.refuse_second_run()
    with home.claim("project", purpose="removing the project"), home.lock():
        if not any_branch:
            projects.load(home)
        if not force:
            _refuse_open(home)
        for task in sorted(claim_times(home.claims)):
            home.refuse_claimed(task)
        folder = home.folder("local", "removed")
        target = f"{folder}/{clock.stamp()}-{os.urandom(2).hex()}"
        with report_failure("move", home.project):
            move(home.disk, home.project, target)
    return home.relative(target)


def _refuse_open(home: Home) -> None:
    project = projects.load_anywhere(home)
    readable, broken = task_folder.load_readable(home, project)
    waiting = [task["id"] for _, task in readable if task["status"] in OPEN_STATUSES]
    if broken:
        raise SowError(f"task {min(broken)} cannot be read: {broken[min(broken)]}", "fix it, or remove it with --yes")
    if waiting:
        shown = ", ".join(waiting[:8]) + (", …" if len(waiting) > 8 else "")
        raise SowError(f"the project has open tasks: {shown}", "complete or abandon them, or remove it with --yes")
    refuse_undelivered(home, project["project_id"], [task for _, task in readable])
