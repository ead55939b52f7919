"""What the finished tasks of this checkout took and cost: the history that forecasts are made from."""

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
    """One entry for each completed task whose sessions are on this machine; none where there is no project."""
    if not os.path.isdir(f"{home.sow}/local/sessions"):
        return []
    try:
        readable, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    found = []
    for desk, task in readable:
        turns = _turns(desk) if task["status"] == "completed" else []
        minutes = sum(turn.get("seconds") or 0 for turn in turns) / 60
        if minutes:
            costs = [turn.get("cost_usd") for turn in turns]
            known = [cost for cost in costs if cost is not None]
            cost = sum(known) if len(known) == len(costs) else None  # a part of it would look like the whole
            found.append(Past(task["assigned_agent"], minutes, task.get("estimated_minutes"), cost=cost))
    return found


def _turns(desk: Desk) -> list[SessionTurn]:
    """All turns on a task, those of its reviewers too."""
    try:
        return [turn for record in sessions.records(desk) for turn in record.session["turns"]]
    except SowError:
        return []
