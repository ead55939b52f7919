"""Tasks in progress that nobody works on, as after a crash, a limit or Ctrl-C; each with the door to go on by."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import Task
    from sow.store.desk import Desk


def doors(tasks: Iterable[tuple[Desk, Task]]) -> dict[str, str]:
    """The command for each such task; one without a session was started by hand, and is somebody's own work."""
    return {task["id"]: _door(desk, task) for desk, task in tasks if _is_idle(desk, task)}


def _is_idle(desk: Desk, task: Task) -> bool:
    return task["status"] == "in_progress" and "session_id" in task and not desk.home.holder(task["id"])


def _door(desk: Desk, task: Task) -> str:
    from sow.engine.work import door  # here, because it is seldom needed

    return door(desk, task)
