"""What the finished tasks of this checkout took: the history that forecasts are made from."""

from __future__ import annotations

import os

from sow.domain.forecast import Past
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.desk import Desk
    from sow.store.home import Home


def finished(home: Home) -> list[Past]:
    """One entry for each completed task whose sessions are on this machine; none where there is no project."""
    if not os.path.isdir(f"{home.sow}/local/sessions"):
        return []
    try:
        readable, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    found = []
    for desk, task in readable:
        minutes = _minutes(desk) if task["status"] == "completed" else 0
        if minutes:
            found.append(Past(task["assigned_agent"], minutes, task.get("estimated_minutes")))
    return found


def _minutes(desk: Desk) -> float:
    """How long agents worked on a task, all its turns together."""
    try:
        turns = [turn for record in sessions.records(desk) for turn in record.session["turns"]]
    except SowError:
        return 0
    return sum(turn.get("seconds") or 0 for turn in turns) / 60
