"""Collects notes of a run's tasks about the same file or topic, for the reviewer of one of them."""

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
    """Return what this task and others of the run assume about one thing; empty if no other task has notes."""
    run_ids = set(ship.folder.run["tasks"])
    entries: list[side_by_side.Desk] = []
    for desk, other_task in desks.load_all(ship.home, project)[0]:
        try:
            task_notes = notes.listed(desk) if other_task["id"] in run_ids else []
        except SowError:  # a broken file is reported by its own task
            task_notes = []
        if task_notes:
            entries.append((other_task["id"], _files(ship, other_task), task_notes))
    if len(entries) < 2:
        return ""
    return "\n\n".join(group.text() for group in side_by_side.groups(entries, of=task))


def _files(ship: Ship, task: Task) -> list[str]:
    """Return the files that a task was planned to touch and those that its work touches."""
    planned = list(task.get("files", ()))
    if ship.isolation is None or "work" not in task:
        return planned
    work = task["work"]
    return [*planned, *ship.isolation.worktrees.changed_paths(work["base"], work["commit"])]
