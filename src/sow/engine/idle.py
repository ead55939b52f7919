"""Tasks that nobody goes on with, as after a crash, a limit, Ctrl-C or an approval; each with the door to go on by."""

from __future__ import annotations

from sow.domain.task import is_approved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import Task
    from sow.engine.standpoint import Standpoint
    from sow.store.desk import Desk
    from sow.store.home import Home


def doors(tasks: Iterable[tuple[Desk, Task]], standpoint: Standpoint) -> dict[str, str]:
    """The command for each such task; one without a session was started by hand, and is somebody's own work."""
    idle = [(desk, task) for desk, task in tasks if _is_idle(desk, task)]
    if not idle:
        return {}
    home = idle[0][0].home
    again, own, live = _run(home, standpoint)
    if live:  # it is between two turns of these
        idle = [(desk, task) for desk, task in idle if task["id"] not in own]
    return {task["id"]: again if task["id"] in own else _door(desk, task, standpoint) for desk, task in idle}


def _run(home: Home, standpoint: Standpoint) -> tuple[str, list[str], bool]:
    """The command that goes on with the run that was not ended, its tasks, and whether it is live; or nothing."""
    from sow.engine import go_on  # here, because it is seldom needed
    from sow.store import project as projects
    from sow.store import runs

    run = runs.unfinished(home, projects.load(home)["project_id"])
    if run is None:
        return "", [], False
    return go_on.command(run, standpoint), run.run["tasks"], runs.is_live(run)


def _is_idle(desk: Desk, task: Task) -> bool:
    begun = task["status"] == "in_progress" or (task["status"] == "needs_review" and is_approved(task))
    return begun and "session_id" in task and not desk.home.holder(task["id"])


def _door(desk: Desk, task: Task, standpoint: Standpoint) -> str:
    if is_approved(task) and "source" in task:  # its run has ended: another one merges it
        import shlex

        root = desk.home.root
        return shlex.join([*standpoint.sow(root), "run", standpoint.path(root, task["source"]["plan"])])
    from sow.engine.work import door  # the same

    return door(desk, task)
