"""Reads the time and cost of this checkout's finished tasks, from which forecasts are made."""

from __future__ import annotations

import os
from collections.abc import Collection

from sow.domain.documents.state import SessionTurn
from sow.domain.plans.graph import FinishedTask
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions


def finished_tasks(home: Home, without: Collection[str] = ()) -> list[FinishedTask]:
    """Returns an entry for each completed task whose sessions are on this machine, except the tasks `without`.

    There is none if there is no project.
    """
    if not os.path.isdir(f"{home.sow}/local/sessions"):
        return []
    try:
        readable, _ = task_folders.load_readable(home, projects.load(home))
    except SowError:
        return []
    entries = []
    for folder, task in readable:
        turns = _turns(folder) if task["status"] == "completed" and folder.id not in without else []
        minutes = sum(turn.get("seconds") or 0 for turn in turns) / 60
        if minutes:
            costs = [turn.get("cost_usd") for turn in turns]
            reported = [cost for cost in costs if cost is not None]
            cost = sum(reported) if len(reported) == len(costs) else None  # a partial sum would look like the whole
            entries.append(FinishedTask(task["assigned_agent"], minutes, task.get("estimated_minutes"), cost=cost))
    return entries


def _turns(folder: TaskFolder) -> list[SessionTurn]:
    """Returns all turns on a task, including those of its reviewers."""
    try:
        return [turn for record in sessions.records(folder) for turn in record.session["turns"]]
    except SowError:
        return []
