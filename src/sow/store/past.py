"""Reads the time and cost of this checkout's finished tasks, from which forecasts are made."""

from __future__ import annotations

import os

from sow.domain.forecast import Past
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import SessionTurn
    from sow.store.desk import Desk
    from sow.store.home import Home


def finished(home: Home) -> list[Past]:
    """Returns an entry for each completed task whose sessions are on this machine; none if there is no project."""
    if not os.path.isdir(f"{home.sow}/local/sessions"):
        return []
    try:
        readable, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    entries = []
    for desk, task in readable:
        turns = _turns(desk) if task["status"] == "completed" else []
        minutes = sum(turn.get("seconds") or 0 for turn in turns) / 60
        if minutes:
            costs = [turn.get("cost_usd") for turn in turns]
            reported = [cost for cost in costs if cost is not None]
            cost = sum(reported) if len(reported) == len(costs) else None  # a partial sum would look like the whole
            entries.append(Past(task["assigned_agent"], minutes, task.get("estimated_minutes"), cost=cost))
    return entries


def _turns(desk: Desk) -> list[SessionTurn]:
    """Returns all turns on a task, including those of its reviewers."""
    try:
        return [turn for record in sessions.records(desk) for turn in record.session["turns"]]
    except SowError:
        return []
