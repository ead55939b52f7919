"""Notes of a run's tasks that touch the same file or topic, put together for whoever reviews one of them."""

from __future__ import annotations

from sow.domain import side_by_side
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import ProjectState, Task
    from sow.engine.ship import Ship


def notes_beside(ship: Ship, project: ProjectState, task: str) -> str:
    """What this task and others of the run assume about one thing; nothing where nobody else assumes anything."""
    wanted = set(ship.folder.run["tasks"])
    found: list[side_by_side.Desk] = []
    for desk, each in desks.load_all(ship.home, project)[0]:
        try:
            noted = notes.listed(desk) if each["id"] in wanted else []
        except SowError:  # a broken file is that task's own trouble
            noted = []
        if noted:
            found.append((each["id"], _files(ship, each), noted))
    if len(found) < 2:
        return ""
    return "\n\n".join(group.text() for group in side_by_side.groups(found, of=task))


def _files(ship: Ship, task: Task) -> list[str]:
    """What a task was to touch, and what its work touches."""
    planned = list(task.get("files", ()))
    if ship.isolation is None or "work" not in task:
        return planned
    work = task["work"]
    return [*planned, *ship.isolation.worktrees.changed_paths(work["base"], work["commit"])]
